// SPDX-License-Identifier: BSD-3-Clause
// Collectives in the collective segment, except exchanges of individual parts
// (shm_collective_alltoall.cpp).
//
// Reductions combine in the order of the table's algorithms for short data, so that a call gives
// identical bits with and without a segment.
#include <array>
#include <cstring>

#include "shim/base/copy_between_cores.hpp"
#include "shim/coll/algorithms/fold.hpp"
#include "shim/coll/scratch.hpp"
#include "shim/coll/shm_collective.hpp"

namespace shim::coll {
namespace {

/// Copies of the members' operands, one at each index. Operations modify them, so that they cannot
/// stay in the segment.
class OperandBuffers {
 public:
  explicit OperandBuffers(const Operands& operands) : operands_(operands) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i] = &scratch_[i];
  }
  void* at(int i) { return buffers_[static_cast<std::size_t>(i)]->data(); }
  void set(int i, const void* value) { base::copy_short(at(i), value, operands_.bytes()); }
  /// Copy that member's data, from byte `first` on, to index `to`; after a mismatch store zeros, so
  /// that operations never read uninitialized memory.
  void take(ShmCollective& shm, int from, std::optional<ConstBytes> published,
            std::uint64_t expected, std::uint64_t first, int to) {
    if (published && published->size() == expected) [[likely]]
      return set(to, published->data() + first);
    std::memset(at(to), 0, operands_.bytes());
    if (published) shm.check_length(from, published->size(), expected);
  }
  /// Combine the values at two indices, in this order; the result is at index `first`.
  void combine(ShmCollective& shm, int first, int second) {
    shm.combine(operands_, at(first), at(second));
    move(second, first);
  }
  void move(int from, int to) {
    std::swap(buffers_[static_cast<std::size_t>(from)], buffers_[static_cast<std::size_t>(to)]);
  }
  /// Combine the first `count` values as a binomial tree; the result is at index 0.
  void combine_tree(ShmCollective& shm, int count) {
    for (int distance = 1; distance < count; distance *= 2)
      for (int i = 0; i + distance < count; i += 2 * distance) combine(shm, i, i + distance);
  }
  /// Combine the values of each pair of the fold, and move the values to their numbers.
  void fold(ShmCollective& shm, const Fold& fold) {
    for (int i = 0; i < fold.pairs; ++i) combine(shm, 2 * i, 2 * i + 1);
    for (int i = 1; i < fold.power; ++i) move(fold.first_rank_of(i), i);
  }
  /// Combine folded values in the order of recursive halving, by which the process with this number
  /// gets its result: most distant partners first, the partner's value before the process's own.
  /// The result is at index 0.
  void combine_halving(ShmCollective& shm, int power, int number) {
    for (int distance = power / 2; distance > 0; distance /= 2) {
      const bool is_low = (number & distance) == 0;
      for (int i = 0; i < distance; ++i) {
        combine(shm, is_low ? i + distance : i, is_low ? i : i + distance);
        if (is_low) move(i + distance, i);
      }
    }
  }
  /// Combine the values from index `first` to `last` in this order, the last two first; the result
  /// is at index `first`.
  void combine_chain(ShmCollective& shm, int first, int last) {
    for (int i = last - 1; i >= first; --i) combine(shm, i, i + 1);
  }
  /// Combine in the order of the pairwise reduce-scatter: the values up to the process's own, the
  /// values above it, then both results. The result is at index 0.
  void combine_pairwise(ShmCollective& shm, int size, int rank) {
    combine_chain(shm, 0, rank);
    if (rank == size - 1) return;
    combine_chain(shm, rank + 1, size - 1);
    combine(shm, 0, rank + 1);
  }

 private:
  struct alignas(std::max_align_t) OperandBuffer : std::array<std::byte, node::kMediumBufferBytes> {
  };
  Operands operands_;
  std::array<OperandBuffer, node::kMaxShmCollMembers> scratch_;
  std::array<OperandBuffer*, node::kMaxShmCollMembers> buffers_;
};

/// Read a member's operands, of the same length as the local ones, and copy them to index `to`.
void read_value(ShmCollective& shm, const Operands& operands, OperandBuffers& buffers, int from,
                int to) {
  buffers.take(shm, from, shm.read(from, operands.bytes()), operands.bytes(), 0, to);
}

/// True if the operands fit a medium buffer and have no holes.
bool fits_segment(const ShmCollective& shm, const Operands& operands) {
  return operands.type->contiguous && shm.fits(operands.bytes());
}

}  // namespace

bool shm_barrier(ShmCollective& shm) {
  if (!shm.fits(0)) return shm.fall_back();
  shm.publish_to_all(Call::buffer(ConstBytes()));
  for (int rank = 0; rank < shm.call.size; ++rank)
    if (rank != shm.call.rank) shm.read(rank);
  return true;
}

