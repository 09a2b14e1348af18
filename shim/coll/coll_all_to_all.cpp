// SPDX-License-Identifier: BSD-3-Clause
// Entry functions of collectives in which each member receives data from every member, and of
// neighborhood collectives (`exchange`). Each states its arguments, and how the three kinds of
// algorithm use them; the table selects.
#include "shim/coll/coll.hpp"
#include "shim/coll/packed.hpp"
#include "shim/coll/selector.hpp"

namespace shim::coll {
namespace {

Task allgather_packed(Call call, Allgather* algorithm, types::ConstBuffer send,
                      types::Buffer receive) {
  std::uint64_t block = receive.bytes();
  std::uint64_t first = static_cast<std::uint64_t>(call.rank) * block;
  PackedBuffer all(call, *receive.type, receive.address,
                   receive.count * static_cast<std::uint64_t>(call.size));
  if (is_in_place(send))
    all.load(first, block);
  else
    co_await Call::copy_local(send, Call::buffer(all.bytes().subspan(first, block)));
  Task inner = algorithm(call, all.data(), block);
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

Task allgatherv_packed(Call call, Allgatherv* algorithm, types::ConstBuffer send, void* receive,
                       Blocks blocks, const types::Type* type) {
  PackedBlocks all(call, *type, receive, blocks);
  if (is_in_place(send))
    all.load(call.rank);
  else
    co_await Call::copy_local(send, Call::buffer(all.part(call.rank)));
  Task inner = algorithm(call, all.data(), all.parts());
  co_await inner;
  all.store();
}

Task alltoall_packed(Call call, Alltoall* algorithm, types::ConstBuffer send,
                     types::Buffer receive) {
  auto size = static_cast<std::uint64_t>(call.size);
  PackedBuffer incoming(call, *receive.type, receive.address, receive.count * size);
  PackedBuffer outgoing(call, *send.type, const_cast<void*>(send.address), send.count * size);
  outgoing.load();
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

Task alltoall_replaced(Call call, AlltoallInPlace* algorithm, types::Buffer data) {
  ByRank<types::Buffer> blocks = list_of(BlocksIn{data.address, data.type, nullptr, data.count},
                                         call.size);
  Task inner = algorithm(call, blocks);
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

Task alltoallv_by_rank(Call call, Alltoallw* algorithm, const void* send, Blocks send_blocks,
                       const types::Type* send_type, void* receive, Blocks receive_blocks,
                       const types::Type* receive_type) {
  ByRank<types::ConstBuffer> outgoing = list_of(BlocksOut{send, send_type, &send_blocks},
                                                call.size);
  ByRank<types::Buffer> incoming = list_of(BlocksIn{receive, receive_type, &receive_blocks},
                                           call.size);
  Task inner = algorithm(call, outgoing, incoming);
  co_await inner;
}

struct AllgatherArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::allgather;
  const types::ConstBuffer& send;
  const types::Buffer& receive;

  BlocksIn blocks() const { return {receive.address, receive.type, nullptr, receive.count}; }
  std::uint64_t bytes(const Call& call) const {
    return receive.bytes() * static_cast<std::uint64_t>(call.size);
  }
  bool in_segment(ShmCollective& shm) const {
    return shm_allgather(shm, send, blocks(), receive.bytes());
  }
  void run_inline(InlineAllgather* algorithm, InlineCollective& collective) const {
    algorithm(collective, send, blocks());
  }
  /// Return a task; of two members that is always allgather_of_two(), unless in place.
  Task as_task(const Call& call, Allgather* algorithm) const {
    const bool in_place = is_in_place(send);
    const bool all_plain = is_plain(receive) && (in_place || is_plain(send));
    if (!all_plain || (!in_place && send.bytes() != receive.bytes()))
      return allgather_packed(call, algorithm, send, receive);
    const std::uint64_t block = receive.bytes();
    std::byte* all = plain(receive).data();
    const BlockLayout block_layout = BlockLayout::equal(block);
    if (call.size == 2 && !in_place)
      return allgather_of_two(call, plain(send), part_of(all, block_layout[call.rank]),
                              part_of(all, block_layout[1 - call.rank]));
    if (!in_place)
      copy_bytes(plain(send).data(), part_of(all, block_layout[call.rank]).data(), block);
    return algorithm(call, all, block);
  }
};

struct AllgathervArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::allgatherv;
  const types::ConstBuffer& send;
  void* receive;
  const Blocks& blocks;
  const types::Type& type;

  BlocksIn blocks_in() const { return {receive, &type, &blocks}; }
  std::uint64_t bytes(const Call&) const {
    return static_cast<std::uint64_t>(blocks.counts.sum()) * type.size;
  }
  bool in_segment(ShmCollective& shm) const {
    return shm_allgather(shm, send, blocks_in(), blocks.counts.largest() * type.size);
  }
  void run_inline(InlineAllgather* algorithm, InlineCollective& collective) const {
    algorithm(collective, send, blocks_in());
  }
  /// As AllgatherArguments::as_task().
  Task as_task(const Call& call, Allgatherv* algorithm) const {
    const bool in_place = is_in_place(send);
    const BlockLayout block_layout(blocks, type.size);
    auto* all = static_cast<std::byte*>(receive);
    const BlockSpan own = block_layout[call.rank];
    if (!type.contiguous || (!in_place && (!is_plain(send) || send.bytes() != own.bytes)))
      return allgatherv_packed(call, algorithm, send, receive, blocks, &type);
    if (call.size == 2 && !in_place)
      return allgather_of_two(call, plain(send), part_of(all, own),
                              part_of(all, block_layout[1 - call.rank]));
    if (!in_place) copy_bytes(plain(send).data(), part_of(all, own).data(), own.bytes);
    return algorithm(call, all, block_layout);
  }
};

struct AlltoallArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::alltoall;
  const types::ConstBuffer& send;
  const types::Buffer& receive;

  BlocksIn in() const { return {receive.address, receive.type, nullptr, receive.count}; }
  BlocksOut out() const {
    return is_in_place(send) ? BlocksOut{receive.address, receive.type, nullptr, receive.count}
                             : BlocksOut{send.address, send.type, nullptr, send.count};
  }
  std::uint64_t bytes(const Call&) const { return receive.bytes(); }
  bool in_segment(ShmCollective& shm) const { return shm_alltoall(shm, out(), in()); }
  void run_inline(InlineAlltoall* algorithm, InlineCollective& collective) const {
    algorithm(collective, out(), in());
  }
  Task as_task(const Call& call, Alltoall* algorithm) const {
    if (send.bytes() != receive.bytes())
      return alltoall_by_rank(call, send, receive);  // reports the mismatch
    if (!is_plain(send) || !is_plain(receive))
      return alltoall_packed(call, algorithm, send, receive);
    return algorithm(call, plain(send).data(), plain(receive).data(), receive.bytes());
  }
};

/// In place the only algorithm by messages is alltoall_in_place.
struct AlltoallInPlaceArguments : AlltoallArguments {
  static constexpr auto kRows = &AlgorithmTable::alltoall_in_place;

