// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/inline_collective.hpp"

#include <array>
#include <optional>

#include "shim/coll/algorithms/tree.hpp"

namespace shim::coll {
namespace {

/// Memory for the items of a reduction, inside the object if they are short and contiguous.
class ReductionBuffer {
 public:
  ReductionBuffer(const Call& call, const Operands& operands) {
    if (!operands.type->contiguous || operands.bytes() > few_.size()) many_.emplace(call, operands);
  }
  void* data() { return many_ ? many_->data() : few_.data(); }

 private:
  alignas(std::max_align_t) std::array<std::byte, kMaxInlineBytes> few_;
  std::optional<ItemScratch> many_;
};

/// Return the rank `steps` ahead (behind if negative), with |steps| < size.
int rank_from(int rank, int steps, int size) {
  const int found = rank + steps;
  return found >= size ? found - size : found < 0 ? found + size : found;
}

}  // namespace

void InlineCollective::send(const types::ConstBuffer& data, int dest) {
  if (data.bytes() == 0 || execution_.has_failed()) return;
  execution_.take(execution_.engine().send(*call.context, execution_.to_send(data), dest, call.tag,
                                           p2p::SendMode::standard, p2p::Plane::collective));
}

void InlineCollective::receive(const types::Buffer& into, int source) {
  if (into.bytes() == 0 || execution_.has_failed()) return;
  execution_.take(
      execution_.engine().recv(*call.context, into, source, call.tag, p2p::Plane::collective),
      into.bytes());
}

void InlineCollective::post_send(const types::ConstBuffer& data, int dest, Buffering keeps) {
  if (data.bytes() == 0 || execution_.has_failed()) return;
  const types::ConstBuffer sent = execution_.to_send(data);
  execution_.post(
      execution_.engine().send_or_start(*call.context, sent, dest, call.tag, p2p::Plane::collective,
                                        execution_.caller(), keeps == Buffering::copy),
      Requests::Direction::send, sent.bytes());
}

void InlineCollective::post_receive(const types::Buffer& into, int source) {
  if (into.bytes() == 0 || execution_.has_failed()) return;
  execution_.post(execution_.engine().irecv(*call.context, into, source, call.tag,
                                            p2p::Plane::collective, execution_.caller()),
                  Requests::Direction::receive, into.bytes());
}

void InlineCollective::refuse(int source) {
  if (execution_.has_failed()) return;
  execution_.post(execution_.engine().irecv(*call.context, Call::buffer(Bytes()), source, call.tag,
                                            p2p::Plane::collective),
                  Requests::Direction::receive, 0);
}

base::Status InlineCollective::finish() {
  if (!execution_.has_settled() && !execution_.has_failed()) {
    CollectiveSubject subject(*call.context, execution_);
    SHIM_TRY(execution_.engine().wait_until([this] { return execution_.has_settled(); }, subject));
  }
  return execution_.take_result();
}

namespace {

/// Messages of a barrier, one byte each because messages of 0 bytes are not sent. Ahead are higher
/// ranks, behind lower ranks, both modulo the size.
class BarrierTokens {
 public:
  explicit BarrierTokens(InlineCollective& collective)
      : collective_(collective), rank_(collective.call.rank), size_(collective.call.size) {}
  void send_ahead_distance(int ahead) {
    collective_.post_send(Call::buffer(ConstBytes(&out_, 1)), rank_from(rank_, ahead, size_));
  }
  void receive_behind_distance(int behind) {
    collective_.receive(Call::buffer(Bytes(&in_, 1)), rank_from(rank_, -behind, size_));
  }

 private:
  InlineCollective& collective_;
  int rank_, size_;
  std::byte out_{}, in_{};
};

}  // namespace

// Barrier with messages from each member to each: one wait.
void barrier_linear_inline(InlineCollective& collective) {
  BarrierTokens tokens(collective);
  for (int step = 1; step < collective.call.size; ++step) tokens.send_ahead_distance(step);
  for (int step = 1; step < collective.call.size; ++step) tokens.receive_behind_distance(step);
}

// Barrier by dissemination: in round k each member sends to the member 2^k ahead.
void barrier_inline(InlineCollective& collective) {
  BarrierTokens tokens(collective);
  for (int distance = 1; distance < collective.call.size; distance *= 2) {
    tokens.send_ahead_distance(distance);
    tokens.receive_behind_distance(distance);
  }
}

// Broadcast down a binomial tree.
void bcast_inline(InlineCollective& collective, const types::Buffer& data, int root) {
  const Tree tree(collective.call.rank, collective.call.size, root);
  if (!tree.is_root()) collective.receive(data, tree.rank_of(tree.parent()));
  for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
    const int child = tree.number + distance;
    if (child < tree.size)
      collective.send({data.address, data.count, data.type}, tree.rank_of(child));
  }
}

