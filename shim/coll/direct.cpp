// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/direct.hpp"

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
  alignas(std::max_align_t) std::array<std::byte, kMaxDirectBytes> few_;
  std::optional<ItemScratch> many_;
};

/// Return the rank `steps` ahead (behind if negative), with |steps| < size.
int rank_from(int rank, int steps, int size) {
  const int found = rank + steps;
  return found >= size ? found - size : found < 0 ? found + size : found;
}

}  // namespace

void Direct::send(const types::ConstBuffer& data, int dest) {
  if (data.bytes() == 0 || execution_.has_failed()) return;
  execution_.take(execution_.engine().send(*call.context, execution_.to_send(data), dest, call.tag,
                                           p2p::SendMode::standard, p2p::Plane::collective));
}

void Direct::receive(const types::Buffer& into, int source) {
  if (into.bytes() == 0 || execution_.has_failed()) return;
  execution_.take(
      execution_.engine().recv(*call.context, into, source, call.tag, p2p::Plane::collective),
      into.bytes());
}

void Direct::post_send(const types::ConstBuffer& data, int dest, Buffering keeps) {
  if (data.bytes() == 0 || execution_.has_failed()) return;
  const types::ConstBuffer sent = execution_.to_send(data);
  execution_.post(
      execution_.engine().send_or_start(*call.context, sent, dest, call.tag, p2p::Plane::collective,
                                        execution_.caller(), keeps == Buffering::copy),
      Requests::Direction::send, sent.bytes());
}

void Direct::post_receive(const types::Buffer& into, int source) {
  if (into.bytes() == 0 || execution_.has_failed()) return;
  execution_.post(execution_.engine().irecv(*call.context, into, source, call.tag,
                                            p2p::Plane::collective, execution_.caller()),
                  Requests::Direction::receive, into.bytes());
}

void Direct::refuse(int source) {
  if (execution_.has_failed()) return;
  execution_.post(execution_.engine().irecv(*call.context, Call::buffer(Bytes()), source, call.tag,
                                            p2p::Plane::collective),
                  Requests::Direction::receive, 0);
}

base::Status Direct::finish() {
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
  explicit BarrierTokens(Direct& direct)
      : direct_(direct), rank_(direct.call.rank), size_(direct.call.size) {}
  void send_ahead_distance(int ahead) {
    direct_.post_send(Call::buffer(ConstBytes(&out_, 1)), rank_from(rank_, ahead, size_));
  }
  void receive_behind_distance(int behind) {
    direct_.receive(Call::buffer(Bytes(&in_, 1)), rank_from(rank_, -behind, size_));
  }

 private:
  Direct& direct_;
  int rank_, size_;
  std::byte out_{}, in_{};
};

}  // namespace

// Barrier with messages from each member to each: one wait.
void barrier_linear_direct(Direct& direct) {
  BarrierTokens tokens(direct);
  for (int step = 1; step < direct.call.size; ++step) tokens.send_ahead_distance(step);
  for (int step = 1; step < direct.call.size; ++step) tokens.receive_behind_distance(step);
}

// Barrier by dissemination: in round k each member sends to the member 2^k ahead.
void barrier_direct(Direct& direct) {
  BarrierTokens tokens(direct);
  for (int distance = 1; distance < direct.call.size; distance *= 2) {
    tokens.send_ahead_distance(distance);
    tokens.receive_behind_distance(distance);
  }
}

// Broadcast down a binomial tree.
void bcast_direct(Direct& direct, const types::Buffer& data, int root) {
  const Tree tree(direct.call.rank, direct.call.size, root);
  if (!tree.is_root()) direct.receive(data, tree.rank_of(tree.parent()));
  for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
    const int child = tree.number + distance;
    if (child < tree.size) direct.send({data.address, data.count, data.type}, tree.rank_of(child));
  }
}

