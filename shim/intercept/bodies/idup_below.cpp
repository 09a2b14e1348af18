// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_idup_with_info (MPI-4.1 §7.4.2) over a library that has MPI_Comm_idup and MPI_Comm_set_info.
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/bodies/below_request.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"

namespace shim::intercept::below {

/// The user may free the info at once, and may use the communicator when the request is over: that is when it gets its hints.
int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  MPI_Info hints = abi::predefined.info_null;
  if (info != abi::predefined.info_null)
    if (int code = active_table.Info_dup(info, &hints)) return code;
  MPI_Request started = abi::predefined.request_null;
  if (int code = active_table.Comm_idup(comm, newcomm, &started)) {
    if (hints != abi::predefined.info_null) active_table.Info_free(&hints);
    return code;
  }
  auto* made = new BelowRequest;
  made->add(started);
  if (hints != abi::predefined.info_null)
    made->then([hints, newcomm]() mutable {
      int code = active_table.Comm_set_info(*newcomm, hints);
      active_table.Info_free(&hints);
      return code;
    });
  return deliver(Subject::comm(comm), "MPI_Comm_idup_with_info", [&] { return hand_out(made, {}, request); });
}

}  // namespace shim::intercept::below
