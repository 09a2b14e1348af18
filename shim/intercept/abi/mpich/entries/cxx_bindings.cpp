// SPDX-License-Identifier: BSD-3-Clause
// Implements the functions of libmpich that MPICH's C++ bindings (libmpichcxx) call past the MPI
// interface, after they have made an object with a C function.
#include "shim/intercept/abi/mpich/entries/cxx_bindings.hpp"

#include <dlfcn.h>

#include <string>
#include <string_view>

#include "shim/intercept/abi/ours.hpp"
#include "shim/intercept/errors.hpp"
#include "shim/intercept/handles/error_handlers.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/handles/user_operations.hpp"
#include "shim/intercept/native/fortran.hpp"

#pragma GCC visibility push(default)
extern "C" {
/// MPI::Op::Init: `call` calls the C++ function of the operation.
void MPII_Op_set_cxx(MPI_Op op, void (*call)());
/// MPI::Comm::Create_errhandler, MPI::Win and MPI::File: `call` calls the C++ function.
void MPII_Errhandler_set_cxx(MPI_Errhandler handler, void (*call)());
}
#pragma GCC visibility pop

namespace shim::intercept {
namespace {

void call_cxx(const UserOperation& operation, void* in, void* inout, int* length,
              MPI_Datatype* datatype) {
  using Function = void (*)(const void*, void*, int, MPI_Datatype, MPI_User_function*);
  reinterpret_cast<Function>(operation.cxx_callback)(in, inout, *length, *datatype,
                                                     operation.function);
}

/// Refuse an object whose functions only the native library's C++ bindings can call.
void refuse(const char* function, const char* replacement) {
  fail(Subject(), function,
       base::Error(base::ErrorClass::unsupported_operation,
                   std::string("the C++ bindings have made the object before MPI_Init or with "
                               "INTERSESSION_WORLD=sessions; use ") +
                       replacement));
}

}  // namespace

bool is_of_cxx_bindings(void (*function)()) {
  Dl_info found{};
  return ::dladdr(reinterpret_cast<void*>(function), &found) != 0 &&
         std::string_view(found.dli_fname).find("mpichcxx") != std::string::npos;
}

void refuse_key_of_cxx_bindings() { refuse("MPI::Comm::Create_keyval", "MPI_Comm_create_keyval"); }

}  // namespace shim::intercept

extern "C" {

void MPII_Op_set_cxx(MPI_Op op, void (*call)()) {
  using namespace shim::intercept;
  set_cxx_call(op, call_cxx, call);
  if (abi::is_ours(op)) return;
  if (auto* native = fortran::find_native<decltype(MPII_Op_set_cxx)>("MPII_Op_set_cxx"))
    native(op, call);
}

void MPII_Errhandler_set_cxx(MPI_Errhandler handler, void (*call)()) {
  using namespace shim::intercept;
  // its function has the bindings' signature: communicators of sessions refuse it
  if (objects.errhandlers.take(handler)) {
    refuse("MPI::Comm::Create_errhandler", "MPI_Comm_create_errhandler");
    return;
  }
  forget_native_handler(handler);
  if (auto* native = fortran::find_native<decltype(MPII_Errhandler_set_cxx)>(
          "MPII_Errhandler_set_cxx"))
    native(handler, call);
}

}  // extern "C"
