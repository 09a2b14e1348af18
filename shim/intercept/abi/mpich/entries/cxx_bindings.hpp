// SPDX-License-Identifier: BSD-3-Clause
// Recognises attribute keys of MPICH's C++ bindings.
#pragma once

namespace shim::intercept {

/// True if a function that calls the copy function of keys belongs to the C++ bindings.
bool is_of_cxx_bindings(void (*function)());
/// Raise MPI_ERR_UNSUPPORTED_OPERATION for a key that the C++ bindings have made in this library.
void refuse_key_of_cxx_bindings();

}  // namespace shim::intercept
