// SPDX-License-Identifier: BSD-3-Clause
// What generated code asks of hand-written code: errors, twins, and what to do with calls outside MPI_Init … MPI_Finalize.
#pragma once

#include <mpi.h>

#include <optional>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// The object whose error handler an error goes to. It may be anybody's, null or stale: whoever raises the error finds out.
struct Subject {
  abi::Kind kind = abi::Kind::none;  ///< none: the initial error handler (MPI-4.1 §9.3)
  void* handle = nullptr;

  constexpr Subject() = default;
  constexpr explicit Subject(MPI_Comm comm) : kind(abi::Kind::comm), handle(comm) {}
  constexpr explicit Subject(MPI_Win win) : kind(abi::Kind::win), handle(win) {}
  constexpr explicit Subject(MPI_File file) : kind(abi::Kind::file), handle(file) {}
  constexpr explicit Subject(MPI_Session session) : kind(abi::Kind::session), handle(session) {}
  constexpr explicit Subject(MPI_Errhandler given) : kind(abi::Kind::errhandler), handle(given) {}
  constexpr explicit Subject(MPI_Request request) : kind(abi::Kind::request), handle(request) {}
  constexpr explicit Subject(MPI_Message message) : kind(abi::Kind::message), handle(message) {}
  constexpr explicit Subject(MPI_Group group) : kind(abi::Kind::group), handle(group) {}
  /// For handles given by address: a null pointer names no object.
  template <class Handle>
  static Subject at(const Handle* handle) { return handle != nullptr ? Subject(*handle) : Subject(); }
};

// All of these call the error handler, and return the error code that the call is to return if the handler returns.

/// The function does not exist: neither here nor in the library below. Class MPI_ERR_UNSUPPORTED_OPERATION.
int unsupported(const Subject& subject, const char* function);
/// An object of ours of a kind without twins in a call on objects of the library below. Class: that of the kind.
int refused(const Subject& subject, const char* function, abi::Kind kind);
/// Only inside a catch block: std::bad_alloc gives MPI_ERR_NO_MEM, anything else MPI_ERR_INTERN with its text.
int caught(const Subject& subject, const char* function);
/// A call that the library below must not see outside MPI_Init … MPI_Finalize. Nothing: go on, and let it say so itself
/// (no session was ever made, so the program gets what it would get without us). Else the code to return, error raised.
std::optional<int> idle_call(const Subject& subject, const char* function);

/// Before an idle body runs: has the library below been initialised without our seeing it (we were loaded later)? Then the
/// call goes to it. Else its predefined handles are known from here on.
bool is_active_after_all();

/// If the object is ours: puts its twin in the library below in its place, making it at the first need. MPI_SUCCESS or a code.
int twin(const Subject& subject, const char* function, MPI_Info& info);
int twin(const Subject& subject, const char* function, MPI_Errhandler& handler);
int twin(const Subject& subject, const char* function, MPI_Datatype& datatype);
int twin(const Subject& subject, const char* function, MPI_Op& op);

/// Objects of a kind that has no twins.
template <class Handle>
int refuse(const Subject& subject, const char* function, Handle handle) {
  return abi::is_ours(handle) ? refused(subject, function, Subject(handle).kind) : MPI_SUCCESS;
}

/// Must the way down be left for this handle? For those of ours, and for a predefined one that the library below lacks.
template <class Handle>
bool is_ours(Handle handle) noexcept { return abi::is_ours(handle); }
inline bool is_ours(MPI_Errhandler handle) noexcept { return abi::is_ours(handle) || handle == MPI_ERRORS_ABORT; }

template <class... Handles>
bool any_ours(Handles... handles) noexcept { return (static_cast<int>(is_ours(handles)) | ... | 0) != 0; }

/// Open MPI counts its Fortran handles from 0 and has -1 for nothing; all below are ours.
constexpr bool ours_as_fint(MPI_Fint handle) noexcept { return handle < -1; }

template <class Handle>
bool ours_at(const Handle* handle) noexcept { return handle != nullptr && is_ours(*handle); }

/// For tools, which give the address of any kind of handle as void* (MPI-4.1 §15.3.2), or null where the variable has no object.
inline bool ours_behind(const void* handle) noexcept {
  return handle != nullptr && abi::slot_limit() != 0 && abi::is_ours(*static_cast<void* const*>(handle));
}

/// Count is anything the user may give: zero and less mean none.
template <class Handle, class Count>
bool ours_in(const Handle* handles, Count count) noexcept {
  if (handles == nullptr) return false;
  for (Count i = 0; i < count; ++i) {
    if (is_ours(handles[i])) return true;
  }
  return false;
}

}  // namespace shim::intercept
