// SPDX-License-Identifier: BSD-3-Clause
// What every call that combines data with an operation is given, and its check.
#pragma once

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

/// As the user says it.
struct Operation {
  const void* sendbuf;
  void* recvbuf;
  Count count;
  MPI_Datatype datatype;
  MPI_Op op;
};

/// The same, checked.
struct Reduction {
  types::ConstBuffer send;  ///< without a type: in place
  void* receive = nullptr;
  std::uint64_t count = 0;
  const types::Type* type = nullptr;
  const types::Op* op = nullptr;
};

/// @param receives does this process get a result?
/// Errors: count, type, op (null, not defined on the type), buffer.
base::Result<Reduction> take_reduction(const Operation& given, bool receives);

}  // namespace shim::intercept
