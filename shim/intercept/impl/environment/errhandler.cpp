// SPDX-License-Identifier: BSD-3-Clause
// Implements functions on error handlers (MPI-4.1 §9.3, §9.5).
#include <optional>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/error_handlers.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/native/activity.hpp"

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
  if (function == nullptr)
    return Error(ErrorClass::arg, "the error handler function is a null pointer");
  SHIM_TRY(check_output(errhandler, "error handler"));
  SHIM_TRY_ASSIGN(*errhandler,
                  handle_of(std::make_shared<ErrorHandler>(user_handler(object, function))));
  return {};
}

/// Create an error handler. While the substrate is active it is the substrate's, and Intersession
/// remembers its function for its own communicators.
int create_for_communicators(const char* function_name, MPI_Comm_errhandler_function* function,
                             MPI_Errhandler* errhandler) {
  if (!is_active())
    return run_with_handler(Subject(), function_name,
                            [&] { return make(HandlerFor::communicator, function, errhandler); });
  int code = active_table.Comm_create_errhandler(function, errhandler);
  if (code == MPI_SUCCESS && function != nullptr)
    remember_native_handler(*errhandler, user_handler(HandlerFor::communicator, function));
  return code;
}

int set(const char* function, MPI_Comm comm, MPI_Errhandler errhandler) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    SHIM_TRY_ASSIGN(ErrorHandlerPtr handler, comm_handler(errhandler));
    found->set_error_handler(std::move(handler));
    return {};
  });
}

int get(const char* function, MPI_Comm comm, MPI_Errhandler* errhandler) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    SHIM_TRY(check_output(errhandler, "error handler"));
    ErrorHandlerPtr handler = found->error_handler();
    SHIM_TRY_ASSIGN(*errhandler, handle_of(handler ? handler : initial_handler()));
    return {};
  });
}

}  // namespace

namespace impl {

int Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_for_communicators("MPI_Comm_create_errhandler", function, errhandler);
}
int Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  return set("MPI_Comm_set_errhandler", comm, errhandler);
}
int Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return get("MPI_Comm_get_errhandler", comm, errhandler);
}

int Comm_call_errhandler(MPI_Comm comm, int errorcode) {
  if (find_comm(comm) == nullptr)
    return fail(Subject::comm(comm), "MPI_Comm_call_errhandler", slow::no_comm(comm));
  return call_handler(Subject::comm(comm), errorcode);
}

int Session_create_errhandler(MPI_Session_errhandler_function* function,
                              MPI_Errhandler* errhandler) {
  return run_with_handler(Subject(), "MPI_Session_create_errhandler",
                          [&] { return make(HandlerFor::session, function, errhandler); });
}

/// Free a handle; objects that have the handler keep it (MPI-4.1 §9.3.5). Neither library frees
/// predefined handlers, whose handles Intersession's inquiries return, too, without the substrate
/// counting them.
int Errhandler_free(MPI_Errhandler* errhandler) {
  if (errhandler == nullptr)
    return fail(Subject(), "MPI_Errhandler_free", slow::no_output("error handler"));
  ErrorHandlerPtr known = find_handler(*errhandler);
  bool is_predefined = known && known->kind != HandlerKind::user;
  LastReference last = is_predefined ? LastReference::no : free_reference(*errhandler);
  if (is_active() && last == LastReference::of_the_substrate)
    return active_table.Errhandler_free(errhandler);
  return run_with_handler(Subject(), "MPI_Errhandler_free", [&]() -> base::Status {
    if (!known) return std::move(errhandler_of(*errhandler)).error();
    std::optional<ErrhandlerObject> taken;
    if (last == LastReference::of_ours) taken = objects.errhandlers.take(*errhandler);
    MPI_Errhandler native_handle = taken ? taken->native_handle.get() : MPI_Errhandler{};
    if (!abi::is_unset(native_handle) && is_active()) active_table.Errhandler_free(&native_handle);
    *errhandler = abi::predefined.errhandler_null;
    return {};
  });
}

// MPI-1 names of these functions.
int Errhandler_create(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_for_communicators("MPI_Errhandler_create", function, errhandler);
}
int Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
  return set("MPI_Errhandler_set", comm, errhandler);
}
int Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return get("MPI_Errhandler_get", comm, errhandler);
}

}  // namespace impl

// Made before MPI_Init; get native handles when they are set on the substrate's objects.
namespace impl_when_inactive {

int Win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* errhandler) {
  return run_with_handler(Subject(), "MPI_Win_create_errhandler",
                          [&] { return make(HandlerFor::window, function, errhandler); });
}
int File_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* errhandler) {
  return run_with_handler(Subject(), "MPI_File_create_errhandler",
                          [&] { return make(HandlerFor::file, function, errhandler); });
}

}  // namespace impl_when_inactive
}  // namespace shim::intercept
