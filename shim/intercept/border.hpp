// SPDX-License-Identifier: BSD-3-Clause
// What generated code asks of hand-written code: errors, twins, and what to do with calls outside MPI_Init … MPI_Finalize.
#pragma once

#include <mpi.h>

#include <exception>
#include <optional>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// The object whose error handler an error goes to. It may be anybody's, null or stale: whoever raises the error finds out.
struct Subject {
  abi::Kind kind = abi::Kind::none;  ///< none: the initial error handler (MPI-4.1 §9.3)
  abi::Bits handle = 0;

  static Subject comm(MPI_Comm handle) { return {abi::Kind::comm, abi::bits(handle)}; }
  static Subject win(MPI_Win handle) { return {abi::Kind::win, abi::bits(handle)}; }
  static Subject file(MPI_File handle) { return {abi::Kind::file, abi::bits(handle)}; }
  static Subject session(MPI_Session handle) { return {abi::Kind::session, abi::bits(handle)}; }
  static Subject errhandler(MPI_Errhandler given) { return {abi::Kind::errhandler, abi::bits(given)}; }
  static Subject request(MPI_Request handle) { return {abi::Kind::request, abi::bits(handle)}; }
  static Subject message(MPI_Message handle) { return {abi::Kind::message, abi::bits(handle)}; }
  static Subject group(MPI_Group handle) { return {abi::Kind::group, abi::bits(handle)}; }
  /// For handles given by address: a null pointer names no object.
  template <class Handle>
  static Subject at(abi::Kind kind, const Handle* handle) { return handle != nullptr ? Subject{kind, abi::bits(*handle)} : Subject(); }
};

// All of these call the error handler, and return the error code that the call is to return if the handler returns.

/// The function does not exist: neither here nor in the library below. Class MPI_ERR_UNSUPPORTED_OPERATION.
int unsupported(const Subject& subject, const char* function);
/// An object of ours of a kind without twins in a call on objects of the library below. Class: that of the kind.
int refused(const Subject& subject, const char* function, abi::Kind kind);
/// Only inside a catch block. An exception of this library becomes an error: std::bad_alloc
/// MPI_ERR_NO_MEM, any other one MPI_ERR_INTERN with its text. An exception of a callback of the
/// program is thrown on. (Exceptions that do not derive from std::exception, pthread_exit and
/// cancellation are never caught: they unwind through this library.)
int caught(const Subject& subject, const char* function);
/// A call that the library below must not see outside MPI_Init … MPI_Finalize. Nothing: go on, and let it say so itself
/// (no session was ever made, so the program gets what it would get without us). Else the code to return, error raised.
std::optional<int> idle_call(const Subject& subject, const char* function);

/// Before an idle body runs: has the library below been initialised without our seeing it (we were loaded later)? Then the
/// call goes to it. Else its predefined handles are known from here on.
bool is_active_after_all();

/// If the object is ours: puts its twin in the library below in its place, making it at the first need. MPI_SUCCESS or a code.
int twin_info(const Subject& subject, const char* function, MPI_Info& info);
int twin_errhandler(const Subject& subject, const char* function, MPI_Errhandler& handler);
int twin_datatype(const Subject& subject, const char* function, MPI_Datatype& datatype);
int twin_op(const Subject& subject, const char* function, MPI_Op& op);
/// The same for the number of a key of attributes.
int twin_keyval(const Subject& subject, const char* function, int& keyval);

/// Objects of a kind that has no twins.
template <class Handle>
int refuse(const Subject& subject, const char* function, abi::Kind kind, Handle handle) {
  return abi::is_ours(handle) ? refused(subject, function, kind) : MPI_SUCCESS;
}

// Must the way down be left for one of these handles?

template <class... Handles>
[[gnu::always_inline]] inline bool any_ours(Handles... handles) noexcept {
  return (static_cast<int>(abi::is_ours(handles)) | ... | 0) != 0;
}

/// Also for the predefined error handler that the library below may lack.
inline bool ours_or_abort(MPI_Errhandler handle) noexcept { return abi::is_ours(handle) || handle == MPI_ERRORS_ABORT; }

/// The numbers of our keys of attributes: no library below has any there (small ones, or with one of the two upper bits).
inline constexpr int kFirstKey = 0x24000001, kMostKeys = 0x00ffffff;
inline bool is_key_of_ours(int keyval) noexcept { return keyval >= kFirstKey && keyval - kFirstKey < kMostKeys; }

template <class Handle>
bool ours_at(const Handle* handle) noexcept { return handle != nullptr && abi::is_ours(*handle); }

/// For tools, which give the address of any kind of handle as void* (MPI-4.1 §15.3.2), or null where the variable has no object.
inline bool ours_behind(const void* handle) noexcept {
  return handle != nullptr && abi::any_handle_made() && abi::is_ours_bits(abi::bits_behind(handle));
}

/// Count is anything the user may give: zero and less mean none.
template <class Handle, class Count>
bool ours_in(const Handle* handles, Count count) noexcept {
  if (handles == nullptr) return false;
  for (Count i = 0; i < count; ++i) {
    if (abi::is_ours(handles[i])) return true;
  }
  return false;
}

}  // namespace shim::intercept
