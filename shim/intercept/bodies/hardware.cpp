// SPDX-License-Identifier: BSD-3-Clause
// What hardware a process runs on, MPI-4.1 §9.1.2.
#include "shim/bootstrap/hardware.hpp"
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/infos.hpp"

namespace shim::intercept::ours {

/// The keys are URIs of hwloc's, the values whether the process is restricted to one instance of that kind.
int Get_hw_resource_info(MPI_Info* hw_info) {
  return deliver(Subject(), "MPI_Get_hw_resource_info", [&]() -> base::Status {
    SHIM_TRY(check_output(hw_info, "hw_info"));
    SHIM_TRY_ASSIGN(const auto resources, bootstrap::hardware_resources());
    auto info = std::make_shared<sessions::Info>();
    for (const auto& resource : resources)
      SHIM_TRY(info->set("hwloc://" + resource.type, resource.is_restricted ? "true" : "false"));
    SHIM_TRY_ASSIGN(*hw_info, hand_out_info(info));
    return {};
  });
}

}  // namespace shim::intercept::ours