bool shm_bcast(ShmCollective& shm, const types::Buffer& data, int root) {
  if (shm.call.rank == root) {
    const types::ConstBuffer given{data.address, data.count, data.type};
    const SegmentPath path = shm.path(data.bytes());
    if (path == SegmentPath::medium_buffer)
      shm.publish_to_all(given);
    else if (path != SegmentPath::broadcast_ring || !shm.pipeline_to_all(given))
      return shm.fall_back();
    return true;
  }
  if (const auto published = shm.read(root)) {
    shm.take(root, *published, data);
    return true;
  }
  const auto message = shm.pipeline_from(root);
  if (message) shm.consume_pipeline(root, *message, data);
  return message.has_value();
}

bool shm_gather(ShmCollective& shm, const types::ConstBuffer& own, const BlocksIn& all,
                std::uint64_t bytes, int root) {
  const bool is_root = shm.call.rank == root;
  if (!shm.fits(bytes)) return is_root ? false : shm.fall_back();
  if (!is_root) {
    shm.publish(own, root);
    return true;
  }
  if (!is_in_place(own)) shm.copy_local(own, all.at(root));
  for (int rank = 0; rank < shm.call.size; ++rank)
    if (rank != root) shm.take(rank, all.at(rank));
  return true;
}

bool shm_gatherv(ShmCollective& shm, const types::ConstBuffer& own, const BlocksIn& all, int root) {
  if (shm.call.rank != root) {
    if (shm.fits(own.bytes())) {
      shm.publish(own, root);
      return true;
    }
    shm.publish_fallback();
    if (shm.has_failed()) return true;
    InlineCollective messages(shm.seq);
    messages.send(own, root);
    shm.record_status(messages.finish());
    return true;
  }
  std::optional<InlineCollective> messages;
  if (!is_in_place(own)) shm.copy_local(own, all.at(root));
  for (int rank = 0; rank < shm.call.size; ++rank) {
    if (rank == root) continue;
    if (const auto published = shm.read(rank))
      shm.take(rank, *published, all.at(rank));
    else if (!shm.has_failed())
      (messages ? *messages : messages.emplace(shm.seq)).post_receive(all.at(rank), rank);
  }
  if (messages) shm.record_status(messages->finish());
  return true;
}

bool shm_scatter_pair(ShmCollective& shm, const BlocksOut& all, const types::Buffer& own,
                      int root) {
  if (shm.call.rank != root) {
    const auto published = shm.read(root);
    if (published) shm.take(root, *published, own);
    return published.has_value();
  }
  const types::ConstBuffer theirs = all.at(1 - root);
  if (!shm.fits(theirs.bytes())) return shm.fall_back();
  shm.publish(theirs, 1 - root);
  if (own.type != nullptr) shm.copy_local(all.at(root), own);
  return true;
}

bool shm_allgather(ShmCollective& shm, const types::ConstBuffer& own, const BlocksIn& all,
                   std::uint64_t longest) {
  const int rank = shm.call.rank, size = shm.call.size;
  const types::Buffer mine = all.at(rank);
  if (!shm.fits(longest)) {
    if (size != 2) return shm.fall_back();
    shm.exchange(is_in_place(own) ? types::ConstBuffer{mine.address, mine.count, mine.type} : own,
                 all.at(1 - rank));
    if (!is_in_place(own) && !shm.has_failed()) shm.copy_local(own, mine);
    return true;
  }
  if (is_in_place(own)) {
    shm.publish_to_all({mine.address, mine.count, mine.type});
  } else {
    if (!shm.fits(own.bytes())) return shm.fall_back();
    shm.publish_to_all(own);
    shm.copy_local(own, mine);
  }
  for (int from = 0; from < size; ++from) {
    if (from == rank) continue;
    if (const auto published = shm.read_or_refuse(from, all.at(from).bytes()))
      shm.take(from, *published, all.at(from));
  }
  return true;
}

namespace {

/// Combines the local data with the other member's chunks from the ring, at the root. Each chunk's
/// complete items are combined at once, while the cache holds them. The operation must commute.
class PipelinedReduction {
 public:
  PipelinedReduction(const ShmCollective& shm, const Operands& operands, const void* own,
                     void* result)
      : operands_(operands),
        own_(own),
        result_(result),
        room_(shm.call, *operands.type, own == result ? operands.count : 0) {}
  void take(std::uint64_t first, ConstBytes bytes) {
    base::copy_from_other_core(static_cast<std::byte*>(theirs()) + first, bytes.data(),
                               bytes.size());
    const std::uint64_t items = (first + bytes.size()) / operands_.type->size - done_;
    status_ = types::reduce(*operands_.op, *operands_.type, operands_.at(own_, done_),
                            operands_.at(theirs(), done_), items);
    if (own_ == result_)
      base::copy_long(operands_.at(result_, done_), operands_.at(theirs(), done_),
                      items * operands_.type->size);
    done_ += items;
  }
  base::Status& status() { return status_; }

 private:
  void* theirs() const { return own_ == result_ ? room_.data() : result_; }

