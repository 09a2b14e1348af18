// SPDX-License-Identifier: BSD-3-Clause
// Entry functions of collectives that move data from or to a root, and of the barrier.
// Each states its arguments, and how the three kinds of algorithm use them; the table selects.
#include "shim/coll/coll.hpp"
#include "shim/coll/inter.hpp"
#include "shim/coll/packed.hpp"
#include "shim/coll/selector.hpp"

namespace shim::coll {
namespace {

Task gather_packed(Call call, Gather* algorithm, types::ConstBuffer send, types::Buffer receive,
                   int root) {
  PackedBuffer own, all;
  Bytes block;
  if (call.rank == root) {
    all = PackedBuffer(call, *receive.type, receive.address,
                       receive.count * static_cast<std::uint64_t>(call.size));
    std::uint64_t first = static_cast<std::uint64_t>(root) * receive.bytes();
    block = all.bytes().subspan(first, receive.bytes());
    if (is_in_place(send))
      all.load(first, receive.bytes());
    else
      co_await Call::copy_local(send, Call::buffer(block));
  } else {
    own = PackedBuffer(call, send);
    own.load();
    block = own.bytes();
  }
  Task inner = algorithm(call, block, all.data(), root);
  co_await inner;
  all.store();
}

Task gatherv_packed(Call call, Gatherv* algorithm, types::ConstBuffer send, void* receive,
                    Blocks blocks, const types::Type* type, int root) {
  PackedBuffer own;
  PackedBlocks all;
  Bytes block;
  if (call.rank == root) {
    all = PackedBlocks(call, *type, receive, blocks);
    block = all.part(root);
    if (is_in_place(send))
      all.load(root);
    else
      co_await Call::copy_local(send, Call::buffer(block));
  } else {
    own = PackedBuffer(call, send);
    own.load();
    block = own.bytes();
  }
  Task inner = algorithm(call, block, all.data(), all.parts(), root);
  co_await inner;
  all.store();
}

Task scatter_packed(Call call, Scatter* algorithm, types::ConstBuffer send, types::Buffer receive,
                    int root) {
  const bool is_root = call.rank == root, in_place = is_root && receive.type == nullptr;
  PackedBuffer all, own;
  Bytes block;
  if (is_root) {
    all = PackedBuffer(call, *send.type, const_cast<void*>(send.address),
                       send.count * static_cast<std::uint64_t>(call.size));
    all.load();
    block = all.bytes().subspan(static_cast<std::uint64_t>(root) * send.bytes(), send.bytes());
    if (!in_place) co_await Call::copy_local(Call::buffer(ConstBytes(block)), receive);
  } else {
    own = PackedBuffer(call, receive);
    block = own.bytes();
  }
  Task inner = algorithm(call, all.data(), block, root);
  co_await inner;
  own.store();
}

Task scatterv_packed(Call call, Scatterv* algorithm, const void* send, Blocks blocks,
                     const types::Type* type, types::Buffer receive, int root) {
  const bool is_root = call.rank == root, in_place = is_root && receive.type == nullptr;
  PackedBlocks all;
  PackedBuffer own;
  Bytes block;
  if (is_root) {
    all = PackedBlocks(call, *type, const_cast<void*>(send), blocks);
    all.load();
    block = all.part(root);
    if (!in_place) co_await Call::copy_local(Call::buffer(ConstBytes(block)), receive);
  } else {
    own = PackedBuffer(call, receive);
    block = own.bytes();
  }
  Task inner = algorithm(call, all.data(), all.parts(), block, root);
  co_await inner;
  own.store();
}

struct BarrierArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::barrier;

  static std::uint64_t bytes(const Call&) { return 0; }
  static bool in_segment(ShmCollective& shm) { return shm_barrier(shm); }
  static void run_inline(InlineOf<Barrier>* algorithm, InlineCollective& collective) {
    algorithm(collective);
  }
  static Task as_task(const Call& call, Barrier* algorithm) { return algorithm(call); }
};

Task bcast_packed(Call call, Bcast* algorithm, types::Buffer data, int root) {
  PackedBuffer packed(call, data);
  if (call.rank == root) packed.load();
  Task inner = algorithm(call, packed.bytes(), root);
  co_await inner;
  if (call.rank != root) packed.store();
}

struct BcastArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::bcast;
  const types::Buffer& data;
  int root;

