// SPDX-License-Identifier: BSD-3-Clause
// TasklessCollective is a blocking collective that runs to its end inside the call, without a task.
// For short data, a task's frame and driver would cost more than the data.
#pragma once

#include <new>

#include "shim/base/copy.hpp"
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

/// Base class of collectives by messages (InlineCollective) and in the segment (ShmCollective). An
/// Execution without a task keeps the errors: after a failure the collective sends and receives
/// nothing more; after data of unexpected length it continues.
class TasklessCollective {
 public:
  explicit TasklessCollective(const CollSeq& seq) : TasklessCollective(seq, call_on(seq)) {}
  TasklessCollective(const CollSeq& seq, const Call& of_seq)
      : call(of_seq), execution_(*seq.comm) {}
  const Call call;

  /// Copy the local block to its position.
  void copy_local(const types::ConstBuffer& from, const types::Buffer& to) {
    const bool is_plain = from.type->contiguous && to.type->contiguous &&
                          from.bytes() == to.bytes();
    if (is_plain) [[likely]]
      base::copy_short(to.address, from.address, from.bytes());
    else
      execution_.copy_local(from, to);
  }
  /// Compute inout[i] = in[i] op inout[i].
  void combine(const Operands& operands, const void* in, void* inout) {
    if (execution_.has_failed()) return;
    execution_.take(types::reduce(*operands.op, *operands.type, in, inout, operands.count));
  }

 protected:
  Execution execution_;
};

inline base::Error no_memory() {
  return {base::ErrorClass::no_mem,
          "no memory for the intermediate data of a collective operation"};
}

}  // namespace shim::coll
