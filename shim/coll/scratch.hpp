// SPDX-License-Identifier: BSD-3-Clause
// Scratch memory of one collective call, and layouts of blocks in an array.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "shim/base/copy.hpp"
#include "shim/coll/call.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/scratch_pool.hpp"

namespace shim::coll {

/// Uninitialized bytes, aligned for every predefined type.
class Scratch {
 public:
  Scratch(const Call& call, std::uint64_t bytes);
  Scratch(Scratch&&) noexcept = default;
  Scratch& operator=(Scratch&&) noexcept = default;
  ~Scratch();
  std::byte* data() const { return block_.memory.get(); }
  Bytes all() const { return {data(), bytes_}; }
  Bytes part(std::uint64_t offset, std::uint64_t bytes) const { return {data() + offset, bytes}; }

 private:
  /// Null if the memory is from malloc. Shared, because a message that uses the memory may outlive
  /// the communicator.
  ScratchPoolPtr pool_;
  ScratchPool::Block block_;
  std::uint64_t bytes_;
};

/// Uninitialized buffer for an array of items, from the lowest to the highest byte that a user's
/// operation may access. Data may precede an item's address or lie outside the type's bounds, and
/// extents may be negative.
class ItemScratch {
 public:
  ItemScratch(const Call& call, const Operands& operands)
      : ItemScratch(call, *operands.type, operands.count) {}
  ItemScratch(const Call& call, const types::Type& type, std::uint64_t count)
      : ItemScratch(call, range_of(type, count)) {}
  /// Return the address of the first item.
  std::byte* data() const { return bytes_.data() + before_; }

 private:
  struct FreeRange {
    std::int64_t lower, upper;
  };
  static FreeRange range_of(const types::Type& type, std::uint64_t count);
  ItemScratch(const Call& call, FreeRange range);

  std::int64_t before_;  ///< bytes, a multiple of the largest alignment
  Scratch bytes_;
};

/// Position of a block, in bytes from the start of an array; offsets of v-forms may be negative.
struct BlockSpan {
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Array by rank. Up to 8 processes need no allocation.
template <typename T>
struct ByRank : boost::container::small_vector<T, 8> {
  using Base = boost::container::small_vector<T, 8>;
  using Base::Base;
  operator std::span<const T>() const {
    return {Base::data(), Base::size()};
  }  // NOLINT(google-explicit-constructor)
};
using BlockSpans = ByRank<BlockSpan>;

/// Positions of the blocks of all ranks.
class BlockLayout {
 public:
  BlockLayout() = default;
  /// Use a list of parts.
  BlockLayout(std::span<const BlockSpan> parts)
      : parts_(parts) {}  // NOLINT(google-explicit-constructor)
  BlockLayout(const BlockSpans& parts)
      : BlockLayout(std::span<const BlockSpan>(parts)) {}  // NOLINT(google-explicit-constructor)
  /// Use counts and displacements, in items of this many bytes without holes.
  BlockLayout(Blocks blocks, std::uint64_t item_bytes) : blocks_(blocks), bytes_(item_bytes) {}
  /// Return a layout of consecutive blocks of equal length.
  static BlockLayout equal(std::uint64_t bytes) { return BlockLayout({}, bytes); }

  BlockSpan operator[](int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    if (!parts_.empty()) return parts_[r];
    const auto unit = static_cast<std::int64_t>(bytes_);
    if (blocks_.counts.empty()) return {rank * unit, bytes_};
    return {blocks_.displacements[r] * unit,
            static_cast<std::uint64_t>(blocks_.counts[r]) * bytes_};
  }

 private:
  std::span<const BlockSpan> parts_;
  Blocks blocks_;
  std::uint64_t bytes_ = 0;
};

/// Return the offsets of consecutive blocks of these lengths, followed by their total length.
inline std::vector<std::uint64_t> starts_of(const Integers& counts) {
  std::vector<std::uint64_t> starts(counts.size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i)
    starts[i + 1] = starts[i] + static_cast<std::uint64_t>(counts[i]);
  return starts;
}

inline Bytes part_of(std::byte* array, const BlockSpan& part) {
  return {array + part.offset, part.bytes};
}
inline ConstBytes part_of(const std::byte* array, const BlockSpan& part) {
  return {array + part.offset, part.bytes};
}

/// Copy, unless source and destination are one address (in-place forms).
inline void copy_bytes(const std::byte* from, std::byte* to, std::uint64_t bytes) {
  if (from != to) base::copy_long(to, from, bytes);
}
inline void copy_items(const Operands& operands, const void* from, void* to) {
  if (from != to) types::copy(*operands.type, from, to, operands.count);
}
/// Copy between arrays whose types may differ if their signatures match. If the lengths differ,
/// copy the shorter one.
void copy_across(const types::ConstBuffer& from, const types::Buffer& to);

/// A whole cut into `parts` consecutive parts, as equal as possible, longer ones first.
struct EvenParts {
  std::uint64_t whole;
  std::uint64_t parts;
  std::uint64_t first(int i) const {
    auto n = static_cast<std::uint64_t>(i);
    return n * (whole / parts) + std::min(n, whole % parts);
  }
  std::uint64_t count(int i) const { return first(i + 1) - first(i); }
  /// Return the count from the start of part `from` to the start of part `to`.
  std::uint64_t count(int from, int to) const { return first(to) - first(from); }
};

}  // namespace shim::coll