  std::uint64_t bytes(const Call&) const { return data.bytes(); }
  bool in_segment(ShmCollective& shm) const { return shm_bcast(shm, data, root); }
  void run_inline(InlineOf<Bcast>* algorithm, InlineCollective& collective) const {
    algorithm(collective, data, root);
  }
  Task as_task(const Call& call, Bcast* algorithm) const {
    if (!is_plain(data)) return bcast_packed(call, algorithm, data, root);
    return algorithm(call, plain(data), root);
  }
};

/// receive is significant at the root alone.
struct GatherArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::gather;
  const types::ConstBuffer& send;
  const types::Buffer& receive;
  int root;

  BlocksIn blocks() const { return {receive.address, receive.type, nullptr, receive.count}; }
  /// Return the length of a block: of the blocks received, at the root.
  std::uint64_t bytes(const Call& call) const {
    return call.rank == root ? receive.bytes() : send.bytes();
  }
  bool in_segment(ShmCollective& shm) const {
    return shm_gather(shm, send, blocks(), bytes(shm.call), root);
  }
  void run_inline(InlineGather* algorithm, InlineCollective& collective) const {
    algorithm(collective, send, blocks(), root);
  }
  Task as_task(const Call& call, Gather* algorithm) const {
    const bool is_root = call.rank == root, in_place = is_in_place(send);
    const bool all_plain = (in_place || is_plain(send)) && (!is_root || is_plain(receive));
    if (!all_plain || (is_root && !in_place && send.bytes() != receive.bytes()))
      return gather_packed(call, algorithm, send, receive, root);
    std::byte* all = is_root ? plain(receive).data() : nullptr;
    ConstBytes own;
    if (!in_place)
      own = plain(send);
    else
      own = {all + static_cast<std::uint64_t>(root) * receive.bytes(), receive.bytes()};
    return algorithm(call, own, all, root);
  }
};

/// blocks and type are significant at the root alone.
struct GathervArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::gatherv;
  const types::ConstBuffer& send;
  void* receive;
  const Blocks& blocks;
  const types::Type* type;
  int root;

  std::uint64_t bytes(const Call& call) const {
    return call.rank == root ? blocks.counts.largest() * type->size : send.bytes();
  }
  bool in_segment(ShmCollective& shm) const {
    return shm_gatherv(shm, send, {receive, type, &blocks}, root);
  }
  void run_inline(InlineGather* algorithm, InlineCollective& collective) const {
    algorithm(collective, send, {receive, type, &blocks}, root);
  }
  Task as_task(const Call& call, Gatherv* algorithm) const {
    const bool is_root = call.rank == root, in_place = is_in_place(send);
    const bool all_plain = (in_place || is_plain(send)) && (!is_root || type->contiguous);
    if (!all_plain) return gatherv_packed(call, algorithm, send, receive, blocks, type, root);
    if (!is_root) return algorithm(call, plain(send), nullptr, BlockLayout(), root);
    auto* all = static_cast<std::byte*>(receive);
    const BlockLayout block_layout(blocks, type->size);
    const Bytes block = part_of(all, block_layout[root]);
    if (!in_place && send.bytes() != block.size())
      return gatherv_packed(call, algorithm, send, receive, blocks, type, root);
    return algorithm(call, in_place ? ConstBytes(block) : plain(send), all, block_layout, root);
  }
};

