// SPDX-License-Identifier: BSD-3-Clause
// Tests the arguments of a call for handles of Intersession's objects, which prevent forwarding the
// call unchanged.
#pragma once

#include <mpi.h>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept::abi {

/// True if one of these handles is ours.
template <class... Handles>
[[gnu::always_inline]] inline bool any_ours(Handles... handles) noexcept {
  return (static_cast<int>(is_ours(handles)) | ... | 0) != 0;
}

/// True also for MPI_ERRORS_ABORT, which the native library may lack.
inline bool ours_or_abort(MPI_Errhandler handle) noexcept {
  return is_ours(handle) || handle == MPI_ERRORS_ABORT;
}

/// Range of Intersession's attribute keys. No native library uses it: native keys are small or have
/// one of the two highest bits set.
inline constexpr int kFirstKey = 0x24000001, kMaxKeys = 0x00ffffff;
inline bool is_key_of_ours(int keyval) noexcept {
  return keyval >= kFirstKey && keyval - kFirstKey < kMaxKeys;
}

template <class Handle>
bool ours_at(const Handle* handle) noexcept {
  return handle != nullptr && is_ours(*handle);
}

/// True if the object of an MPI_T call is ours. MPI_T functions get the address of a handle of any
/// kind as void* (MPI-4.1 §15.3.2), or null for a variable without object.
inline bool ours_behind(const void* handle) noexcept {
  return handle != nullptr && any_handle_made() && is_ours_bits(bits_behind(handle));
}

/// True if the array holds a handle of ours. Count is the user's and may be negative.
template <class Handle, class Count>
bool ours_in(const Handle* handles, Count count) noexcept {
  if (handles == nullptr) return false;
  for (Count i = 0; i < count; ++i) {
    if (is_ours(handles[i])) return true;
  }
  return false;
}

}  // namespace shim::intercept::abi
