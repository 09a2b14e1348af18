// SPDX-License-Identifier: BSD-3-Clause
// Memory that a collective needs for its own time, and the user's data as one run of bytes.
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

/// Uninitialised bytes, aligned for every predefined type.
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
  ScratchPoolPtr pool_;  ///< null where it came from malloc; it may outlive the communicator, with a message that uses its memory
  ScratchPool::Block block_;
  std::uint64_t bytes_;
};

/// Uninitialised room for an array of items, with everything between their bounds, which a user's operation may touch: data may lie
/// before an item's address, and extents may be negative.
class ItemRoom {
 public:
  ItemRoom(const Call& call, const Operands& operands) : ItemRoom(call, *operands.type, operands.count) {}
  ItemRoom(const Call& call, const types::Type& type, std::uint64_t count) : ItemRoom(call, range_of(type, count)) {}
  /// The address of the first item.
  std::byte* data() const { return bytes_.data() + before_; }

 private:
  struct Range {
    std::int64_t lower, upper;
  };
  static Range range_of(const types::Type& type, std::uint64_t count);
  ItemRoom(const Call& call, Range range);

  std::int64_t before_;  ///< bytes, a multiple of the largest alignment
  Scratch bytes_;
};

/// Where a block lies, in bytes from the start of an array; v-forms may have negative displacements.
struct Part {
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// By rank; of few processes without memory of its own.
template <typename T>
struct ByRank : boost::container::small_vector<T, 8> {
  using Base = boost::container::small_vector<T, 8>;
  using Base::Base;
  operator std::span<const T>() const { return {Base::data(), Base::size()}; }  // NOLINT(google-explicit-constructor)
};
using Parts = ByRank<Part>;

/// Where the block of each rank lies.
class Places {
 public:
  Places() = default;
  /// As a list says.
  Places(std::span<const Part> parts) : parts_(parts) {}                    // NOLINT(google-explicit-constructor)
  Places(const Parts& parts) : Places(std::span<const Part>(parts)) {}      // NOLINT(google-explicit-constructor)
  /// As counts and displacements say, in items of this length without holes.
  Places(Blocks blocks, std::uint64_t item_bytes) : blocks_(blocks), bytes_(item_bytes) {}
  /// Blocks of one length, one after the other.
  static Places equal(std::uint64_t bytes) { return Places({}, bytes); }

  Part operator[](int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    if (!parts_.empty()) return parts_[r];
    const auto unit = static_cast<std::int64_t>(bytes_);
    if (blocks_.counts.empty()) return {rank * unit, bytes_};
    return {blocks_.displacements[r] * unit, static_cast<std::uint64_t>(blocks_.counts[r]) * bytes_};
  }

 private:
  std::span<const Part> parts_;
  Blocks blocks_;
  std::uint64_t bytes_ = 0;
};

/// Where blocks of these lengths begin, one after the other; and at the end the length of all.
inline std::vector<std::uint64_t> starts_of(const Integers& counts) {
  std::vector<std::uint64_t> starts(counts.size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) starts[i + 1] = starts[i] + static_cast<std::uint64_t>(counts[i]);
  return starts;
}

inline Bytes part_of(std::byte* array, const Part& part) { return {array + part.offset, part.bytes}; }
inline ConstBytes part_of(const std::byte* array, const Part& part) { return {array + part.offset, part.bytes}; }

/// Copies unless it is the same place already (in-place forms).
inline void copy_bytes(const std::byte* from, std::byte* to, std::uint64_t bytes) {
  if (from != to) base::copy_long(to, from, bytes);
}
inline void copy_items(const Operands& operands, const void* from, void* to) {
  if (from != to) types::copy(*operands.type, from, to, operands.count);
}
/// The data of one array to another, whose type may be a different one of the same elements. As much as both hold.
void copy_across(const types::ConstBuffer& from, const types::Buffer& to);

/// A whole cut into `parts` consecutive parts as equal as can be, the longer ones first.
struct EvenParts {
  std::uint64_t whole;
  std::uint64_t parts;
  std::uint64_t first(int i) const {
    auto n = static_cast<std::uint64_t>(i);
    return n * (whole / parts) + std::min(n, whole % parts);
  }
  std::uint64_t count(int i) const { return first(i + 1) - first(i); }
  /// From the start of part `from` to the start of part `to`.
  std::uint64_t count(int from, int to) const { return first(to) - first(from); }
};

}  // namespace shim::coll
