// SPDX-License-Identifier: BSD-3-Clause
// Makes native objects whose callbacks are Fortran procedures (MPI-4.1 §19.3.6, §19.3.7). Each
// substrate's Fortran interface has its own functions for it: abi/<substrate>/native/fortran.cpp.
#pragma once

#include <mpi.h>

#include "shim/intercept/native/substrate.hpp"
#include "shim/sessions/attributes.hpp"
#include "shim/sessions/error_handler.hpp"

namespace shim::intercept::fortran {

/// Return the native library's function of this name.
template <typename Function>
Function* find_native(const char* symbol) {
  return reinterpret_cast<Function*>(substrate_symbol(symbol));
}

// Only while the native library is active. Each function returns MPI_SUCCESS, or the code of an
// error that the native library has raised.

/// Make a native key; its callbacks receive the number of the new key. `key` must outlive the new
/// key.
int make_native_key(const sessions::Key& key, int* made);
int make_native_operation(MPI_User_function* function, bool commutes, MPI_Op* made);
int make_native_errhandler(const sessions::ErrorHandler& handler, MPI_Errhandler* made);

}  // namespace shim::intercept::fortran
