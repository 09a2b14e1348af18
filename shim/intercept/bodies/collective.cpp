// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/collective.hpp"

#include <string>

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

coll::Task holding(Kept, coll::Task task) { co_await task; }

base::Status check_root(const sessions::Communicator& comm, int root) {
  if (root >= 0 && root < comm.size()) return {};
  Error error = slow::bad_rank(comm, root, "root");
  return Error(ErrorClass::root, error.text());
}

base::Status check_counts(const std::vector<std::int64_t>& counts, const char* what) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < 0)
      return Error(ErrorClass::count, std::string("the ") + what + " count for rank " + std::to_string(i) + " is negative");
  return {};
}

base::Status check_no_alias(const void* send, const void* receive, std::uint64_t bytes) {
  if (send != receive || bytes == 0) return {};
  return Error(ErrorClass::buffer, "send and receive buffer are the same memory: use MPI_IN_PLACE");
}

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

base::Result<const types::Type*> take_reduced_type(MPI_Datatype datatype) {
  SHIM_TRY_ASSIGN(TypeItems type, type_items(datatype));
  if (type.items != 1) return Error(ErrorClass::op, "predefined operations apply to predefined datatypes only");
  return type.base;
}

}  // namespace shim::intercept
