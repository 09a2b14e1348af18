// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/dispatch.hpp"

#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "shim/base/own_exception.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/errors.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

ErrorClass class_for(abi::HandleKind kind) {
  switch (kind) {
    case abi::HandleKind::comm:
      return ErrorClass::comm;
    case abi::HandleKind::group:
      return ErrorClass::group;
    case abi::HandleKind::request:
    case abi::HandleKind::message:
      return ErrorClass::request;
    case abi::HandleKind::session:
      return ErrorClass::session;
    case abi::HandleKind::info:
      return ErrorClass::info;
    case abi::HandleKind::errhandler:
      return ErrorClass::errhandler;
    case abi::HandleKind::datatype:
      return ErrorClass::type;
    case abi::HandleKind::op:
      return ErrorClass::op;
    case abi::HandleKind::win:
      return ErrorClass::win;
    case abi::HandleKind::file:
      return ErrorClass::file;
    default:
      return ErrorClass::arg;
  }
}

/// Return the error of a function that Intersession lacks while it serves the world model.
Error unsupported_in_served_world() {
  return Error(
      ErrorClass::unsupported_operation,
      "not available in this version of Intersession, which serves the world model because "
      "of INTERSESSION_WORLD=sessions");
}

/// Return the error of a call while the native library is not initialised and the program uses
/// sessions.
Error inactive_error(const Subject& subject) {
  const abi::PredefinedHandles& known = abi::predefined;
  const bool is_predefined = subject.kind == abi::HandleKind::comm &&
                             is_predefined_comm(abi::from_bits<MPI_Comm>(subject.handle));
  if (is_predefined && is_served_table_current())
    return Error(ErrorClass::other,
                 "called on objects of the world model after MPI_Finalize, or without a session "
                 "before MPI_Init");
  if (is_predefined)
    return Error(ErrorClass::other,
                 "called on objects of the world model before MPI_Init or after MPI_Finalize; call "
                 "MPI_Init, make a communicator of mpi://WORLD from a session, or set "
                 "INTERSESSION_WORLD=sessions");
  const bool is_null_file = subject.kind == abi::HandleKind::file &&
                            subject.handle == abi::bits(MPI_File(known.file_null));
  if (is_null_file && is_served_table_current()) return unsupported_in_served_world();
  if (subject.kind == abi::HandleKind::none)
    return is_served_table_current()
               ? unsupported_in_served_world()
               : Error(ErrorClass::unsupported_operation,
                       "not available without MPI_Init in this version of Intersession");
  const bool is_null = subject.handle == 0 ||
                       subject.handle == abi::bits(MPI_Comm(known.comm_null)) ||
                       subject.handle == abi::bits(MPI_Request(known.request_null));
  return Error(class_for(subject.kind),
               "the " + std::string(name_of(subject.kind)) +
                   (is_null ? " is a null handle" : " is not a valid handle"));
}

/// True for a call that would free MPI_COMM_WORLD or MPI_COMM_SELF of the served world model:
/// MPI_Comm_free or MPI_Comm_disconnect. Other calls on them do not come here until MPI_Finalize.
bool would_free_served_comm(const Subject& subject) {
  if (subject.kind != abi::HandleKind::comm || !is_served_table_current()) return false;
  const auto given = abi::from_bits<MPI_Comm>(subject.handle);
  if (served_comm_if_made(given) != given) return true;
  const bool may_be_made = world_comms.state.load(std::memory_order_acquire) !=
                               ServedWorldState::ended &&
                           any_open_session() != nullptr;
  return may_be_made && is_predefined_comm(given);
}

/// Return the current exception as an error; rethrow it if a callback of the program threw it. Only
/// inside a catch block.
Error own_error() {
  try {
    throw;
  } catch (const std::exception& thrown) {
    if (!base::is_own_exception(thrown)) throw;
    return base::error_of(thrown);
  }
}

/// Warn once that files are not supported: their errors return by default, and many programs do not
/// look at the codes.
void warn_about_unsupported_files(std::string_view function) {
  static std::atomic<bool> has_warned{false};  // once in a program; pairs with nothing
  if (!function.starts_with("MPI_File_") || has_warned.exchange(true, std::memory_order_relaxed))
    return;
  if (const auto process = living_process())
    process->log().write(base::LogLevel::warn,
                         std::string(function) +
                             " has failed: files are not supported with "
                             "INTERSESSION_WORLD=sessions, and no data is read or written");
}

int fail_unsupported(const Subject& subject, const char* function, const char* why) {
  if (is_native_only())
    why =
        "the native MPI library lacks this function, and INTERSESSION_NATIVE disables Intersession";
  const int code = fail(subject, function, Error(ErrorClass::unsupported_operation, why));
  if (is_native_only())
    // MPI_Error_string is forwarded, too, so the program could not get the text
    print_error(std::string(function) + ": " + why);
  return code;
}

}  // namespace

int unsupported(const Subject& subject, const char* function) {
  if (is_served_table_current()) {
    warn_about_unsupported_files(function);
    return fail(subject, function, unsupported_in_served_world());
  }
  if (!abi::is_ours_bits(subject.handle))
    return fail_unsupported(subject, function,
                            "neither the native MPI library nor Intersession has this function");
  return fail_unsupported(subject, function,
                          "not available on objects of a session in this version of Intersession; "
                          "call MPI_Init and use a communicator of the world model");
}

int unsupported_natively(const Subject& subject, const char* function) {
  return fail_unsupported(subject, function,
                          "the native MPI library lacks this function; Intersession has it only "
                          "for objects of sessions");
}

int fail_wrong_library(const Subject& subject, const char* function, abi::HandleKind kind) {
  return fail(
      subject, function,
      Error(class_for(kind),
            "a " + std::string(name_of(kind)) +
                " of a session cannot be combined with objects of the world model in this call" +
                (kind == abi::HandleKind::group
                     ? "; make the communicator by MPI_Comm_create_from_group"
                     : "")));
}

int fail_with_exception(const Subject& subject, const char* function) {
  return fail(subject, function, own_error());
}

std::optional<int> refuse_when_inactive(const Subject& subject, const char* function) {
  if (detect_activity() || !(any_object_made() || is_served_world_selected())) return std::nullopt;
  static_cast<void>(require_substrate());  // the call may be the program's first
  if (would_free_served_comm(subject)) {
    const MPI_Comm served = served_comm_if_made(abi::from_bits<MPI_Comm>(subject.handle));
    return fail(Subject::comm(served), function,
                Error(ErrorClass::comm, "a predefined communicator cannot be freed"));
  }
  return fail(Subject(), function, inactive_error(subject));
}

bool became_active() {
  if (detect_activity()) return true;
  // ignore an error: without substrate there are no predefined handles to pass
  static_cast<void>(require_substrate());
  return false;
}

}  // namespace shim::intercept