void gather_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all, int root) {
  if (direct.call.rank != root) return direct.send(own, root);
  if (!is_in_place(own)) direct.copy_local(own, all.at(root));
  for (int step = 1; step < direct.call.size; ++step) {
    const int source = rank_from(root, step, direct.call.size);
    direct.receive(all.at(source), source);
  }
}

// Gather up a binomial tree, with the blocks of a subtree in one message, so that no process
// receives from all others.
void gather_tree_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all,
                        int root) {
  const Tree tree(direct.call.rank, direct.call.size, root);
  const types::Buffer at_root = tree.is_root() ? all.at(root) : types::Buffer();
  const types::ConstBuffer mine = is_in_place(own) ? types::ConstBuffer{at_root.address,
                                                                        at_root.count, at_root.type}
                                                   : own;
  const std::uint64_t block = std::min(tree.is_root() ? at_root.bytes() : own.bytes(),
                                       kMaxDirectBytes);  // longer only if lengths differ
  std::array<std::byte, static_cast<std::size_t>(kMaxDirectProcesses) * kMaxDirectBytes> scratch;
  const auto blocks = [&](int first, int count) {
    return Bytes(scratch).subspan(static_cast<std::uint64_t>(first) * block,
                                  static_cast<std::uint64_t>(count) * block);
  };
  direct.copy_local(mine, Call::buffer(blocks(0, 1)));
  for (int distance = 1; distance < tree.reach() && tree.number + distance < tree.size;
       distance *= 2) {
    const int child = tree.number + distance;
    direct.receive(Call::buffer(blocks(distance, tree.subtree(child, distance))),
                   tree.rank_of(child));
  }
  if (!tree.is_root())
    return direct.send(Call::buffer(ConstBytes(blocks(0, tree.subtree()))),
                       tree.rank_of(tree.parent()));
  for (int i = is_in_place(own) ? 1 : 0; i < tree.size; ++i)
    direct.copy_local(Call::buffer(ConstBytes(blocks(i, 1))), all.at(tree.rank_of(i)));
}

void scatter_direct(Direct& direct, const BlocksOut& all, const types::Buffer& own, int root) {
  if (direct.call.rank != root) return direct.receive(own, root);
  for (int step = 1; step < direct.call.size; ++step) {
    const int dest = rank_from(root, step, direct.call.size);
    direct.send(all.at(dest), dest);
  }
  if (own.type != nullptr) direct.copy_local(all.at(root), own);
}

void allgather_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all) {
  const int rank = direct.call.rank, size = direct.call.size;
  const types::Buffer mine = all.at(rank);
  if (!is_in_place(own)) direct.copy_local(own, mine);
  for (int step = 1; step < size; ++step)
    direct.post_send({mine.address, mine.count, mine.type}, rank_from(rank, step, size));
  for (int step = 1; step < size; ++step)
    direct.receive(all.at(rank_from(rank, -step, size)), rank_from(rank, -step, size));
}

// Start all sends first, so that no two members wait for each other.
void alltoall_direct(Direct& direct, const BlocksOut& out, const BlocksIn& in) {
  const int rank = direct.call.rank, size = direct.call.size;
  for (int step = 1; step < size; ++step)
    direct.post_send(out.at(rank_from(rank, step, size)), rank_from(rank, step, size));
  direct.copy_local(out.at(rank), in.at(rank));
  for (int step = 1; step < size; ++step)
    direct.receive(in.at(rank_from(rank, -step, size)), rank_from(rank, -step, size));
}

