// SPDX-License-Identifier: BSD-3-Clause
// Operations of the user's, MPI-4.1 §6.9.5. One that is made while the substrate is active is the substrate's; we remember its
// function, for communicators of ours. One that is made at other times is ours, and gets a twin below when a call there needs it.
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/substrate.hpp"
#include "shim/intercept/operations.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// The substrate's own, which raises its own errors.
template <typename Function, typename Create>
int create_below(Create& create, Function* function, int commute, MPI_Op* op) {
  int code = create(function, commute, op);
  if (code == MPI_SUCCESS) remember_native_operation(*op, UserOperation(function, commute != 0));
  return code;
}

template <typename Function>
int create_ours(const char* name, Function* function, int commute, MPI_Op* op) {
  return deliver(Subject(), name, [&]() -> base::Status {
    SHIM_TRY(need_substrate());
    if (function == nullptr) return Error(ErrorClass::arg, "the function is a null pointer");
    SHIM_TRY(check_output(op, "operation"));
    SHIM_TRY_ASSIGN(*op, objects.ops.insert({std::make_shared<UserOperation>(function, commute != 0), {}}));
    return {};
  });
}

}  // namespace

namespace ours {

int Op_create(MPI_User_function* function, int commute, MPI_Op* op) {
  if (notice_activity()) return create_below(active_table.Op_create, function, commute, op);
  return create_ours("MPI_Op_create", function, commute, op);
}

int Op_create_c(MPI_User_function_c* function, int commute, MPI_Op* op) {
  if (notice_activity() && substrate_symbol("PMPI_Op_create_c") != nullptr)
    return create_below(active_table.Op_create_c, function, commute, op);
  return create_ours("MPI_Op_create_c", function, commute, op);
}

/// Calls that use the operation keep it until they have ended.
int Op_free(MPI_Op* op) {
  if (op != nullptr && !abi::is_ours(*op) && (notice_activity() || !any_object_made())) {
    forget_native_operation(*op);
    return active_table.Op_free(op);
  }
  return deliver(Subject(), "MPI_Op_free", [&]() -> base::Status {
    SHIM_TRY(check_output(op, "operation"));
    if (abi::find_op(*op) != nullptr) return Error(ErrorClass::op, "predefined operations cannot be freed");
    auto taken = objects.ops.take(*op);
    if (!taken) return std::move(op_of(*op)).error();
    if (MPI_Op twin = taken->twin.get(); !abi::is_unset(twin)) free_native_operation(twin);
    *op = abi::predefined.op_null;
    return {};
  });
}

int Op_commutative(MPI_Op op, int* commute) {
  return deliver(Subject(), "MPI_Op_commutative", [&]() -> base::Status {
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

}  // namespace ours
}  // namespace shim::intercept
