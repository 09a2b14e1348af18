// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/user_operations.hpp"

#include <array>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

struct NativeOperations {
  std::mutex mutex;
  std::unordered_map<MPI_Op, UserOperationPtr> by_handle;
};

// Never destroyed: calls are possible until the program has ended.
NativeOperations& native_operations() {
  static NativeOperations& operations = *new NativeOperations;
  return operations;
}

// A reduction function gets no context (MPI-4.1 §6.9.5), so each trampoline needs code of its own.
constexpr std::size_t kTrampolines = 16;
constinit std::array<std::atomic<MPI_User_function_c*>, kTrampolines> wide_functions{};

template <std::size_t kNumber>
void trampoline(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  MPI_Count count = *length;
  wide_functions[kNumber].load(std::memory_order_acquire)(
      in, inout, &count, datatype);  // pairs with the exchange in with_int_count()
}

template <std::size_t... kNumbers>
constexpr std::array<MPI_User_function*, kTrampolines> trampoline(
    std::index_sequence<kNumbers...>) {
  return {trampoline<kNumbers>...};
}

}  // namespace

UserOperationPtr find_operation(MPI_Op handle) {
  if (OpObject* object = objects.ops.find(handle)) return object->operation;
  if (abi::is_ours(handle)) return nullptr;
  NativeOperations& known = native_operations();
  std::lock_guard lock(known.mutex);
  auto at = known.by_handle.find(handle);
  return at != known.by_handle.end() ? at->second : nullptr;
}

void remember_native_operation(MPI_Op handle, const UserOperation& operation) {
  NativeOperations& known = native_operations();
  std::lock_guard lock(known.mutex);
  known.by_handle[handle] = std::make_shared<UserOperation>(operation);
}

void forget_native_operation(MPI_Op handle) {
  NativeOperations& known = native_operations();
  std::lock_guard lock(known.mutex);
  known.by_handle.erase(handle);
}

void set_cxx_call(MPI_Op handle, decltype(UserOperation::cxx_call) call, void (*callback)()) {
  const UserOperationPtr found = find_operation(handle);
  if (found == nullptr) return;
  UserOperation changed = *found;
  changed.cxx_call = call;
  changed.cxx_callback = callback;
  if (OpObject* object = objects.ops.find(handle))
    object->operation = std::make_shared<UserOperation>(changed);
  else
    remember_native_operation(handle, changed);
}

base::Result<MPI_Op> make_native_operation(const UserOperation& operation) {
  auto refused = [](int code) {
    return base::Error(base::ErrorClass::other,
                       "the native MPI library cannot create the operation (error code " +
                           std::to_string(code) + ")");
  };
  if (operation.cxx_call != nullptr)
    return base::Error(base::ErrorClass::op,
                       "the C++ bindings made the operation before MPI_Init; make it again after "
                       "MPI_Init for objects of the world model");
  MPI_Op made = abi::predefined.op_null;
  if (operation.large_function != nullptr && substrate_symbol("PMPI_Op_create_c") != nullptr) {
    if (int code = active_table.Op_create_c(operation.large_function, operation.commutes, &made))
      return refused(code);
  } else if (operation.is_fortran) {
    if (int code = fortran::make_native_operation(operation.function, operation.commutes, &made))
      return refused(code);
  } else {
    MPI_User_function* function = operation.function;
    if (function == nullptr) {
      SHIM_TRY_ASSIGN(function, with_int_count(operation.large_function));
    }
    if (int code = active_table.Op_create(function, operation.commutes, &made))
      return refused(code);
  }
  remember_native_operation(made, operation);
  return made;
}

void free_native_operation(MPI_Op handle) {
  forget_native_operation(handle);
  if (is_active()) active_table.Op_free(&handle);
}

base::Result<MPI_User_function*> with_int_count(MPI_User_function_c* function) {
  static constexpr auto kFunctions = trampoline(std::make_index_sequence<kTrampolines>{});
  for (std::size_t i = 0; i < kTrampolines; ++i) {
    MPI_User_function_c* present = nullptr;
    if (wide_functions[i].compare_exchange_strong(present, function, std::memory_order_acq_rel) ||
        present == function)
      return kFunctions[i];
  }
  return base::Error(base::ErrorClass::no_mem,
                     "objects of the world model already use 16 operations of MPI_Op_create_c, "
                     "which is the limit");
}

}  // namespace shim::intercept