// Reduce up a binomial tree. If the operation does not commute, the tree's root is rank 0, which
// sends the result to the collective's root.
void reduce_direct(Direct& direct, const Operands& operands, const void* own, void* result,
                   int root) {
  const Tree tree(direct.call.rank, direct.call.size, operands.op->commutative ? root : 0);
  ReductionBuffer even(direct.call, operands), odd(direct.call, operands);
  void* scratches[] = {even.data(), odd.data()};
  const void* value = own;
  for (int distance = 1; distance < tree.reach() && tree.number + distance < tree.size;
       distance *= 2) {
    direct.receive(operands.all(scratches[0]), tree.rank_of(tree.number + distance));
    direct.combine(operands, value, scratches[0]);
    value = scratches[0];
    std::swap(scratches[0], scratches[1]);
  }
  if (!tree.is_root()) direct.send(operands.all(value), tree.rank_of(tree.parent()));
  if (tree.is_root() && direct.call.rank == root)
    copy_items(operands, value, result);
  else if (tree.is_root())
    direct.send(operands.all(value), root);
  else if (direct.call.rank == root)
    direct.receive(operands.all(result), tree.rank_of(0));
}

// Allreduce by recursive doubling, lower ranks' data first.
void allreduce_direct(Direct& direct, const Operands& operands, const void* own, void* result) {
  ReductionBuffer scratch(direct.call, operands);
  Accumulator accumulator{result, scratch.data()};
  copy_items(operands, own, result);
  for (int distance = 1; distance < direct.call.size; distance *= 2) {
    const int partner = direct.call.rank ^ distance;
    direct.post_send(operands.all(static_cast<const void*>(accumulator.value)), partner);
    direct.receive(operands.all(accumulator.spare), partner);
    if (partner < direct.call.rank) {
      direct.combine(operands, accumulator.spare, accumulator.value);
    } else {
      direct.combine(operands, accumulator.value, accumulator.spare);
      std::swap(accumulator.value, accumulator.spare);
    }
  }
  copy_items(operands, accumulator.value, result);
}

void reduce_scatter_direct(Direct& direct, const Operands& operands, const void* own, void* result,
                           const Integers& counts) {
  const int rank = direct.call.rank, other = 1 - rank;
  const auto first = [&](int of) { return of == 0 ? 0 : static_cast<std::uint64_t>(counts[0]); };
  const Operands mine{operands.type, operands.op,
                      static_cast<std::uint64_t>(counts[static_cast<std::size_t>(rank)])};
  ReductionBuffer received(direct.call, mine);
  direct.post_send(operands.part(own, first(other), operands.count - mine.count), other);
  direct.receive(mine.all(received.data()), other);
  const void* own_part = operands.at(own, first(rank));
  if (rank == 0) {
    direct.combine(mine, own_part, received.data());
    return copy_items(mine, received.data(), result);
  }
  ReductionBuffer value(direct.call, mine);  // in place, own_part may overlap the result
  copy_items(mine, own_part, value.data());
  direct.combine(mine, received.data(), value.data());
  copy_items(mine, value.data(), result);
}

void scan_direct(Direct& direct, const Operands& operands, const void* own, void* result) {
  copy_items(operands, own, result);
  if (direct.call.rank > 0) {
    ReductionBuffer scratch(direct.call, operands);
    direct.receive(operands.all(scratch.data()), direct.call.rank - 1);
    direct.combine(operands, scratch.data(), result);
  }
  if (direct.call.rank + 1 < direct.call.size)
    direct.send(operands.all(static_cast<const void*>(result)), direct.call.rank + 1);
}

void exscan_direct(Direct& direct, const Operands& operands, const void* own, void* result) {
  const bool has_upper = direct.call.rank + 1 < direct.call.size;
  if (direct.call.rank == 0) {  // exscan leaves rank 0's result unchanged
    if (has_upper) direct.send(operands.all(own), 1);
    return;
  }
  // copy the local data before receiving, because `result` may overlap it
  ReductionBuffer passed_on(direct.call, operands);
  if (has_upper) copy_items(operands, own, passed_on.data());
  direct.receive(operands.all(result), direct.call.rank - 1);
  if (!has_upper) return;
  direct.combine(operands, result, passed_on.data());
  direct.send(operands.all(static_cast<const void*>(passed_on.data())), direct.call.rank + 1);
}

}  // namespace shim::coll
