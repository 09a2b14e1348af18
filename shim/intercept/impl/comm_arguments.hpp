// SPDX-License-Identifier: BSD-3-Clause
// Converts communicator arguments and results of calls off the message path.
#pragma once

#include <functional>
#include <string>

#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {

/// Return a communicator, kept alive by the returned pointer. Errors: comm.
base::Result<sessions::CommunicatorPtr> get_comm(MPI_Comm handle);
/// Return a reference to a communicator for a call during which the program does not free the
/// handle. Errors: comm.
inline base::Result<std::reference_wrapper<const sessions::CommunicatorPtr>> borrow_comm(
    MPI_Comm handle) {
  if (const sessions::CommunicatorPtr* found = find_comm(handle)) [[likely]]
    return std::cref(*found);
  return slow::no_comm(handle);
}

namespace slow {
base::Error is_inter(const sessions::Communicator& comm);
}  // namespace slow

/// Refuse an intercommunicator. Errors: comm.
inline base::Status check_intra(const sessions::Communicator& comm) {
  if (!comm.is_inter()) [[likely]]
    return {};
  return slow::is_inter(comm);
}
base::Result<sessions::CommunicatorPtr> get_intracomm(MPI_Comm handle);

/// Set a new communicator's output to MPI_COMM_NULL, its value if the call fails. Errors: arg.
base::Status clear_output(MPI_Comm* newcomm);
/// Make a handle; MPI_COMM_NULL for a null communicator.
base::Result<MPI_Comm> make_comm_handle(sessions::CommunicatorPtr comm);

/// Store a communicator's name and its length. Errors: arg.
base::Status store_name(const std::string& known, char* name, int* length);

/// Return a communicator's error handler: predefined, or made by MPI_Comm_create_errhandler.
/// Errors: errhandler.
base::Result<sessions::ErrorHandlerPtr> comm_handler(MPI_Errhandler handle);

/// Implement calls that make a communicator from a communicator: check, make, return the handle.
template <typename Make>
int derive(const char* function, MPI_Comm comm, MPI_Comm* newcomm, Make make) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr parent, get_comm(comm));
    SHIM_TRY(clear_output(newcomm));
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr made, make(parent));
    SHIM_TRY_ASSIGN(*newcomm, make_comm_handle(std::move(made)));
    return {};
  });
}

}  // namespace shim::intercept
