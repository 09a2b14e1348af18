// SPDX-License-Identifier: BSD-3-Clause
// A collective that runs to its end where it is called, without a task, whose frame and driver cost more than short data.
#pragma once

#include <new>

#include "shim/base/copy.hpp"
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

/// One such call. Errors are kept as an Execution keeps them: after a failure nothing more is sent or received; after data of another
/// length than expected the collective goes on.
class Immediate {
 public:
  explicit Immediate(const Turn& turn) : call(call_on(turn)), execution_(*turn.comm) {}
  const Call call;

  /// Our own block goes to its place.
  void place(const types::ConstBuffer& from, const types::Buffer& to) {
    const bool is_plain = from.type->contiguous && to.type->contiguous && from.bytes() == to.bytes();
    if (is_plain) [[likely]] base::copy_short(to.address, from.address, from.bytes());
    else execution_.place(from, to);
  }
  /// inout[i] = in[i] op inout[i].
  void combine(const Operands& operands, const void* in, void* inout) {
    if (execution_.has_failed()) return;
    execution_.take(types::reduce(*operands.op, *operands.type, in, inout, operands.count));
  }

 protected:
  Execution execution_;
};

inline base::Error no_memory() {
  return {base::ErrorClass::no_mem, "no memory for the intermediate data of a collective operation"};
}

}  // namespace shim::coll