  Operands operands_;
  const void* own_;
  void* result_;
  ItemScratch room_;
  std::uint64_t done_ = 0;  ///< items
  base::Status status_;
};

bool reduce_pair(ShmCollective& shm, const Operands& operands, const void* own, void* result,
                 int root) {
  if (shm.call.rank != root) {
    const bool is_pipelined = shm.path(operands.bytes()) == SegmentPath::broadcast_ring &&
                              shm.pipeline_to_all(operands.all(own));
    return is_pipelined || shm.fall_back();
  }
  if (const auto published = shm.read(1 - root)) {
    shm.check_length(1 - root, published->size(), operands.bytes());
    return true;
  }
  const auto message = shm.pipeline_from(1 - root);
  if (!message) return false;
  PipelinedReduction reduction(shm, operands, own, result);
  shm.consume_pipeline(1 - root, *message, operands.bytes(),
                       [&](std::uint64_t first, ConstBytes bytes) {
                         if (reduction.status()) reduction.take(first, bytes);
                       });
  shm.record_status(std::move(reduction.status()));
  return true;
}

}  // namespace

bool shm_reduce(ShmCollective& shm, const Operands& operands, const void* own, void* result,
                int root) {
  const int rank = shm.call.rank, size = shm.call.size;
  if (!fits_segment(shm, operands)) {
    if (size == 2 && operands.type->contiguous && operands.op->commutative)
      return reduce_pair(shm, operands, own, result, root);
    return rank == root ? false : shm.fall_back();
  }
  if (rank != root) {
    shm.publish(operands.all(own), root);
    return true;
  }
  const int first = operands.op->commutative ? root : 0;  // the tree's root
  OperandBuffers buffers(operands);
  for (int number = 0; number < size; ++number) {
    const int from = (first + number) % size;
    if (from == root)
      buffers.set(number, own);
    else
      read_value(shm, operands, buffers, from, number);
  }
  buffers.combine_tree(shm, size);
  if (!shm.has_failed()) base::copy_short(result, buffers.at(0), operands.bytes());
  return true;
}

// Combine in the order of recursive doubling. If the size is not a power of two, the first members
// form pairs.
bool shm_allreduce(ShmCollective& shm, const Operands& operands, const void* own, void* result) {
  if (!fits_segment(shm, operands)) return shm.fall_back();
  const int size = shm.call.size;
  const Fold fold(size);
  shm.publish_to_all(operands.all(own));
  OperandBuffers buffers(operands);
  for (int from = 0; from < size; ++from) {
    if (from == shm.call.rank)
      buffers.set(from, own);
    else
      read_value(shm, operands, buffers, from, from);
  }
  buffers.fold(shm, fold);
  buffers.combine_tree(shm, fold.power);
  if (!shm.has_failed()) base::copy_short(result, buffers.at(0), operands.bytes());
  return true;
}

// Combine in the order of recursive halving, or of the pairwise algorithm if the operation does not
// commute or there are two members.
bool shm_reduce_scatter(ShmCollective& shm, const Operands& operands, const void* own, void* result,
                        const Integers& counts) {
  const int rank = shm.call.rank, size = shm.call.size;
  const auto bytes_of = [&](int of) {
    return static_cast<std::uint64_t>(counts[static_cast<std::size_t>(of)]) * operands.type->size;
  };
  std::uint64_t first = 0, least = UINT64_MAX, most = 0;
  for (int of = 0; of < size; ++of) {
    if (of < rank) first += bytes_of(of);
    least = std::min(least, bytes_of(of));
    most = std::max(most, bytes_of(of));
  }
  // each member publishes all parts but its own; test the longest, so that all members decide alike
  if (!operands.type->contiguous || !shm.fits(std::max(operands.bytes() - least, most)))
    return shm.fall_back();
  const auto* bytes = static_cast<const std::byte*>(own);
  const Operands mine{operands.type, operands.op,
                      static_cast<std::uint64_t>(counts[static_cast<std::size_t>(rank)])};
  shm.publish_to_all(operands.bytes() - mine.bytes(), [&](Bytes scratch) {
    base::copy_short(scratch.data(), bytes, first);
    base::copy_short(scratch.data() + first, bytes + first + mine.bytes(),
                     operands.bytes() - mine.bytes() - first);
  });
  OperandBuffers buffers(mine);
  for (int from = 0; from < size; ++from) {
    const std::uint64_t expected = operands.bytes() - bytes_of(from);
    if (from == rank)
      buffers.set(from, bytes + first);
    else
      buffers.take(shm, from, shm.read(from, expected), expected,
                   from < rank ? first - bytes_of(from) : first, from);
  }
  if (mine.count == 0) return true;
  if (size > 2 && operands.op->commutative) {
    const Fold fold(size);
    buffers.fold(shm, fold);
    buffers.combine_halving(shm, fold.power, fold.number_of(rank));
  } else {
    buffers.combine_pairwise(shm, size, rank);
  }
  if (!shm.has_failed()) base::copy_short(result, buffers.at(0), mine.bytes());
  return true;
}

}  // namespace shim::coll
