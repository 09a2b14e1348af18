// SPDX-License-Identifier: BSD-3-Clause
// Operations as arguments; MPI_Reduce_local, which alone applies one without a communicator (MPI-4.1 §6.9.7).
#include "shim/intercept/bodies/reduction.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <limits>
#include <string>

#include "shim/intercept/bodies/collective.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/operations.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// An operation of the user's as one call applies it: its function is given the user's own handle of the datatype.
struct Applied {
  UserOperationPtr operation;  ///< null: one that the substrate alone can run
  MPI_Op native{};
  MPI_Datatype datatype{};
  types::TypePtr type;         ///< kept
  DerivedPtr derived;          ///< null for predefined types
  std::string name;            ///< of the datatype, where it is ours
  types::Op op{};              ///< its context points here
  UserException thrown;
};

/// The datatype that a function gets: the user's own handle. If the user has freed that (MPI-4.1
/// §5.1.9), a handle for the time of the call.
class DatatypeOfCall {
 public:
  explicit DatatypeOfCall(const Applied& applied) : handle_(applied.datatype) {
    if (applied.derived == nullptr || is_valid(applied)) return;
    DatatypeObject object;
    object.derived = applied.derived;
    object.committed = true;
    object.name = applied.name;
    if (auto made = objects.datatypes.insert(std::move(object))) handle_ = own_ = *made;
  }
  ~DatatypeOfCall() {
    if (!abi::is_unset(own_)) static_cast<void>(objects.datatypes.take(own_));
  }
  DatatypeOfCall(const DatatypeOfCall&) = delete;
  DatatypeOfCall& operator=(const DatatypeOfCall&) = delete;
  MPI_Datatype handle() const { return handle_; }

 private:
  static bool is_valid(const Applied& applied) {
    if (abi::is_ours(applied.datatype)) return objects.datatypes.find(applied.datatype) != nullptr;
    return is_active() && !applied.derived->is_handle_gone();
  }
  MPI_Datatype handle_, own_{};
};

/// The same for a function that the substrate calls.
MPI_Datatype native_datatype(const Applied& applied) {
  if (applied.derived == nullptr || !applied.derived->is_handle_gone()) return applied.datatype;
  auto twin = applied.derived->twin();
  return twin ? *twin : applied.datatype;
}

/// Lengths are int but for functions of MPI_Op_create_c.
template <typename Call>
void in_pieces(const void* in, void* inout, std::uint64_t count, std::int64_t extent, Call call) {
  auto* from = static_cast<std::byte*>(const_cast<void*>(in));
  auto* to = static_cast<std::byte*>(inout);
  constexpr std::uint64_t kLongest = std::numeric_limits<int>::max();
  for (std::uint64_t done = 0; done < count;) {
    auto length = static_cast<int>(std::min(count - done, kLongest));
    std::int64_t offset = static_cast<std::int64_t>(done) * extent;
    call(from + offset, to + offset, &length);
    done += static_cast<std::uint64_t>(length);
  }
}

void call_function(const Applied& applied, const void* in, void* inout, std::uint64_t count,
                   const types::Type& type) {
  const UserOperation* user = applied.operation.get();
  if (user == nullptr) {
    const MPI_Datatype datatype = native_datatype(applied);
    return in_pieces(in, inout, count, type.extent, [&](void* from, void* to, const int* length) {
      active_table.Reduce_local(from, to, *length, datatype, applied.native);
    });
  }
  const DatatypeOfCall of_call(applied);
  MPI_Datatype datatype = of_call.handle();
  if (user->large_function != nullptr) {
    auto length = static_cast<MPI_Count>(count);
    return user->large_function(const_cast<void*>(in), inout, &length, &datatype);
  }
  in_pieces(in, inout, count, type.extent, [&](void* from, void* to, int* length) {
    user->function(from, to, length, &datatype);
  });
}

/// A types::UserFunction. Keep a C++ exception until the collective has ended: members that wait
/// for this process's messages get them, and no message is in flight when the caller's buffers go.
/// After an exception the result is undefined.
void apply(void* context, const void* in, void* inout, std::uint64_t count,
           const types::Type& type) {
  auto& applied = *static_cast<Applied*>(context);
  if (applied.thrown) return;
  try {
    call_function(applied, in, inout, count, type);
  } catch (const __cxxabiv1::__forced_unwind&) {  // pthread_exit or cancellation: cannot be stopped
    throw;
  } catch (...) {
    if (!applied.thrown.keep_current()) throw;
  }
}

