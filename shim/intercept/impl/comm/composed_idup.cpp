// SPDX-License-Identifier: BSD-3-Clause
// Composes MPI_Comm_idup_with_info (MPI-4.1 §7.4.2) of MPI_Comm_idup and MPI_Comm_set_info.
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/request/native_request.hpp"

namespace shim::intercept::composed {

/// Set the hints when the request completes. Copy the info, because the user may free it at once.
int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  MPI_Info hints = abi::predefined.info_null;
  if (info != abi::predefined.info_null)
    if (int code = active_table.Info_dup(info, &hints)) return code;
  MPI_Request started = abi::predefined.request_null;
  if (int code = active_table.Comm_idup(comm, newcomm, &started)) {
    if (hints != abi::predefined.info_null) active_table.Info_free(&hints);
    return code;
  }
  auto* made = new NativeRequest;
  made->add(started);
  if (hints != abi::predefined.info_null)
    made->then([hints, newcomm]() mutable {
      int code = active_table.Comm_set_info(*newcomm, hints);
      active_table.Info_free(&hints);
      return code;
    });
  return run_with_handler(Subject::comm(comm), "MPI_Comm_idup_with_info",
                          [&] { return make_request_handle(made, {}, request); });
}

}  // namespace shim::intercept::composed
