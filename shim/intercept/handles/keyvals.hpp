// SPDX-License-Identifier: BSD-3-Clause
// Maps attribute key numbers to the keys of either library (MPI-4.1 §7.7).
#pragma once

#include "shim/base/result.hpp"
#include "shim/sessions/attributes.hpp"

namespace shim::intercept {

/// Make a key with a number that is never reused; abi::is_key_of_ours recognises it. Errors: no_mem
/// (16 million were made).
base::Result<int> make_key(sessions::Key key);

/// Remember a key of the substrate when its creation is intercepted, because the substrate does not
/// return a key's functions.
void remember_native_key(sessions::Key key);

/// Mark the functions of a key that was just made as Fortran procedures, and its extra state as the
/// address of a number.
void change_key_to_fortran(int number);

/// Return the key; null if it was never made, was freed, or is the substrate's and its creation was
/// not intercepted.
sessions::KeyPtr find_key(int number);

/// Free a key for the user: its number becomes invalid, attributes cached under it stay, and its
/// native handle is freed. False if there was none.
bool forget_key(int number);

/// Return the native key of one of our keys, made at the first need; the native library is active.
/// Errors: keyval (freed), other (the native library cannot create a key).
base::Result<int> native_key_of(int number);

}  // namespace shim::intercept
