// SPDX-License-Identifier: BSD-3-Clause
// Entries of the collectives in which everyone gets data from everyone.
#include <algorithm>
#include <vector>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/packed.hpp"

namespace shim::coll {
namespace {

// Our own block goes to its place in the data of all.
void place_own(types::ConstBuffer send, Bytes place) {
  Packed own(send);
  own.load();
  copy_bytes(own.data(), place.data(), std::min(own.bytes().size(), place.size()));
}

Task allgather_packed(Call call, types::ConstBuffer send, types::Buffer receive) {
  std::uint64_t block = receive.bytes();
  std::uint64_t first = static_cast<std::uint64_t>(call.rank) * block;
  Packed all(*receive.type, receive.address, receive.count * static_cast<std::uint64_t>(call.size));
  if (is_in_place(send)) all.load(first, block);
  else place_own(send, all.bytes().subspan(first, block));
  Task inner = choose(table().allgather, call.size, all.bytes().size())(call, all.data(), block);
  co_await inner;
  all.store();
}

Task allgatherv_packed(Call call, types::ConstBuffer send, void* receive, Blocks blocks, const types::Type* type) {
  PackedBlocks all(*type, receive, blocks);
  if (is_in_place(send)) all.load(call.rank);
  else place_own(send, all.part(call.rank));
  Task inner = allgatherv_ring(call, all.data(), all.parts());
  co_await inner;
  all.store();
}

Task alltoall_packed(Call call, types::ConstBuffer send, types::Buffer receive) {
  auto size = static_cast<std::uint64_t>(call.size);
  Packed incoming(*receive.type, receive.address, receive.count * size);
  if (is_in_place(send)) {
    incoming.load();
    std::vector<Part> parts = equal_parts(call.size, receive.bytes());
    Task inner = alltoall_in_place(call, incoming.data(), parts);
    co_await inner;
  } else {
    Packed outgoing(*send.type, const_cast<void*>(send.address), send.count * size);
    outgoing.load();
    Alltoall* algorithm = choose(table().alltoall, call.size, receive.bytes());
    Task inner = algorithm(call, outgoing.data(), incoming.data(), receive.bytes());
    co_await inner;
  }
  incoming.store();
}

Task alltoallv_packed(Call call, const void* send, Blocks send_blocks, const types::Type* send_type, void* receive,
                      Blocks receive_blocks, const types::Type* receive_type) {
  PackedBlocks incoming(*receive_type, receive, receive_blocks);
  if (send_type == nullptr) {
    incoming.load();
    Task inner = alltoall_in_place(call, incoming.data(), incoming.parts());
    co_await inner;
  } else {
    PackedBlocks outgoing(*send_type, const_cast<void*>(send), send_blocks);
    outgoing.load();
    Task inner = alltoallv_linear(call, outgoing.data(), outgoing.parts(), incoming.data(), incoming.parts());
    co_await inner;
  }
  incoming.store();
}

}  // namespace

Task allgather(Turn turn, types::ConstBuffer send, types::Buffer receive) {
  return allgather_packed(call_on(turn), send, receive);
}

Task allgatherv(Turn turn, types::ConstBuffer send, void* receive, Blocks blocks, const types::Type& type) {
  return allgatherv_packed(call_on(turn), send, receive, blocks, &type);
}

Task alltoall(Turn turn, types::ConstBuffer send, types::Buffer receive) {
  return alltoall_packed(call_on(turn), send, receive);
}

Task alltoallv(Turn turn, const void* send, Blocks send_blocks, const types::Type* send_type, void* receive,
               Blocks receive_blocks, const types::Type& receive_type) {
  return alltoallv_packed(call_on(turn), send, send_blocks, send_type, receive, receive_blocks, &receive_type);
}

}  // namespace shim::coll