void gather_inline(InlineCollective& collective, const types::ConstBuffer& own, const BlocksIn& all,
                   int root) {
  if (collective.call.rank != root) return collective.send(own, root);
  if (!is_in_place(own)) collective.copy_local(own, all.at(root));
  for (int step = 1; step < collective.call.size; ++step) {
    const int source = rank_from(root, step, collective.call.size);
    collective.receive(all.at(source), source);
  }
}

// Gather up a binomial tree, with the blocks of a subtree in one message, so that no process
// receives from all others.
void gather_tree_inline(InlineCollective& collective, const types::ConstBuffer& own,
                        const BlocksIn& all, int root) {
  const Tree tree(collective.call.rank, collective.call.size, root);
  const types::Buffer at_root = tree.is_root() ? all.at(root) : types::Buffer();
  const types::ConstBuffer mine = is_in_place(own) ? types::ConstBuffer{at_root.address,
                                                                        at_root.count, at_root.type}
                                                   : own;
  const std::uint64_t block = std::min(tree.is_root() ? at_root.bytes() : own.bytes(),
                                       kMaxInlineBytes);  // longer only if lengths differ
  std::array<std::byte, static_cast<std::size_t>(kMaxInlineProcesses) * kMaxInlineBytes> scratch;
  const auto blocks = [&](int first, int count) {
    return Bytes(scratch).subspan(static_cast<std::uint64_t>(first) * block,
                                  static_cast<std::uint64_t>(count) * block);
  };
  collective.copy_local(mine, Call::buffer(blocks(0, 1)));
  for (int distance = 1; distance < tree.reach() && tree.number + distance < tree.size;
       distance *= 2) {
    const int child = tree.number + distance;
    collective.receive(Call::buffer(blocks(distance, tree.subtree(child, distance))),
                       tree.rank_of(child));
  }
  if (!tree.is_root())
    return collective.send(Call::buffer(ConstBytes(blocks(0, tree.subtree()))),
                           tree.rank_of(tree.parent()));
  for (int i = is_in_place(own) ? 1 : 0; i < tree.size; ++i)
    collective.copy_local(Call::buffer(ConstBytes(blocks(i, 1))), all.at(tree.rank_of(i)));
}

void scatter_inline(InlineCollective& collective, const BlocksOut& all, const types::Buffer& own,
                    int root) {
  if (collective.call.rank != root) return collective.receive(own, root);
  for (int step = 1; step < collective.call.size; ++step) {
    const int dest = rank_from(root, step, collective.call.size);
    collective.send(all.at(dest), dest);
  }
  if (own.type != nullptr) collective.copy_local(all.at(root), own);
}

void allgather_inline(InlineCollective& collective, const types::ConstBuffer& own,
                      const BlocksIn& all) {
  const int rank = collective.call.rank, size = collective.call.size;
  const types::Buffer mine = all.at(rank);
  if (!is_in_place(own)) collective.copy_local(own, mine);
  for (int step = 1; step < size; ++step)
    collective.post_send({mine.address, mine.count, mine.type}, rank_from(rank, step, size));
  for (int step = 1; step < size; ++step)
    collective.receive(all.at(rank_from(rank, -step, size)), rank_from(rank, -step, size));
}

// Start all sends first, so that no two members wait for each other.
void alltoall_inline(InlineCollective& collective, const BlocksOut& out, const BlocksIn& in) {
  const int rank = collective.call.rank, size = collective.call.size;
  for (int step = 1; step < size; ++step)
    collective.post_send(out.at(rank_from(rank, step, size)), rank_from(rank, step, size));
  collective.copy_local(out.at(rank), in.at(rank));
  for (int step = 1; step < size; ++step)
    collective.receive(in.at(rank_from(rank, -step, size)), rank_from(rank, -step, size));
}

