// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/comm_arguments.hpp"

#include <cstring>

#include "shim/intercept/handles/error_handlers.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

base::Result<sessions::CommunicatorPtr> get_comm(MPI_Comm handle) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& found, borrow_comm(handle));
  return found;
}

base::Error slow::is_inter(const sessions::Communicator& comm) {
  return Error(ErrorClass::comm, "the " + comm.description() +
                                     " is not allowed in this call; pass an intracommunicator");
}

base::Result<sessions::CommunicatorPtr> get_intracomm(MPI_Comm handle) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(handle));
  SHIM_TRY(check_intra(*found));
  return found;
}

base::Status clear_output(MPI_Comm* newcomm) {
  SHIM_TRY(check_output(newcomm, "communicator"));
  *newcomm = abi::predefined.comm_null;
  return {};
}

base::Result<MPI_Comm> make_comm_handle(sessions::CommunicatorPtr comm) {
  if (!comm) return MPI_Comm(abi::predefined.comm_null);
  return objects.comms.insert(std::move(comm));
}

base::Status store_name(const std::string& known, char* name, int* length) {
  SHIM_TRY(check_output(name, "name"));
  SHIM_TRY(check_output(length, "length of the name"));
  std::memcpy(name, known.c_str(), known.size() + 1);
  *length = static_cast<int>(known.size());
  return {};
}

base::Result<sessions::ErrorHandlerPtr> comm_handler(MPI_Errhandler handle) {
  SHIM_TRY(require_substrate());  // the call may be the program's first into Intersession
  sessions::ErrorHandlerPtr handler = find_handler(handle);
  if (!handler)
    return bad_handle(ErrorClass::errhandler, abi::HandleKind::errhandler, handle,
                      static_cast<MPI_Errhandler>(abi::predefined.errhandler_null));
  if (handler->kind == sessions::HandlerKind::user &&
      handler->object != sessions::HandlerFor::communicator)
    return Error(
        ErrorClass::errhandler,
        "the error handler was not created for communicators (MPI_Comm_create_errhandler)");
  return handler;
}

}  // namespace shim::intercept
