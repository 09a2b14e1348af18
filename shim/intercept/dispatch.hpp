// SPDX-License-Identifier: BSD-3-Clause
// Declares the hand-written functions that generated code calls: errors, native handles, and calls
// outside MPI_Init … MPI_Finalize.
#pragma once

#include <mpi.h>

#include <exception>
#include <optional>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// The object on which an error is raised. The handle may be of either library, null or stale;
/// fail() checks it.
struct Subject {
  abi::HandleKind kind = abi::HandleKind::none;  ///< none: the initial error handler (MPI-4.1 §9.3)
  abi::Bits handle = 0;

  static Subject comm(MPI_Comm handle) { return {abi::HandleKind::comm, abi::bits(handle)}; }
  static Subject win(MPI_Win handle) { return {abi::HandleKind::win, abi::bits(handle)}; }
  static Subject file(MPI_File handle) { return {abi::HandleKind::file, abi::bits(handle)}; }
  static Subject session(MPI_Session handle) {
    return {abi::HandleKind::session, abi::bits(handle)};
  }
  static Subject errhandler(MPI_Errhandler given) {
    return {abi::HandleKind::errhandler, abi::bits(given)};
  }
  static Subject request(MPI_Request handle) {
    return {abi::HandleKind::request, abi::bits(handle)};
  }
  static Subject message(MPI_Message handle) {
    return {abi::HandleKind::message, abi::bits(handle)};
  }
  static Subject group(MPI_Group handle) { return {abi::HandleKind::group, abi::bits(handle)}; }
  /// Subject of a handle that is passed by address; a null pointer names no object.
  template <class Handle>
  static Subject at(abi::HandleKind kind, const Handle* handle) {
    return handle != nullptr ? Subject{kind, abi::bits(*handle)} : Subject();
  }
};

// Functions that raise an error call the subject's error handler. If it returns, they return the
// code for MPI_X to return. `function` is "MPI_X".

/// Raise MPI_ERR_UNSUPPORTED_OPERATION: neither Intersession nor the native library has the
/// function.
int unsupported(const Subject& subject, const char* function);
/// Raise MPI_ERR_UNSUPPORTED_OPERATION: the function works on Intersession's objects only, and this
/// call has none.
int unsupported_natively(const Subject& subject, const char* function);
/// Raise an error of the kind's class: an object of Intersession without native handle in a call on
/// the native library's objects.
int fail_wrong_library(const Subject& subject, const char* function, abi::HandleKind kind);
/// Convert the current exception to an error; only inside a catch block. Exceptions of this library
/// become errors: std::bad_alloc MPI_ERR_NO_MEM, all others MPI_ERR_INTERN with their text.
/// Exceptions of the program's callbacks are rethrown. (Exceptions that do not derive from
/// std::exception, pthread_exit and cancellation are never caught: they unwind through this
/// library.)
int fail_with_exception(const Subject& subject, const char* function);
/// Refuse a call that the native library must not receive outside MPI_Init … MPI_Finalize: raise
/// the error and return its code. Return nothing if the caller must forward the call: the native
/// library is active, or the program has made no object of Intersession, so that the native library
/// reports the error as without Intersession.
std::optional<int> refuse_when_inactive(const Subject& subject, const char* function);

/// Check, before a function of the inactive table runs, if the native library is initialised after
/// all, because MPI_Init ran before this library was loaded. If so, return true: the caller
/// forwards the call. Otherwise resolve the predefined handles for the implementation and return
/// false.
bool became_active();

/// If the object is Intersession's, replace it with its native handle, made at the first need.
/// Return MPI_SUCCESS or a code.
int to_native_info(const Subject& subject, const char* function, MPI_Info& info);
int to_native_errhandler(const Subject& subject, const char* function, MPI_Errhandler& handler);
int to_native_datatype(const Subject& subject, const char* function, MPI_Datatype& datatype);
int to_native_group(const Subject& subject, const char* function, MPI_Group& group);
int to_native_op(const Subject& subject, const char* function, MPI_Op& op);
/// Replace the number of an attribute key with the native key's number.
int to_native_keyval(const Subject& subject, const char* function, int& keyval);

/// Refuse objects of a kind without native handles.
template <class Handle>
int refuse(const Subject& subject, const char* function, abi::HandleKind kind, Handle handle) {
  return abi::is_ours(handle) ? fail_wrong_library(subject, function, kind) : MPI_SUCCESS;
}

}  // namespace shim::intercept
