// SPDX-License-Identifier: BSD-3-Clause
// Entry functions of collectives in which each member receives data from every member, and of
// neighborhood collectives (`exchange`).

#include "shim/coll/algorithms.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/direct.hpp"
#include "shim/coll/packed.hpp"
#include "shim/coll/shm_collective.hpp"

namespace shim::coll {
namespace {

Task allgather_packed(Call call, types::ConstBuffer send, types::Buffer receive) {
  std::uint64_t block = receive.bytes();
  std::uint64_t first = static_cast<std::uint64_t>(call.rank) * block;
  PackedBuffer all(call, *receive.type, receive.address,
                   receive.count * static_cast<std::uint64_t>(call.size));
  if (is_in_place(send))
    all.load(first, block);
  else
    co_await Call::copy_local(send, Call::buffer(all.bytes().subspan(first, block)));
  Task inner = choose(table().allgather, call, all.bytes().size())(call, all.data(), block);
  co_await inner;
  all.store();
}

/// For two members: send from the user's buffer, not from this member's new copy in the receive
/// buffer, because the other process would have to fetch that copy from this core's cache.
Task allgather_of_two(Call call, ConstBytes own, Bytes own_part, Bytes others) {
  const int other = 1 - call.rank;
  co_await call.post_receive(others, other);
  co_await call.post_send(own, other);
  copy_bytes(own.data(), own_part.data(), own.size());
  co_await call.done();
}

Task allgatherv_packed(Call call, types::ConstBuffer send, void* receive, Blocks blocks,
                       const types::Type* type) {
  PackedBlocks all(call, *type, receive, blocks);
  if (is_in_place(send))
    all.load(call.rank);
  else
    co_await Call::copy_local(send, Call::buffer(all.part(call.rank)));
  std::uint64_t bytes = 0;
  for (const BlockSpan& part : all.parts()) bytes += part.bytes;
  Task inner = choose(table().allgatherv, call, bytes)(call, all.data(), all.parts());
  co_await inner;
  all.store();
}

Task alltoall_packed(Call call, types::ConstBuffer send, types::Buffer receive) {
  auto size = static_cast<std::uint64_t>(call.size);
  PackedBuffer incoming(call, *receive.type, receive.address, receive.count * size);
  PackedBuffer outgoing(call, *send.type, const_cast<void*>(send.address), send.count * size);
  outgoing.load();
  Alltoall* algorithm = choose(table().alltoall, call, receive.bytes());
  Task inner = algorithm(call, outgoing.data(), incoming.data(), receive.bytes());
  co_await inner;
  incoming.store();
}

template <typename Buffer, typename Address>
ByRank<Buffer> list_of(const BlocksOf<Buffer, Address>& blocks, int size) {
  ByRank<Buffer> list;
  for (int rank = 0; rank < size; ++rank) list.push_back(blocks.at(rank));
  return list;
}

Task alltoall_replaced(Call call, types::Buffer data) {
  ByRank<types::Buffer> blocks = list_of(BlocksIn{data.address, data.type, nullptr, data.count},
                                         call.size);
  Task inner = alltoall_in_place(call, blocks);
  co_await inner;
}

Task alltoallv_replaced(Call call, void* data, Blocks blocks, const types::Type* type) {
  ByRank<types::Buffer> buffers = list_of(BlocksIn{data, type, &blocks}, call.size);
  Task inner = alltoall_in_place(call, buffers);
  co_await inner;
}

Task alltoall_by_rank(Call call, types::ConstBuffer send, types::Buffer receive) {
  ByRank<types::ConstBuffer> outgoing = list_of(
      BlocksOut{send.address, send.type, nullptr, send.count}, call.size);
  ByRank<types::Buffer> incoming = list_of(
      BlocksIn{receive.address, receive.type, nullptr, receive.count}, call.size);
  Task inner = alltoallw_linear(call, outgoing, incoming);
  co_await inner;
}

Task alltoallv_by_rank(Call call, const void* send, Blocks send_blocks,
                       const types::Type* send_type, void* receive, Blocks receive_blocks,
                       const types::Type* receive_type) {
  ByRank<types::ConstBuffer> outgoing = list_of(BlocksOut{send, send_type, &send_blocks},
                                                call.size);
  ByRank<types::Buffer> incoming = list_of(BlocksIn{receive, receive_type, &receive_blocks},
                                           call.size);
  Task inner = alltoallw_linear(call, outgoing, incoming);
  co_await inner;
}

}  // namespace

Task allgather(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive) {
  Call call = call_on(seq);
  const bool in_place = is_in_place(send);
  const BlocksIn blocks{receive.address, receive.type, nullptr, receive.count};
  if (auto done = try_shm_collective(seq, [&](ShmCollective& shm) {
        return shm_allgather(shm, seq, send, blocks, receive.bytes());
      }))
    return std::move(*done);
  if (may_run_directly(seq, table().direct.allgather,
                       receive.bytes() * static_cast<std::uint64_t>(call.size)))
    return directly(seq, [&](Direct& direct) { allgather_direct(direct, send, blocks); });
  const bool all_plain = is_plain(receive) && (in_place || is_plain(send));
  if (!all_plain || (!in_place && send.bytes() != receive.bytes()))
    return allgather_packed(call, send, receive);
  const std::uint64_t block = receive.bytes(), size = static_cast<std::uint64_t>(call.size);
  std::byte* all = plain(receive).data();
  const BlockLayout block_layout = BlockLayout::equal(block);
  if (call.size == 2 && !in_place)
    return allgather_of_two(call, plain(send), part_of(all, block_layout[call.rank]),
                            part_of(all, block_layout[1 - call.rank]));
  if (!in_place)
    copy_bytes(plain(send).data(), part_of(all, block_layout[call.rank]).data(), block);
  return choose(table().allgather, call, size * block)(call, all, block);
}

Task allgatherv(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                const Blocks& blocks, const types::Type& type) {
  Call call = call_on(seq);
  const bool in_place = is_in_place(send);
  const BlockLayout block_layout(blocks, type.size);
  auto* all = static_cast<std::byte*>(receive);
  const BlockSpan own = block_layout[call.rank];
  const auto items = static_cast<std::uint64_t>(blocks.counts.sum());
  const BlocksIn in{receive, &type, &blocks};
  if (auto done = try_shm_collective(seq, [&](ShmCollective& shm) {
        return shm_allgather(shm, seq, send, in, blocks.counts.largest() * type.size);
      }))
    return std::move(*done);
  if (may_run_directly(seq, table().direct.allgatherv, items * type.size))
    return directly(seq, [&](Direct& direct) { allgather_direct(direct, send, in); });
  if (!type.contiguous || (!in_place && (!is_plain(send) || send.bytes() != own.bytes)))
    return allgatherv_packed(call, send, receive, blocks, &type);
  if (call.size == 2 && !in_place)
    return allgather_of_two(call, plain(send), part_of(all, own),
                            part_of(all, block_layout[1 - call.rank]));
  if (!in_place) copy_bytes(plain(send).data(), part_of(all, own).data(), own.bytes);
  return choose(table().allgatherv, call, items * type.size)(call, all, block_layout);
}

Task alltoall(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive) {
  const BlocksIn in{receive.address, receive.type, nullptr, receive.count};
  const BlocksOut out = is_in_place(send)
                            ? BlocksOut{receive.address, receive.type, nullptr, receive.count}
                            : BlocksOut{send.address, send.type, nullptr, send.count};
  if (auto done = try_shm_collective(
          seq, [&](ShmCollective& shm) { return shm_alltoall(shm, seq, out, in); }))
    return std::move(*done);
  if (is_in_place(send)) return alltoall_replaced(call_on(seq), receive);
  if (may_run_directly(seq, table().direct.alltoall, receive.bytes()))
    return directly(seq, [&](Direct& direct) { alltoall_direct(direct, out, in); });
  if (send.bytes() != receive.bytes())
    return alltoall_by_rank(call_on(seq), send, receive);  // reports the mismatch
  if (!is_plain(send) || !is_plain(receive)) return alltoall_packed(call_on(seq), send, receive);
  Alltoall* algorithm = choose(table().alltoall, call_on(seq), receive.bytes());
  return algorithm(call_on(seq), plain(send).data(), plain(receive).data(), receive.bytes());
}

Task alltoallv(const CollSeq& seq, const void* send, const Blocks& send_blocks,
               const types::Type* send_type, void* receive, const Blocks& receive_blocks,
               const types::Type& receive_type) {
  if (send_type == nullptr)
    return alltoallv_replaced(call_on(seq), receive, receive_blocks, &receive_type);
  const BlocksOut out{send, send_type, &send_blocks};
  const BlocksIn in{receive, &receive_type, &receive_blocks};
  if (auto done = try_shm_collective(
          seq, [&](ShmCollective& shm) { return shm_alltoallv(shm, seq, out, in); }))
    return std::move(*done);
  const std::uint64_t bytes = std::max(send_blocks.counts.largest() * send_type->size,
                                       receive_blocks.counts.largest() * receive_type.size);
  if (may_run_directly(seq, table().direct.alltoallv, bytes))
    return directly(seq, [&](Direct& direct) { alltoall_direct(direct, out, in); });
  return alltoallv_by_rank(call_on(seq), send, send_blocks, send_type, receive, receive_blocks,
                           &receive_type);
}

Task alltoallw(const CollSeq& seq, std::span<const types::ConstBuffer> send,
               std::span<const types::Buffer> receive) {
  if (send.empty()) return alltoall_in_place(call_on(seq), receive);
  if (auto done = try_shm_collective(
          seq, [&](ShmCollective& shm) { return shm_alltoallw(shm, seq, send, receive); }))
    return std::move(*done);
  return alltoallw_linear(call_on(seq), send, receive);
}

Task exchange(const CollSeq& seq, std::span<const OutgoingBlock> out,
              std::span<const IncomingBlock> in) {
  if (auto done = try_shm_collective(
          seq, [&](ShmCollective& shm) { return shm_exchange(shm, seq, out, in); }))
    return std::move(*done);
  return exchange_linear(call_on(seq), out, in);
}

}  // namespace shim::coll
