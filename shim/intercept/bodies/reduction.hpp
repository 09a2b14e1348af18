// SPDX-License-Identifier: BSD-3-Clause
// What every call that combines data with an operation is given, and its check.
#pragma once

#include <memory>

#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/bodies/user_exception.hpp"

namespace shim::intercept {

/// As the user says it.
struct Operation {
  const void* sendbuf;
  void* recvbuf;
  Count count;
  MPI_Datatype datatype;
  MPI_Op op;
};

/// Whatever a task refers to, kept as long as the task.
using Kept = std::shared_ptr<const void>;

/// The same, checked.
struct Reduction {
  types::ConstBuffer send;  ///< without a type: in place
  void* receive = nullptr;
  std::uint64_t count = 0;
  const types::Type* type = nullptr;
  const types::Op* op = nullptr;
  Kept kept;  ///< what the operation needs until the call has ended
  UserException* thrown = nullptr;  ///< in `kept`; null for predefined operations
  bool is_empty() const { return kept == nullptr; }
  /// Make the reduction of a process that neither sends nor receives: none of the call's arguments is read.
  static Reduction of_no_data();

  UserException* user_exception() const { return thrown; }
};

/// Does this process give data, and does it get a result? Else those buffers mean nothing.
struct Roles {
  bool sends = true, receives = true;
};
/// Errors: count, type, op (null, not defined on the type), buffer.
base::Status take_reduction(Reduction& checked, const Operation& given, Roles roles = {});

}  // namespace shim::intercept
