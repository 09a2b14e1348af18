// SPDX-License-Identifier: BSD-3-Clause
// Implements user-defined operations (MPI-4.1 §6.9.5). An operation made while the substrate is
// active is the substrate's, and Intersession remembers its function for its own communicators. All
// others are Intersession's and get a native handle when a native call needs it.
#include "shim/intercept/impl/coll/op.hpp"

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/user_operations.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Create an operation of the substrate, which raises its own errors.
template <typename Function, typename Create>
int create_native_op(Create& create, Function* function, int commute, MPI_Op* op) {
  int code = create(function, commute, op);
  if (code == MPI_SUCCESS) remember_native_operation(*op, UserOperation(function, commute != 0));
  return code;
}

}  // namespace

int create_own_operation(const char* function, const UserOperation& operation, MPI_Op* op) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(require_substrate());
    if (operation.function == nullptr && operation.large_function == nullptr)
      return Error(ErrorClass::arg, "the function is a null pointer");
    SHIM_TRY(check_output(op, "operation"));
    SHIM_TRY_ASSIGN(*op, objects.ops.insert({std::make_shared<UserOperation>(operation), {}}));
    return {};
  });
}

namespace impl {

int Op_create(MPI_User_function* function, int commute, MPI_Op* op) {
  if (detect_activity()) return create_native_op(active_table.Op_create, function, commute, op);
  return create_own_operation("MPI_Op_create", UserOperation(function, commute != 0), op);
}

int Op_create_c(MPI_User_function_c* function, int commute, MPI_Op* op) {
  if (detect_activity() && substrate_symbol("PMPI_Op_create_c") != nullptr)
    return create_native_op(active_table.Op_create_c, function, commute, op);
  return create_own_operation("MPI_Op_create_c", UserOperation(function, commute != 0), op);
}

/// Free an operation; calls that use it keep it until they end.
int Op_free(MPI_Op* op) {
  if (op != nullptr && !abi::is_ours(*op) && (detect_activity() || !any_object_made())) {
    forget_native_operation(*op);
    return active_table.Op_free(op);
  }
  return run_with_handler(Subject(), "MPI_Op_free", [&]() -> base::Status {
    SHIM_TRY(check_output(op, "operation"));
    if (abi::find_op(*op) != nullptr)
      return Error(ErrorClass::op, "predefined operations cannot be freed");
    auto taken = objects.ops.take(*op);
    if (!taken) return std::move(op_of(*op)).error();
    if (MPI_Op native_handle = taken->native_handle.get(); !abi::is_unset(native_handle))
      free_native_operation(native_handle);
    *op = abi::predefined.op_null;
    return {};
  });
}

int Op_commutative(MPI_Op op, int* commute) {
  return run_with_handler(Subject(), "MPI_Op_commutative", [&]() -> base::Status {
    SHIM_TRY(check_output(commute, "flag"));
    if (const types::Op* predefined = abi::find_op(op)) {
      *commute = predefined->commutative;
      return {};
    }
    UserOperationPtr operation = find_operation(op);
    if (operation == nullptr) return std::move(op_of(op)).error();
    *commute = operation->commutes;
    return {};
  });
}

}  // namespace impl
}  // namespace shim::intercept
