// SPDX-License-Identifier: BSD-3-Clause
// Makes native objects whose callbacks are Fortran procedures (MPI-4.1 §19.3.6, §19.3.7). Each
// substrate's Fortran interface has its own functions for it: abi/<substrate>/native/fortran.cpp.
#pragma once

#include <mpi.h>

#include "shim/intercept/native/substrate.hpp"
#include "shim/sessions/attributes.hpp"
#include "shim/sessions/error_handler.hpp"

namespace shim::intercept::fortran {

/// Return the native library's function of this name; null if it has none.
template <typename Function>
Function* find_native(const char* symbol) {
  return reinterpret_cast<Function*>(fortran_symbol(symbol));
}

/// Raise MPI_ERR_UNSUPPORTED_OPERATION: the loaded libraries lack a function that MPI_X needs.
/// Return its code. `function` is "MPI_X". Defined in ../errors.cpp.
int fail_without_native(const char* function, const char* symbol);

/// Call the native library's C function of this name, which returns a code.
template <typename Function, typename... Arguments>
int call_native(const char* function, const char* symbol, Arguments... arguments) {
  auto* const native = find_native<Function>(symbol);
  return native != nullptr ? native(arguments...) : fail_without_native(function, symbol);
}

/// Store a Fortran error code; the module mpi_f08 passes null if the caller omits the argument.
inline void set_error(MPI_Fint* ierror, int code) {
  if (ierror != nullptr) *ierror = code;
}

/// Call the native library's Fortran procedure of this name, whose last argument is the code.
template <typename Function, typename... Arguments>
void call_native_procedure(const char* function, const char* symbol, MPI_Fint* ierror,
                           Arguments... arguments) {
  if (auto* const native = find_native<Function>(symbol)) return native(arguments..., ierror);
  set_error(ierror, fail_without_native(function, symbol));
}

// Only while the native library is active. Each function returns MPI_SUCCESS, or the code of an
// error that the native library has raised.

/// Make a native key; its callbacks receive the number of the new key. `key` must outlive the new
/// key.
int make_native_key(const sessions::Key& key, int* made);
int make_native_operation(MPI_User_function* function, bool commutes, MPI_Op* made);
int make_native_errhandler(const sessions::ErrorHandler& handler, MPI_Errhandler* made);

}  // namespace shim::intercept::fortran
