// SPDX-License-Identifier: BSD-3-Clause
// Entry functions of reductions. Each states its arguments, and how the three kinds of algorithm
// use them; the table selects.
#include <array>
#include <vector>

#include "shim/coll/coll.hpp"
#include "shim/coll/inter.hpp"
#include "shim/coll/selector.hpp"

namespace shim::coll {
namespace {

const void* own_data(const types::ConstBuffer& send, const void* receive) {
  return is_in_place(send) ? receive : send.address;
}

struct Reduction {
  Operands operands;
  const void* own;

  std::uint64_t bytes(const Call&) const { return operands.bytes(); }
  bool commutes() const { return operands.op->commutative; }
};

struct ReduceArguments : Reduction {
  static constexpr auto kRows = &AlgorithmTable::reduce;
  void* result;  ///< null except at the root
  int root;

  bool in_segment(ShmCollective& shm) const { return shm_reduce(shm, operands, own, result, root); }
  void run_inline(InlineReduce* algorithm, InlineCollective& collective) const {
    algorithm(collective, operands, own, result, root);
  }
  Task as_task(const Call& call, Reduce* algorithm) const {
    return algorithm(call, operands, own, result, root);
  }
};

struct AllreduceArguments : Reduction {
  static constexpr auto kRows = &AlgorithmTable::allreduce;
  void* result;

  bool in_segment(ShmCollective& shm) const { return shm_allreduce(shm, operands, own, result); }
  void run_inline(InlineAllreduce* algorithm, InlineCollective& collective) const {
    algorithm(collective, operands, own, result);
  }
  Task as_task(const Call& call, Allreduce* algorithm) const {
    return algorithm(call, operands, own, result);
  }
};

/// Of scan or exscan.
template <auto kRowsOf>
struct ScanArguments : Reduction, NeverInSegment {
  static constexpr auto kRows = kRowsOf;
  void* result;

  void run_inline(InlineAllreduce* algorithm, InlineCollective& collective) const {
    algorithm(collective, operands, own, result);
  }
  Task as_task(const Call& call, Scan* algorithm) const {
    return algorithm(call, operands, own, result);
  }
};

struct ReduceScatterArguments : Reduction {
  static constexpr auto kRows = &AlgorithmTable::reduce_scatter;
  void* result;
  const Integers& counts;

  bool in_segment(ShmCollective& shm) const {
    return shm_reduce_scatter(shm, operands, own, result, counts);
  }
  void run_inline(InlineOf<ReduceScatter>* algorithm, InlineCollective& collective) const {
    algorithm(collective, operands, own, result, counts);
  }
  Task as_task(const Call& call, ReduceScatter* algorithm) const {
    return algorithm(call, operands, own, result, counts);
  }
};

std::vector<std::int64_t> equal_counts(int size, std::uint64_t count) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(size),
                                   static_cast<std::int64_t>(count));
}

Task reduce_scatter_equal(Call call, ReduceScatter* algorithm, Operands operands, const void* own,
                          void* result, std::uint64_t block) {
  const std::vector<std::int64_t> counts = equal_counts(call.size, block);
  Task inner = algorithm(call, operands, own, result, counts);
  co_await inner;
}

Task inter_reduce_scatter_equal(Sides sides, Operands operands, const void* own, void* result,
                                std::uint64_t block) {
  const std::vector<std::int64_t> counts = equal_counts(sides.local.size, block);
  Task inner = inter_reduce_scatter(sides, operands, own, result, counts);
  co_await inner;
}

/// operands.count: items of all blocks.
struct ReduceScatterBlockArguments : Reduction {
  static constexpr auto kRows = &AlgorithmTable::reduce_scatter;
  void* result;
  std::uint64_t block;  ///< items

  /// Call run(counts) with the counts of up to kMaxShmCollMembers members.
  template <typename Run>
  auto with_counts(int size, const Run& run) const {
    std::array<std::int64_t, node::kMaxShmCollMembers> counts;
    counts.fill(static_cast<std::int64_t>(block));
    return run(Integers(std::span(counts.data(), static_cast<std::size_t>(size))));
  }
  bool in_segment(ShmCollective& shm) const {
    return with_counts(shm.call.size, [&](const Integers& counts) {
      return shm_reduce_scatter(shm, operands, own, result, counts);
    });
  }
  void run_inline(InlineOf<ReduceScatter>* algorithm, InlineCollective& collective) const {
    with_counts(collective.call.size, [&](const Integers& counts) {
      algorithm(collective, operands, own, result, counts);
    });
  }
  Task as_task(const Call& call, ReduceScatter* algorithm) const {
    return reduce_scatter_equal(call, algorithm, operands, own, result, block);
  }
};

}  // namespace

Task reduce(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
            const types::Type& type, const types::Op& op, int root) {
  const Operands operands{&type, &op, count};
  if (is_inter(seq)) return inter_reduce(sides_of(seq), operands, send.address, receive, root);
  void* result = seq.comm->rank() == root ? receive : nullptr;
  return run_selected(seq, ReduceArguments{{operands, own_data(send, receive)}, result, root});
}

Task allreduce(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
               std::uint64_t count, const types::Type& type, const types::Op& op) {
  const Operands operands{&type, &op, count};
  if (is_inter(seq)) return inter_allreduce(sides_of(seq), operands, send.address, receive);
  return run_selected(seq, AllreduceArguments{{operands, own_data(send, receive)}, receive});
}

Task scan(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
          const types::Type& type, const types::Op& op) {
  using Arguments = ScanArguments<&AlgorithmTable::scan>;
  return run_selected(seq, Arguments{{{&type, &op, count}, own_data(send, receive)}, {}, receive});
}

Task exscan(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
            const types::Type& type, const types::Op& op) {
  using Arguments = ScanArguments<&AlgorithmTable::exscan>;
  return run_selected(seq, Arguments{{{&type, &op, count}, own_data(send, receive)}, {}, receive});
}

Task reduce_scatter(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                    const Integers& counts, const types::Type& type, const types::Op& op) {
  const Operands operands{&type, &op, static_cast<std::uint64_t>(counts.sum())};
  if (is_inter(seq))
    return inter_reduce_scatter(sides_of(seq), operands, send.address, receive, counts);
  return run_selected(seq,
                      ReduceScatterArguments{{operands, own_data(send, receive)}, receive, counts});
}

Task reduce_scatter_block(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                          std::uint64_t count, const types::Type& type, const types::Op& op) {
  const Comm& members = is_inter(seq) ? *seq.comm->local() : *seq.comm;
  const Operands operands{&type, &op, count * static_cast<std::uint64_t>(members.size())};
  if (is_inter(seq))
    return inter_reduce_scatter_equal(sides_of(seq), operands, send.address, receive, count);
  return run_selected(
      seq, ReduceScatterBlockArguments{{operands, own_data(send, receive)}, receive, count});
}

}  // namespace shim::coll
