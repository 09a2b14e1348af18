// SPDX-License-Identifier: BSD-3-Clause
// All-to-all of several nodes, which are in order: what a node's members send lies with its speaker, speakers exchange one message with
// each other, and what a member gets comes to it as one row. For short blocks: each is moved five times, and a speaker has room
// for its node's data three times.
#include "shim/base/copy.hpp"
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {
namespace {

/// Rows of blocks of all members, one row for each member of the own node.
class Rows {
 public:
  Rows(const NodeCalls& calls, int size, std::uint64_t block) : calls_(calls), size_(static_cast<std::uint64_t>(size)), block_(block) {}

  std::uint64_t row_bytes() const { return size_ * block_; }
  std::uint64_t bytes() const { return rows() * row_bytes(); }
  /// What is exchanged with a node, as part of a table that is as long as all rows.
  Part exchanged(int node) const {
    const Part part = calls_.part(node, block_);
    return {part.offset * static_cast<std::int64_t>(rows()), part.bytes * rows()};
  }
  /// For each member of that node the blocks of our members, which stand in their rows.
  void collect_for(int node, const std::byte* all_rows, std::byte* message) const {
    for (int to = calls_.nodes.first(node); to < calls_.nodes.first(node + 1); ++to)
      for (std::uint64_t row = 0; row < rows(); ++row, message += block_)
        base::copy_long(message, all_rows + row * row_bytes() + static_cast<std::uint64_t>(to) * block_, block_);
  }
  /// What has come from that node: for each of our members the blocks of theirs, to their places in its row.
  void place_from(int node, const std::byte* message, std::byte* all_rows) const {
    const Part part = calls_.part(node, block_);
    for (std::uint64_t row = 0; row < rows(); ++row, message += part.bytes)
      base::copy_long(all_rows + row * row_bytes() + part.offset, message, part.bytes);
  }

 private:
  std::uint64_t rows() const { return static_cast<std::uint64_t>(calls_.within.size); }

  const NodeCalls& calls_;
  std::uint64_t size_, block_;
};

/// Messages from and to every other node, those of one step in flight together.
Task exchange_with_nodes(const Call call, const Rows rows, const std::byte* out, std::byte* in) {
  for (int step = 1; step < call.size; ++step) {
    const int to = (call.rank + step) % call.size, from = (call.rank - step + call.size) % call.size;
    co_await call.exchange(part_of(out, rows.exchanged(to)), to, part_of(in, rows.exchanged(from)), from);
  }
}

}  // namespace

Task alltoall_by_nodes(Call call, const std::byte* send, std::byte* receive, std::uint64_t block) {
  const NodeCalls calls(call);
  const Rows rows(calls, call.size, block);
  const std::uint64_t room_bytes = calls.is_speaker() ? rows.bytes() : 0;
  const Scratch all_rows(call, room_bytes), messages(call, room_bytes), answers(call, room_bytes);
  std::byte* const mine = calls.is_speaker() ? all_rows.data() : nullptr;
  const std::uint64_t row = rows.row_bytes();

  Task in = choose(table().gather, calls.within, row)(calls.within, ConstBytes(send, row), mine, calls.speaker);
  co_await in;
  if (calls.is_speaker() && block > 0) {
    const int own = calls.nodes.own();
    for (int node = 0; node < calls.nodes.count(); ++node) rows.collect_for(node, mine, messages.data() + rows.exchanged(node).offset);
    Task across = exchange_with_nodes(calls.between, rows, messages.data(), answers.data());
    co_await across;
    for (int node = 0; node < calls.nodes.count(); ++node) {
      const std::byte* from = node == own ? messages.data() : answers.data();
      rows.place_from(node, from + rows.exchanged(node).offset, mine);
    }
  }
  Task out = choose(table().scatter, calls.within, row)(calls.within, mine, Bytes(receive, row), calls.speaker);
  co_await out;
}

}  // namespace shim::coll