  Task as_task(const Call& call, AlltoallInPlace* algorithm) const {
    return alltoall_replaced(call, algorithm, receive);
  }
};

struct AlltoallvArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::alltoallv;
  BlocksOut out;
  BlocksIn in;

  std::uint64_t bytes(const Call&) const {
    return std::max(out.blocks->counts.largest() * out.type->size,
                    in.blocks->counts.largest() * in.type->size);
  }
  bool in_segment(ShmCollective& shm) const { return shm_alltoallv(shm, out, in); }
  void run_inline(InlineAlltoall* algorithm, InlineCollective& collective) const {
    algorithm(collective, out, in);
  }
  Task as_task(const Call& call, Alltoallw* algorithm) const {
    return alltoallv_by_rank(call, algorithm, out.address, *out.blocks, out.type, in.address,
                             *in.blocks, in.type);
  }
};

/// Return the length of the longest buffer.
template <typename Buffers>
std::uint64_t longest_of(const Buffers& buffers) {
  std::uint64_t longest = 0;
  for (const auto& buffer : buffers) longest = std::max(longest, buffer.bytes());
  return longest;
}

struct AlltoallwArguments : MovesData, NeverInline {
  static constexpr auto kRows = &AlgorithmTable::alltoallw;
  std::span<const types::ConstBuffer> send;
  std::span<const types::Buffer> receive;

  std::uint64_t bytes(const Call&) const { return std::max(longest_of(send), longest_of(receive)); }
  bool in_segment(ShmCollective& shm) const { return shm_alltoallw(shm, send, receive); }
  Task as_task(const Call& call, Alltoallw* algorithm) const {
    return algorithm(call, send, receive);
  }
};

struct ExchangeArguments : MovesData, NeverInline {
  static constexpr auto kRows = &AlgorithmTable::exchange;
  std::span<const OutgoingBlock> out;
  std::span<const IncomingBlock> in;

  static std::uint64_t bytes(const Call&) { return 0; }
  bool in_segment(ShmCollective& shm) const { return shm_exchange(shm, out, in); }
  Task as_task(const Call& call, Exchange* algorithm) const { return algorithm(call, out, in); }
};

}  // namespace

Task allgather(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive) {
  return run_selected(seq, AllgatherArguments{{}, send, receive});
}

Task allgatherv(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                const Blocks& blocks, const types::Type& type) {
  return run_selected(seq, AllgathervArguments{{}, send, receive, blocks, type});
}

Task alltoall(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive) {
  if (is_in_place(send)) return run_selected(seq, AlltoallInPlaceArguments{{{}, send, receive}});
  return run_selected(seq, AlltoallArguments{{}, send, receive});
}

Task alltoallv(const CollSeq& seq, const void* send, const Blocks& send_blocks,
               const types::Type* send_type, void* receive, const Blocks& receive_blocks,
               const types::Type& receive_type) {
  if (send_type == nullptr)
    return alltoallv_replaced(call_on(seq), receive, receive_blocks, &receive_type);
  return run_selected(
      seq, AlltoallvArguments{
               {}, {send, send_type, &send_blocks}, {receive, &receive_type, &receive_blocks}});
}

Task alltoallw(const CollSeq& seq, std::span<const types::ConstBuffer> send,
               std::span<const types::Buffer> receive) {
  if (send.empty()) return alltoall_in_place(call_on(seq), receive);
  return run_selected(seq, AlltoallwArguments{{}, {}, send, receive});
}

Task exchange(const CollSeq& seq, std::span<const OutgoingBlock> out,
              std::span<const IncomingBlock> in) {
  return run_selected(seq, ExchangeArguments{{}, {}, out, in});
}

}  // namespace shim::coll