// Reduce up a binomial tree. If the operation does not commute, the tree's root is rank 0, which
// sends the result to the collective's root.
void reduce_inline(InlineCollective& collective, const Operands& operands, const void* own,
                   void* result, int root) {
  const Tree tree(collective.call.rank, collective.call.size, operands.op->commutative ? root : 0);
  ReductionBuffer even(collective.call, operands), odd(collective.call, operands);
  void* scratches[] = {even.data(), odd.data()};
  const void* value = own;
  for (int distance = 1; distance < tree.reach() && tree.number + distance < tree.size;
       distance *= 2) {
    collective.receive(operands.all(scratches[0]), tree.rank_of(tree.number + distance));
    collective.combine(operands, value, scratches[0]);
    value = scratches[0];
    std::swap(scratches[0], scratches[1]);
  }
  if (!tree.is_root()) collective.send(operands.all(value), tree.rank_of(tree.parent()));
  if (tree.is_root() && collective.call.rank == root)
    copy_items(operands, value, result);
  else if (tree.is_root())
    collective.send(operands.all(value), root);
  else if (collective.call.rank == root)
    collective.receive(operands.all(result), tree.rank_of(0));
}

// Allreduce by recursive doubling, lower ranks' data first.
void allreduce_inline(InlineCollective& collective, const Operands& operands, const void* own,
                      void* result) {
  ReductionBuffer scratch(collective.call, operands);
  Accumulator accumulator{result, scratch.data()};
  copy_items(operands, own, result);
  for (int distance = 1; distance < collective.call.size; distance *= 2) {
    const int partner = collective.call.rank ^ distance;
    collective.post_send(operands.all(static_cast<const void*>(accumulator.value)), partner);
    collective.receive(operands.all(accumulator.spare), partner);
    if (partner < collective.call.rank) {
      collective.combine(operands, accumulator.spare, accumulator.value);
    } else {
      collective.combine(operands, accumulator.value, accumulator.spare);
      std::swap(accumulator.value, accumulator.spare);
    }
  }
  copy_items(operands, accumulator.value, result);
}

void reduce_scatter_inline(InlineCollective& collective, const Operands& operands, const void* own,
                           void* result, const Integers& counts) {
  const int rank = collective.call.rank, other = 1 - rank;
  const auto first = [&](int of) { return of == 0 ? 0 : static_cast<std::uint64_t>(counts[0]); };
  const Operands mine{operands.type, operands.op,
                      static_cast<std::uint64_t>(counts[static_cast<std::size_t>(rank)])};
  ReductionBuffer received(collective.call, mine);
  collective.post_send(operands.part(own, first(other), operands.count - mine.count), other);
  collective.receive(mine.all(received.data()), other);
  const void* own_part = operands.at(own, first(rank));
  if (rank == 0) {
    collective.combine(mine, own_part, received.data());
    return copy_items(mine, received.data(), result);
  }
  ReductionBuffer value(collective.call, mine);  // in place, own_part may overlap the result
  copy_items(mine, own_part, value.data());
  collective.combine(mine, received.data(), value.data());
  copy_items(mine, value.data(), result);
}

void scan_inline(InlineCollective& collective, const Operands& operands, const void* own,
                 void* result) {
  copy_items(operands, own, result);
  if (collective.call.rank > 0) {
    ReductionBuffer scratch(collective.call, operands);
    collective.receive(operands.all(scratch.data()), collective.call.rank - 1);
    collective.combine(operands, scratch.data(), result);
  }
  if (collective.call.rank + 1 < collective.call.size)
    collective.send(operands.all(static_cast<const void*>(result)), collective.call.rank + 1);
}

void exscan_inline(InlineCollective& collective, const Operands& operands, const void* own,
                   void* result) {
  const bool has_upper = collective.call.rank + 1 < collective.call.size;
  if (collective.call.rank == 0) {  // exscan leaves rank 0's result unchanged
    if (has_upper) collective.send(operands.all(own), 1);
    return;
  }
  // copy the local data before receiving, because `result` may overlap it
  ReductionBuffer passed_on(collective.call, operands);
  if (has_upper) copy_items(operands, own, passed_on.data());
  collective.receive(operands.all(result), collective.call.rank - 1);
  if (!has_upper) return;
  collective.combine(operands, result, passed_on.data());
  collective.send(operands.all(static_cast<const void*>(passed_on.data())),
                  collective.call.rank + 1);
}

}  // namespace shim::coll
