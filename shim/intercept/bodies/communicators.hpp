// SPDX-License-Identifier: BSD-3-Clause
// Communicators as arguments and results of calls that are not on the path of messages.
#pragma once

#include <functional>

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

/// The communicator, kept alive by the copy. Errors: comm.
base::Result<sessions::CommunicatorPtr> take_comm(MPI_Comm handle);
/// The same for as long as the handle is not freed: for a call that the program does not free it under.
inline base::Result<std::reference_wrapper<const sessions::CommunicatorPtr>> borrow_comm(MPI_Comm handle) {
  if (const sessions::CommunicatorPtr* found = find_comm(handle)) [[likely]] return std::cref(*found);
  return slow::no_comm(handle);
}

namespace slow {
base::Error is_inter(const sessions::Communicator& comm);
}  // namespace slow

/// For what is not defined on intercommunicators. Errors: comm.
inline base::Status check_intra(const sessions::Communicator& comm) {
  if (!comm.is_inter()) [[likely]] return {};
  return slow::is_inter(comm);
}
base::Result<sessions::CommunicatorPtr> take_intra(MPI_Comm handle);

/// Where the handle of a new communicator is to go: MPI_COMM_NULL until there is one, so also where the call fails. Errors: arg.
base::Status clear_output(MPI_Comm* newcomm);
/// A new handle; MPI_COMM_NULL for none.
base::Result<MPI_Comm> hand_out_comm(sessions::CommunicatorPtr comm);

/// For communicators an error handler has to be predefined or made by MPI_Comm_create_errhandler. Errors: errhandler.
base::Result<sessions::ErrorHandlerPtr> comm_handler(MPI_Errhandler handle);

/// Calls that make a communicator from one: checks, makes it, hands it out.
template <typename Make>
int derive(const char* function, MPI_Comm comm, MPI_Comm* newcomm, Make make) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr parent, take_comm(comm));
    SHIM_TRY(clear_output(newcomm));
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr made, make(parent));
    SHIM_TRY_ASSIGN(*newcomm, hand_out_comm(std::move(made)));
    return {};
  });
}

}  // namespace shim::intercept
