// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, MPI-4.1 §9.3 and §9.5.
#include <optional>

#include "shim/intercept/bodies/communicators.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handlers.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::ErrorHandler;
using sessions::ErrorHandlerPtr;
using sessions::HandlerFor;
using sessions::HandlerKind;

template <typename Function>
ErrorHandler user_handler(HandlerFor object, Function* function) {
  return {HandlerKind::user, object, reinterpret_cast<void (*)()>(function)};
}

template <typename Function>
base::Status make(HandlerFor object, Function* function, MPI_Errhandler* errhandler) {
  if (function == nullptr) return Error(ErrorClass::arg, "the error handler function is a null pointer");
  SHIM_TRY(check_output(errhandler, "error handler"));
  SHIM_TRY_ASSIGN(*errhandler, handle_of(std::make_shared<ErrorHandler>(user_handler(object, function))));
  return {};
}

/// One that is made while the substrate is active is the substrate's; we remember its function, for communicators of ours.
int create_for_communicators(const char* function_name, MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  if (!is_active()) return deliver(Subject(), function_name, [&] { return make(HandlerFor::communicator, function, errhandler); });
  int code = active_table.Comm_create_errhandler(function, errhandler);
  if (code == MPI_SUCCESS && function != nullptr)
    remember_native_handler(*errhandler, user_handler(HandlerFor::communicator, function));
  return code;
}

int set(const char* function, MPI_Comm comm, MPI_Errhandler errhandler) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, take_comm(comm));
    SHIM_TRY_ASSIGN(ErrorHandlerPtr handler, comm_handler(errhandler));
    found->set_error_handler(std::move(handler));
    return {};
  });
}

int get(const char* function, MPI_Comm comm, MPI_Errhandler* errhandler) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, take_comm(comm));
    SHIM_TRY(check_output(errhandler, "error handler"));
    ErrorHandlerPtr handler = found->error_handler();
    SHIM_TRY_ASSIGN(*errhandler, handle_of(handler ? handler : predefined_handler(HandlerKind::fatal)));
    return {};
  });
}

}  // namespace

namespace ours {

int Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_for_communicators("MPI_Comm_create_errhandler", function, errhandler);
}
int Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) { return set("MPI_Comm_set_errhandler", comm, errhandler); }
int Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) { return get("MPI_Comm_get_errhandler", comm, errhandler); }

int Comm_call_errhandler(MPI_Comm comm, int errorcode) {
  if (find_comm(comm) == nullptr) return fail(Subject::comm(comm), "MPI_Comm_call_errhandler", slow::no_comm(comm));
  return call_handler(Subject::comm(comm), errorcode);
}

int Session_create_errhandler(MPI_Session_errhandler_function* function, MPI_Errhandler* errhandler) {
  return deliver(Subject(), "MPI_Session_create_errhandler", [&] { return make(HandlerFor::session, function, errhandler); });
}

/// Objects that have the handler keep it (MPI-4.1 §9.3.5). Handles of predefined handlers come from our inquiries too, where
/// the substrate has not counted them: nothing is freed for them on either side.
int Errhandler_free(MPI_Errhandler* errhandler) {
  if (errhandler == nullptr) return fail(Subject(), "MPI_Errhandler_free", slow::no_output("error handler"));
  ErrorHandlerPtr known = find_handler(*errhandler);
  bool is_predefined = known && known->kind != HandlerKind::user;
  LastReference last = is_predefined ? LastReference::no : free_reference(*errhandler);
  if (is_active() && last == LastReference::of_the_substrate) return active_table.Errhandler_free(errhandler);
  return deliver(Subject(), "MPI_Errhandler_free", [&]() -> base::Status {
    if (!known) return std::move(errhandler_of(*errhandler)).error();
    std::optional<ErrhandlerObject> taken;
    if (last == LastReference::of_ours) taken = objects.errhandlers.take(*errhandler);
    MPI_Errhandler twin = taken ? taken->twin.get() : MPI_Errhandler{};
    if (!abi::is_unset(twin) && is_active()) active_table.Errhandler_free(&twin);
    *errhandler = abi::predefined.errhandler_null;
    return {};
  });
}

// MPI-1's names of the same.
int Errhandler_create(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_for_communicators("MPI_Errhandler_create", function, errhandler);
}
int Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) { return set("MPI_Errhandler_set", comm, errhandler); }
int Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler) { return get("MPI_Errhandler_get", comm, errhandler); }

}  // namespace ours

// Made before MPI_Init, and given twins when they are set on the substrate's objects.
namespace idle {

int Win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* errhandler) {
  return deliver(Subject(), "MPI_Win_create_errhandler", [&] { return make(HandlerFor::window, function, errhandler); });
}
int File_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* errhandler) {
  return deliver(Subject(), "MPI_File_create_errhandler", [&] { return make(HandlerFor::file, function, errhandler); });
}

}  // namespace idle
}  // namespace shim::intercept
