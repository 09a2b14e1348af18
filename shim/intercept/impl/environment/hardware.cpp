// SPDX-License-Identifier: BSD-3-Clause
// Queries the hardware that a process runs on, MPI-4.1 §9.1.2.
#include "shim/node/hardware.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/lifetime.hpp"

namespace shim::intercept {
namespace {

/// Return this process's hardware: from the Process, which shares it within the node, else
/// discovered here.
base::Result<std::vector<node::HardwareResource>> own_hardware() {
  if (const auto process = living_process()) return process->node().own_hardware();
  SHIM_TRY_ASSIGN(const node::HardwareMap map, node::discover_hardware());
  return map.resources_of(node::CoreSet::of_first_thread());
}

}  // namespace

namespace impl {

/// Return hwloc URIs as keys. A value is true if the process is restricted to one instance of that
/// kind.
int Get_hw_resource_info(MPI_Info* hw_info) {
  return run_with_handler(Subject(), "MPI_Get_hw_resource_info", [&]() -> base::Status {
    SHIM_TRY(check_output(hw_info, "hw_info"));
    SHIM_TRY_ASSIGN(const auto resources, own_hardware());
    auto info = std::make_shared<sessions::Info>();
    for (const auto& resource : resources)
      SHIM_TRY(info->set("hwloc://" + resource.type, resource.is_restricted ? "true" : "false"));
    SHIM_TRY_ASSIGN(*hw_info, make_info_handle(info));
    return {};
  });
}

}  // namespace impl
}  // namespace shim::intercept
