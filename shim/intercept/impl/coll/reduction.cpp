// SPDX-License-Identifier: BSD-3-Clause
// Checks and applies operations. Includes MPI_Reduce_local, which needs no communicator (MPI-4.1
// §6.9.7).
#include "shim/intercept/impl/coll/reduction.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <limits>
#include <string>

#include "shim/base/settings.hpp"
#include "shim/intercept/abi/unlisted_reductions.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/user_operations.hpp"
#include "shim/intercept/impl/coll/collective.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// A user's operation in one call: its function gets the user's own datatype handle.
struct AppliedOperation {
  UserOperationPtr operation;  ///< null: only the substrate can run it
  MPI_Op native{};
  MPI_Datatype datatype{};
  types::TypePtr type;  ///< keeps the type
  DerivedPtr derived;   ///< null for predefined types
  std::string name;     ///< of the datatype, if it is ours
  types::Op op{};       ///< its context points here
  UserException thrown;
};

/// Datatype handle for a function: the user's own. If the user has freed it (MPI-4.1 §5.1.9), a
/// handle for the duration of the call.
class DatatypeOfCall {
 public:
  explicit DatatypeOfCall(const AppliedOperation& applied) : handle_(applied.datatype) {
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
  static bool is_valid(const AppliedOperation& applied) {
    if (abi::is_ours(applied.datatype)) return objects.datatypes.find(applied.datatype) != nullptr;
    return is_active() && !applied.derived->is_handle_freed();
  }
  MPI_Datatype handle_, own_{};
};

/// Return the datatype handle for a function that the substrate calls.
MPI_Datatype native_datatype(const AppliedOperation& applied) {
  if (applied.derived == nullptr || !applied.derived->is_handle_freed()) return applied.datatype;
  auto native_handle = applied.derived->native_handle();
  return native_handle ? *native_handle : applied.datatype;
}

/// Call a function in pieces: lengths are int except in functions of MPI_Op_create_c.
template <typename Call>
void in_pieces(const void* in, void* inout, std::uint64_t count, std::int64_t extent, Call call) {
  auto* from = static_cast<std::byte*>(const_cast<void*>(in));
  auto* to = static_cast<std::byte*>(inout);
  constexpr std::uint64_t kLongest = std::numeric_limits<int>::max();
  for (std::uint64_t done = 0; done < count;) {
    const auto length = static_cast<int>(std::min(count - done, kLongest));
    const std::int64_t offset = static_cast<std::int64_t>(done) * extent;
    int given = length;  // the function may change it
    call(from + offset, to + offset, &given);
    done += static_cast<std::uint64_t>(length);
  }
}

void call_function(const AppliedOperation& applied, const void* in, void* inout,
                   std::uint64_t count, const types::Type& type) {
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
  if (user->is_fortran) {
    MPI_Fint number = PMPI_Type_c2f(datatype);
    auto* procedure = reinterpret_cast<void (*)()>(user->function);
    auto* function = reinterpret_cast<void (*)(void*, void*, MPI_Fint*, MPI_Fint*)>(procedure);
    return in_pieces(in, inout, count, type.extent, [&](void* from, void* to, int* length) {
      function(from, to, length, &number);
    });
  }
  in_pieces(in, inout, count, type.extent, [&](void* from, void* to, int* length) {
    if (user->cxx_call != nullptr)
      user->cxx_call(*user, from, to, length, &datatype);
    else
      user->function(from, to, length, &datatype);
  });
}

/// A types::UserFunction. Keeps a C++ exception until the collective ends, so that waiting members
/// get this process's messages, and no message is in flight when the caller's buffers are freed.
/// After an exception the result is undefined.
void apply(void* context, const void* in, void* inout, std::uint64_t count,
           const types::Type& type) {
  auto& applied = *static_cast<AppliedOperation*>(context);
  if (applied.thrown) return;
  try {
    call_function(applied, in, inout, count, type);
  } catch (const __cxxabiv1::__forced_unwind&) {  // pthread_exit or cancellation: cannot be stopped
    throw;
  } catch (...) {
    if (!applied.thrown.keep_current()) throw;
  }
}

/// Take an operation whose creation was not intercepted (Fortran, or before this library was
/// loaded): the substrate runs it.
base::Status get_native_op(AppliedOperation& applied, bool& commutes) {
  if (!is_active() || !may_call_substrate())
    return Error(ErrorClass::op,
                 "the operation belongs to the world model, which cannot be called now");
  if (int code = to_native_datatype(Subject(), "MPI_Reduce_local", applied.datatype))
    return Error(ErrorClass::type,
                 "the datatype has no counterpart in the native MPI library (error code " +
                     std::to_string(code) + ")");
  int flag = 0;
  if (active_table.Op_commutative(applied.native, &flag) != MPI_SUCCESS)
    return Error(ErrorClass::op,
                 "the operation is unknown to Intersession and to the native MPI library");
  commutes = flag != 0;
  return {};
}

base::Status get_user_op(Reduction& checked, const ReductionArguments& given) {
  if (abi::is_unset(given.op) || given.op == abi::predefined.op_null)
    return Error(ErrorClass::op, "the operation is MPI_OP_NULL");
  auto applied = std::make_shared<AppliedOperation>();
  applied->operation = find_operation(given.op);
  applied->native = given.op;
  applied->datatype = given.datatype;
  applied->type = types::keep(*checked.type);
  if (!checked.type->is_predefined()) {
    SHIM_TRY_ASSIGN(OldType old_type, old_type_of(given.datatype));
    applied->derived = std::move(old_type.derived);
    if (const DatatypeObject* object = objects.datatypes.find(given.datatype))
      applied->name = object->name;
  }
  bool commutes = applied->operation != nullptr && applied->operation->commutes;
  if (applied->operation == nullptr) {
    if (abi::is_ours(given.op)) return std::move(op_of(given.op)).error();
    SHIM_TRY(get_native_op(*applied, commutes));
  }
  applied->op = {.name = "the user's operation",
                 .commutative = commutes,
                 .user = apply,
                 .context = applied.get()};
  checked.op = &applied->op;
  checked.thrown = &applied->thrown;
  checked.kept = applied;
  return {};
}

/// True if the program wants the types that the standard lists only (INTERSESSION_REDUCTIONS). Read
/// once. An invalid value is an error of the first session.
bool accepts_listed_types_only() {
  static const bool chosen = base::from_environment("INTERSESSION_REDUCTIONS") == "standard";
  return chosen;
}

/// Take the operation if it is allowed on the type, or if the native libraries compute it.
base::Status get_op(Reduction& checked, const ReductionArguments& given) {
  checked.op = abi::find_op(given.op);
  if (checked.op == nullptr) return get_user_op(checked, given);
  if (!checked.type->is_predefined())
    return Error(ErrorClass::op, "predefined operations apply to predefined datatypes only");
  if (types::is_allowed(*checked.op, *checked.type)) [[likely]]
    return {};
  const types::Type* const computed_as = accepts_listed_types_only()
                                             ? nullptr
                                             : abi::unlisted_reduction_type(*checked.type,
                                                                            checked.op->code);
  if (computed_as == nullptr)
    return Error(ErrorClass::op, std::string(checked.op->name) + " is not defined on " +
                                     std::string(checked.type->name));
  checked.type = computed_as;
  return {};
}

int reduce_local(const char* function, const void* in, void* inout, Count count,
                 MPI_Datatype datatype, MPI_Op op) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_address(in, count > 0));
    Reduction r;
    SHIM_TRY(check_reduction(r, {in, inout, count, datatype, op}));
    base::Status reduced = types::reduce(*r.op, *r.type, in, inout, r.count);
    rethrow(r.thrown);
    return reduced;
  });
}

}  // namespace

