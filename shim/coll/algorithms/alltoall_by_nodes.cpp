// SPDX-License-Identifier: BSD-3-Clause
// All-to-all on several nodes with consecutive ranks each, for short blocks.
// Each node leader gathers the blocks that its node's members send, exchanges one message with
// every other leader, and scatters the blocks that the members receive. Each block is copied five
// times; a node leader needs memory for three copies of its node's data.
#include "shim/base/copy.hpp"
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {
namespace {

/// Table of blocks with one row per member of the local node. A row has a block for, and later
/// from, each rank of the communicator.
class Rows {
 public:
  Rows(const NodeCalls& calls, int size, std::uint64_t block)
      : calls_(calls), size_(static_cast<std::uint64_t>(size)), block_(block) {}

  std::uint64_t row_bytes() const { return size_ * block_; }
  std::uint64_t bytes() const { return rows() * row_bytes(); }
  /// Return the position and length of the message exchanged with a node, in a buffer for all
  /// nodes.
  BlockSpan exchanged(int node) const {
    const BlockSpan part = calls_.part(node, block_);
    return {part.offset * static_cast<std::int64_t>(rows()), part.bytes * rows()};
  }
  /// Copy the blocks for that node's members from all rows to the message for that node.
  void collect_for(int node, const std::byte* all_rows, std::byte* message) const {
    for (int to = calls_.nodes.first(node); to < calls_.nodes.first(node + 1); ++to)
      for (std::uint64_t row = 0; row < rows(); ++row, message += block_)
        base::copy_long(message,
                        all_rows + row * row_bytes() + static_cast<std::uint64_t>(to) * block_,
                        block_);
  }
  /// Copy the blocks from the message of that node to the rows of their receivers.
  void place_from(int node, const std::byte* message, std::byte* all_rows) const {
    const BlockSpan part = calls_.part(node, block_);
    for (std::uint64_t row = 0; row < rows(); ++row, message += part.bytes)
      base::copy_long(all_rows + row * row_bytes() + part.offset, message, part.bytes);
  }

 private:
  std::uint64_t rows() const { return static_cast<std::uint64_t>(calls_.within.size); }

  const NodeCalls& calls_;
  std::uint64_t size_, block_;
};

/// Exchange a message with each other node; in each step send one and receive one.
Task exchange_with_nodes(const Call call, const Rows rows, const std::byte* out, std::byte* in) {
  for (int step = 1; step < call.size; ++step) {
    const int to = (call.rank + step) % call.size,
              from = (call.rank - step + call.size) % call.size;
    co_await call.exchange(part_of(out, rows.exchanged(to)), to, part_of(in, rows.exchanged(from)),
                           from);
  }
}

}  // namespace

Task alltoall_by_nodes(Call call, const std::byte* send, std::byte* receive, std::uint64_t block) {
  const NodeCalls calls(call);
  const Rows rows(calls, call.size, block);
  const std::uint64_t space_bytes = calls.is_node_leader() ? rows.bytes() : 0;
  const Scratch all_rows(call, space_bytes), messages(call, space_bytes),
      answers(call, space_bytes);
  std::byte* const mine = calls.is_node_leader() ? all_rows.data() : nullptr;
  const std::uint64_t row = rows.row_bytes();

  Task in = select_task(&AlgorithmTable::gather, calls.within, row)(
      calls.within, ConstBytes(send, row), mine, calls.node_leader);
  co_await in;
  if (calls.is_node_leader() && block > 0) {
    const int own = calls.nodes.own();
    for (int node = 0; node < calls.nodes.count(); ++node)
      rows.collect_for(node, mine, messages.data() + rows.exchanged(node).offset);
    Task across = exchange_with_nodes(calls.between, rows, messages.data(), answers.data());
    co_await across;
    for (int node = 0; node < calls.nodes.count(); ++node) {
      const std::byte* from = node == own ? messages.data() : answers.data();
      rows.place_from(node, from + rows.exchanged(node).offset, mine);
    }
  }
  Task out = select_task(&AlgorithmTable::scatter, calls.within, row)(
      calls.within, mine, Bytes(receive, row), calls.node_leader);
  co_await out;
}

}  // namespace shim::coll
