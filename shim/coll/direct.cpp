// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/direct.hpp"

#include <array>
#include <optional>

#include "shim/coll/algorithms/tree.hpp"

namespace shim::coll {
namespace {

/// Room for the items of a reduction, most often without memory of its own.
class Room {
 public:
  Room(const Call& call, const Operands& operands) {
    if (!operands.type->contiguous || operands.bytes() > few_.size()) many_.emplace(call, operands);
  }
  void* data() { return many_ ? many_->data() : few_.data(); }

 private:
  alignas(std::max_align_t) std::array<std::byte, 256> few_;
  std::optional<ItemRoom> many_;
};

}  // namespace

void Direct::send(const types::ConstBuffer& data, int dest) {
  if (data.bytes() == 0 || execution_.has_failed()) return;
  execution_.take(execution_.engine().send(*call.context, execution_.to_send(data), dest, call.tag, p2p::Mode::standard,
                                           p2p::Plane::collective));
}

void Direct::receive(const types::Buffer& into, int source) {
  if (into.bytes() == 0 || execution_.has_failed()) return;
  execution_.take(execution_.engine().recv(*call.context, into, source, call.tag, p2p::Plane::collective), into.bytes());
}

void Direct::exchange(const types::ConstBuffer& out, int dest, const types::Buffer& in, int source) {
  if (out.bytes() == 0 || execution_.has_failed()) return receive(in, source);
  p2p::Engine& engine = execution_.engine();
  auto sent = engine.send_or_start(*call.context, execution_.to_send(out), dest, call.tag, p2p::Plane::collective);
  if (!sent) return execution_.fail(std::move(sent).error());
  receive(in, source);
  if (*sent == nullptr) return;
  if (!execution_.has_failed()) {
    execution_.take(engine.wait(**sent));
    if (const base::Error* error = (*sent)->error()) execution_.fail(error->clone());
  }
  p2p::Engine::release(*sent);  // after a failure it finishes by itself
}

void Direct::place(const types::ConstBuffer& from, const types::Buffer& to) { execution_.place(from, to); }

void Direct::combine(const Operands& operands, const void* in, void* inout) {
  if (execution_.has_failed()) return;
  execution_.take(types::reduce(*operands.op, *operands.type, in, inout, operands.count));
}

// By dissemination: in round k everyone tells the process 2^k ahead.
void barrier_direct(Direct& direct) {
  const auto& [rank, size] = std::pair(direct.call.rank, direct.call.size);
  static constexpr std::byte kOut{};  // may be on its way after a failure
  std::byte in{};
  for (int distance = 1; distance < size; distance *= 2)
    direct.exchange(Call::buffer(ConstBytes(&kOut, 1)), (rank + distance) % size, Call::buffer(Bytes(&in, 1)), (rank - distance + size) % size);
}

// Down a binomial tree.
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
  if (!is_in_place(own)) direct.place(own, all.at(root));
  for (int step = 1; step < direct.call.size; ++step) {
    const int source = (root + step) % direct.call.size;
    direct.receive(all.at(source), source);
  }
}

void scatter_direct(Direct& direct, const BlocksOut& all, const types::Buffer& own, int root) {
  if (direct.call.rank != root) return direct.receive(own, root);
  for (int step = 1; step < direct.call.size; ++step) {
    const int dest = (root + step) % direct.call.size;
    direct.send(all.at(dest), dest);
  }
  if (own.type != nullptr) direct.place(all.at(root), own);
}

void alltoall_direct(Direct& direct, const BlocksOut& out, const BlocksIn& in) {
  const auto& [rank, size] = std::pair(direct.call.rank, direct.call.size);
  direct.place(out.at(rank), in.at(rank));
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank - step + size) % size;
    direct.exchange(out.at(to), to, in.at(from), from);
  }
}

// The root combines all in the order of ranks, from the last one on, whose data the result begins as.
void reduce_direct(Direct& direct, const Operands& operands, const void* own, void* result, int root) {
  if (direct.call.rank != root) return direct.send(operands.all(own), root);
  Room room(direct.call, operands);
  std::optional<Room> own_copy;
  if (own == result) {
    own_copy.emplace(direct.call, operands);
    copy_items(operands, own, own_copy->data());
    own = own_copy->data();
  }
  const int last = direct.call.size - 1;
  for (int rank = last; rank >= 0; --rank) {
    void* into = rank == last ? result : room.data();
    if (rank != root) direct.receive(operands.all(into), rank);
    else if (rank == last) copy_items(operands, own, result);
    if (rank != last) direct.combine(operands, rank == root ? own : into, result);
  }
}

void scan_direct(Direct& direct, const Operands& operands, const void* own, void* result) {
  copy_items(operands, own, result);
  if (direct.call.rank > 0) {
    Room room(direct.call, operands);
    direct.receive(operands.all(room.data()), direct.call.rank - 1);
    direct.combine(operands, room.data(), result);
  }
  if (direct.call.rank + 1 < direct.call.size) direct.send(operands.all(static_cast<const void*>(result)), direct.call.rank + 1);
}

void exscan_direct(Direct& direct, const Operands& operands, const void* own, void* result) {
  const bool has_upper = direct.call.rank + 1 < direct.call.size;
  if (direct.call.rank == 0) {  // whose result is not written to
    if (has_upper) direct.send(operands.all(own), 1);
    return;
  }
  Room passed_on(direct.call, operands);  // our own is copied there before anything comes to where it may lie
  if (has_upper) copy_items(operands, own, passed_on.data());
  direct.receive(operands.all(result), direct.call.rank - 1);
  if (!has_upper) return;
  direct.combine(operands, result, passed_on.data());
  direct.send(operands.all(static_cast<const void*>(passed_on.data())), direct.call.rank + 1);
}

}  // namespace shim::coll
