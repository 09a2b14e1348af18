// SPDX-License-Identifier: BSD-3-Clause
// Operations as arguments; MPI_Reduce_local, which alone applies one without a communicator (MPI-4.1 §6.9.7).
#include "shim/intercept/bodies/reduction.hpp"

#include <string>

#include "shim/intercept/bodies/collective.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// The operation, allowed on the type.
base::Result<const types::Op*> take_op(MPI_Op handle, const types::Type& type) {
  if (abi::is_unset(handle) || handle == abi::predefined.op_null) return Error(ErrorClass::op, "the operation is MPI_OP_NULL");
  const types::Op* op = abi::find_op(handle);
  if (op == nullptr)
    return Error(ErrorClass::unsupported_operation,
                 "operations made by MPI_Op_create are not available on communicators of sessions in this version");
  if (!types::is_allowed(*op, type))
    return Error(ErrorClass::op, std::string(op->name) + " is not defined on " + std::string(type.name));
  return op;
}

/// A type that predefined operations may apply to.
base::Result<const types::Type*> take_reduced_type(MPI_Datatype datatype) {
  SHIM_TRY_ASSIGN(const types::Type* type, take_type(datatype));
  if (!type->is_predefined()) return Error(ErrorClass::op, "predefined operations apply to predefined datatypes only");
  return type;
}

int reduce_local(const char* function, const void* in, void* inout, Count count, MPI_Datatype datatype, MPI_Op op) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_address(in, count > 0));
    SHIM_TRY_ASSIGN(Reduction r, take_reduction({in, inout, count, datatype, op}, true));
    return types::reduce(*r.op, *r.type, in, inout, r.count);
  });
}

}  // namespace

base::Result<Reduction> take_reduction(const Operation& given, bool receives) {
  Reduction checked;
  if (given.count < 0) return slow::bad_count(given.count, "count");
  SHIM_TRY_ASSIGN(checked.type, take_reduced_type(given.datatype));
  SHIM_TRY_ASSIGN(checked.op, take_op(given.op, *checked.type));
  SHIM_TRY(take_send(checked.send, given.sendbuf, given.count, given.datatype));
  checked.count = static_cast<std::uint64_t>(given.count);
  checked.receive = given.recvbuf;
  if (!receives) return checked;
  SHIM_TRY(check_address(given.recvbuf, given.count > 0));
  SHIM_TRY(check_no_alias(given.sendbuf, given.recvbuf, checked.count));
  return checked;
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