/// send is significant at the root alone.
struct ScatterArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::scatter;
  const types::ConstBuffer& send;
  const types::Buffer& receive;
  int root;

  BlocksOut blocks() const { return {send.address, send.type, nullptr, send.count}; }
  std::uint64_t bytes(const Call& call) const {
    return call.rank == root ? send.bytes() : receive.bytes();
  }
  bool in_segment(ShmCollective& shm) const {
    return shm_scatter_pair(shm, blocks(), receive, root);
  }
  void run_inline(InlineScatter* algorithm, InlineCollective& collective) const {
    algorithm(collective, blocks(), receive, root);
  }
  Task as_task(const Call& call, Scatter* algorithm) const {
    const bool is_root = call.rank == root, in_place = receive.type == nullptr;
    const bool all_plain = (in_place || is_plain(receive)) && (!is_root || is_plain(send));
    if (!all_plain || (is_root && !in_place && send.bytes() != receive.bytes()))
      return scatter_packed(call, algorithm, send, receive, root);
    const std::byte* all = is_root ? plain(send).data() : nullptr;
    Bytes own;
    if (!in_place)
      own = plain(receive);
    else
      own = {const_cast<std::byte*>(all) + static_cast<std::uint64_t>(root) * send.bytes(),
             send.bytes()};  // never written to
    return algorithm(call, all, own, root);
  }
};

/// send, blocks and type are significant at the root alone.
struct ScattervArguments : MovesData {
  static constexpr auto kRows = &AlgorithmTable::scatterv;
  const void* send;
  const Blocks& blocks;
  const types::Type* type;
  const types::Buffer& receive;
  int root;

  std::uint64_t bytes(const Call& call) const {
    return call.rank == root ? blocks.counts.largest() * type->size : receive.bytes();
  }
  bool in_segment(ShmCollective& shm) const {
    return shm_scatter_pair(shm, {send, type, &blocks}, receive, root);
  }
  void run_inline(InlineScatter* algorithm, InlineCollective& collective) const {
    algorithm(collective, {send, type, &blocks}, receive, root);
  }
  Task as_task(const Call& call, Scatterv* algorithm) const {
    const bool is_root = call.rank == root, in_place = receive.type == nullptr;
    const bool all_plain = (in_place || is_plain(receive)) && (!is_root || type->contiguous);
    if (!all_plain) return scatterv_packed(call, algorithm, send, blocks, type, receive, root);
    if (!is_root) return algorithm(call, nullptr, BlockLayout(), plain(receive), root);
    const auto* all = static_cast<const std::byte*>(send);
    const BlockLayout block_layout(blocks, type->size);
    const ConstBytes block = part_of(all, block_layout[root]);
    if (!in_place && receive.bytes() != block.size())
      return scatterv_packed(call, algorithm, send, blocks, type, receive, root);
    const Bytes own = in_place ? Bytes(const_cast<std::byte*>(block.data()), block.size())
                               : plain(receive);  // in place, never written to
    return algorithm(call, all, block_layout, own, root);
  }
};

}  // namespace

Task bcast_of_items(Call call, types::Buffer data, int root) {
  return bcast_packed(call, select_task(&AlgorithmTable::bcast, call, data.bytes()), data, root);
}

Task barrier(const CollSeq& seq) {
  return is_inter(seq) ? inter_barrier(sides_of(seq)) : run_selected(seq, BarrierArguments{});
}

Task bcast(const CollSeq& seq, const types::Buffer& data, int root) {
  return is_inter(seq) ? inter_bcast(sides_of(seq), data, root)
                       : run_selected(seq, BcastArguments{{}, data, root});
}

Task gather(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive,
            int root) {
  return run_selected(seq, GatherArguments{{}, send, receive, root});
}

Task gatherv(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
             const Blocks& blocks, const types::Type* type, int root) {
  return run_selected(seq, GathervArguments{{}, send, receive, blocks, type, root});
}

Task scatter(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive,
             int root) {
  return run_selected(seq, ScatterArguments{{}, send, receive, root});
}

Task scatterv(const CollSeq& seq, const void* send, const Blocks& blocks, const types::Type* type,
              const types::Buffer& receive, int root) {
  return run_selected(seq, ScattervArguments{{}, send, blocks, type, receive, root});
}

}  // namespace shim::coll
