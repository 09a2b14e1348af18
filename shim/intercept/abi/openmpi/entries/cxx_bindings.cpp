// SPDX-License-Identifier: BSD-3-Clause
// Implements the functions of libmpi that Open MPI 4.1's C++ bindings (libmpi_cxx) call past the
// MPI interface. Open MPI 5 has no C++ bindings.
#include <array>
#include <cstddef>

#include "shim/intercept/errors.hpp"
#include "shim/intercept/handles/user_operations.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"

#pragma GCC visibility push(default)
extern "C" {
/// MPI::Op::Init: the bindings pass one common function to MPI_Op_create, and the program's here.
void ompi_op_set_cxx_callback(MPI_Op op, MPI_User_function* function);
/// MPI::Comm::Create_errhandler, MPI::Win and MPI::File: return an object that the bindings change.
void* ompi_errhandler_create(int object, void (*function)(), int language);
}
#pragma GCC visibility pop

namespace shim::intercept {
namespace {

/// Call the function of MPI_Op_create with the program's function as its fifth argument.
void call_cxx(const UserOperation& operation, void* in, void* inout, int* length,
              MPI_Datatype* datatype) {
  using Function = void (*)(void*, void*, int*, MPI_Datatype*, void (*)());
  auto* const plain = reinterpret_cast<void (*)()>(operation.function);
  reinterpret_cast<Function>(plain)(in, inout, length, datatype, operation.cxx_callback);
}

}  // namespace
}  // namespace shim::intercept

extern "C" {

void ompi_op_set_cxx_callback(MPI_Op op, MPI_User_function* function) {
  using namespace shim::intercept;
  set_cxx_call(op, call_cxx, reinterpret_cast<void (*)()>(function));
  if (abi::is_ours(op)) return;
  if (auto* native = fortran::find_native<decltype(ompi_op_set_cxx_callback)>(
          "ompi_op_set_cxx_callback"))
    native(op, function);
}

void* ompi_errhandler_create(int object, void (*function)(), int language) {
  using namespace shim::intercept;
  if (!is_served_world_selected()) {
    auto* native = fortran::find_native<decltype(ompi_errhandler_create)>("ompi_errhandler_create");
    return native != nullptr ? native(object, function, language) : nullptr;
  }
  fail(Subject(), "MPI::Comm::Create_errhandler",
       shim::base::Error(shim::base::ErrorClass::unsupported_operation,
                         "the C++ bindings cannot create error handlers with "
                         "INTERSESSION_WORLD=sessions; use MPI_Comm_create_errhandler"));
  // The bindings write into the object. It is no valid handle, so each use of it is an error.
  alignas(std::max_align_t) static std::array<std::byte, 4096> unusable;
  return unusable.data();
}

}  // extern "C"