/// One whose making we did not see (Fortran's, or before we were loaded): the substrate runs it.
base::Status take_unseen(Applied& applied, bool& commutes) {
  if (!is_active() || !may_call_substrate())
    return Error(ErrorClass::op, "the operation is known to the world model alone, which cannot be called at present");
  if (int code = twin_datatype(Subject(), "MPI_Reduce_local", applied.datatype))
    return Error(ErrorClass::type, "the datatype has no counterpart in the MPI library below (code " + std::to_string(code) + ")");
  int flag = 0;
  if (active_table.Op_commutative(applied.native, &flag) != MPI_SUCCESS)
    return Error(ErrorClass::op, "the operation is known neither to a session nor to the MPI library below");
  commutes = flag != 0;
  return {};
}

base::Status take_user_op(Reduction& checked, const Operation& given) {
  if (abi::is_unset(given.op) || given.op == abi::predefined.op_null) return Error(ErrorClass::op, "the operation is MPI_OP_NULL");
  auto applied = std::make_shared<Applied>();
  applied->operation = find_operation(given.op);
  applied->native = given.op;
  applied->datatype = given.datatype;
  applied->type = types::keep(*checked.type);
  if (!checked.type->is_predefined()) {
    SHIM_TRY_ASSIGN(Ingredient ingredient, ingredient_of(given.datatype));
    applied->derived = std::move(ingredient.derived);
    if (const DatatypeObject* object = objects.datatypes.find(given.datatype))
      applied->name = object->name;
  }
  bool commutes = applied->operation != nullptr && applied->operation->commutes;
  if (applied->operation == nullptr) {
    if (abi::is_ours(given.op)) return std::move(op_of(given.op)).error();
    SHIM_TRY(take_unseen(*applied, commutes));
  }
  applied->op = {.name = "the user's operation", .commutative = commutes, .user = apply, .context = applied.get()};
  checked.op = &applied->op;
  checked.thrown = &applied->thrown;
  checked.kept = applied;
  return {};
}

/// The operation, allowed on the type.
base::Status take_op(Reduction& checked, const Operation& given) {
  checked.op = abi::find_op(given.op);
  if (checked.op == nullptr) return take_user_op(checked, given);
  if (!checked.type->is_predefined()) return Error(ErrorClass::op, "predefined operations apply to predefined datatypes only");
  if (!types::is_allowed(*checked.op, *checked.type))
    return Error(ErrorClass::op, std::string(checked.op->name) + " is not defined on " + std::string(checked.type->name));
  return {};
}

int reduce_local(const char* function, const void* in, void* inout, Count count, MPI_Datatype datatype, MPI_Op op) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_address(in, count > 0));
    Reduction r;
    SHIM_TRY(take_reduction(r, {in, inout, count, datatype, op}));
    base::Status reduced = types::reduce(*r.op, *r.type, in, inout, r.count);
    rethrow(r.thrown);
    return reduced;
  });
}

}  // namespace

Reduction Reduction::of_no_data() { return {.type = &types::byte_type(), .op = &types::predefined(types::Operator::bor)}; }

base::Status take_reduction(Reduction& checked, const Operation& given, Roles roles) {
  if (given.count < 0) [[unlikely]] return slow::bad_count(given.count, "count");
  SHIM_TRY_ASSIGN(checked.type, take_type(given.datatype));
  SHIM_TRY(take_op(checked, given));
  checked.count = static_cast<std::uint64_t>(given.count);
  checked.receive = given.recvbuf;
  const bool has_data = needs_address(*checked.type, given.count > 0);
  if (roles.sends && given.sendbuf != MPI_IN_PLACE) {
    SHIM_TRY(check_address(given.sendbuf, has_data));
    checked.send = {given.sendbuf, checked.count, checked.type};
  }
  if (!roles.receives) return {};
  SHIM_TRY(check_address(given.recvbuf, has_data));
  if (roles.sends) SHIM_TRY(check_no_alias(checked.send, {given.recvbuf, checked.count, checked.type}));
  return {};
}

namespace ours {

int Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local("MPI_Reduce_local", inbuf, inoutbuf, count, datatype, op);
}
int Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local("MPI_Reduce_local_c", inbuf, inoutbuf, count, datatype, op);
}

}  // namespace ours
}  // namespace shim::intercept
