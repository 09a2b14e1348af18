// SPDX-License-Identifier: BSD-3-Clause
// What hardware a process runs on, MPI-4.1 §9.1.2.
#include "shim/bootstrap/hardware.hpp"
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/infos.hpp"
#include "shim/intercept/lifetime.hpp"

namespace shim::intercept {
namespace {

/// While there is a Process it knows, or asks its node; else there is nobody to share with.
base::Result<std::vector<bootstrap::HardwareResource>> own_hardware() {
  if (const auto process = living_process()) return process->hardware();
  SHIM_TRY_ASSIGN(const bootstrap::HardwareMap map, bootstrap::discover_hardware());
  return map.resources_of(bootstrap::CoreSet::of_first_thread());
}

}  // namespace

namespace ours {

/// The keys are URIs of hwloc's, the values whether the process is restricted to one instance of that kind.
int Get_hw_resource_info(MPI_Info* hw_info) {
  return deliver(Subject(), "MPI_Get_hw_resource_info", [&]() -> base::Status {
    SHIM_TRY(check_output(hw_info, "hw_info"));
    SHIM_TRY_ASSIGN(const auto resources, own_hardware());
    auto info = std::make_shared<sessions::Info>();
    for (const auto& resource : resources)
      SHIM_TRY(info->set("hwloc://" + resource.type, resource.is_restricted ? "true" : "false"));
    SHIM_TRY_ASSIGN(*hw_info, hand_out_info(info));
    return {};
  });
}

}  // namespace ours
}  // namespace shim::intercept
