// SPDX-License-Identifier: BSD-3-Clause
// Checks the arguments of calls with a reduction operation.
#pragma once

#include <memory>

#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/coll/user_exception.hpp"

namespace shim::intercept {

/// Arguments as the user passes them.
struct ReductionArguments {
  const void* sendbuf;
  void* recvbuf;
  Count count;
  MPI_Datatype datatype;
  MPI_Op op;
};

/// State that a task refers to, kept as long as the task.
using Kept = std::shared_ptr<const void>;

/// Arguments after the check.
struct Reduction {
  types::ConstBuffer send;  ///< type null: in place
  void* receive = nullptr;
  std::uint64_t count = 0;
  const types::Type* type = nullptr;
  const types::Op* op = nullptr;
  Kept kept;                        ///< state that the operation needs until the call ends
  UserException* thrown = nullptr;  ///< part of `kept`; null for predefined operations
  bool is_empty() const { return kept == nullptr; }
  /// Return the reduction of a process that neither sends nor receives; no argument of the call is
  /// read.
  static Reduction of_no_data();

  UserException* user_exception() const { return thrown; }
};

/// True if this process contributes data, and if it gets a result; otherwise that buffer is not
/// significant.
struct Roles {
  bool sends = true, receives = true;
};
/// Check the arguments. Errors: count, type, op (null, not defined on the type), buffer.
base::Status check_reduction(Reduction& checked, const ReductionArguments& given, Roles roles = {});

}  // namespace shim::intercept