Reduction Reduction::of_no_data() {
  return {.type = &types::byte_type(), .op = &types::predefined(types::Operator::bor)};
}

base::Status check_reduction(Reduction& checked, const ReductionArguments& given, Roles roles) {
  if (given.count < 0) [[unlikely]]
    return slow::bad_count(given.count, "count");
  SHIM_TRY_ASSIGN(checked.type, get_type(given.datatype));
  SHIM_TRY(get_op(checked, given));
  checked.count = static_cast<std::uint64_t>(given.count);
  checked.receive = given.recvbuf;
  const bool has_data = needs_address(*checked.type, given.count > 0);
  if (roles.sends && given.sendbuf != MPI_IN_PLACE) {
    SHIM_TRY(check_address(given.sendbuf, has_data));
    checked.send = {given.sendbuf, checked.count, checked.type};
  }
  if (!roles.receives) return {};
  SHIM_TRY(check_address(given.recvbuf, has_data));
  if (roles.sends)
    SHIM_TRY(check_no_alias(checked.send, {given.recvbuf, checked.count, checked.type}));
  return {};
}

namespace impl {

int Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local("MPI_Reduce_local", inbuf, inoutbuf, count, datatype, op);
}
int Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                   MPI_Op op) {
  return reduce_local("MPI_Reduce_local_c", inbuf, inoutbuf, count, datatype, op);
}

}  // namespace impl
}  // namespace shim::intercept
