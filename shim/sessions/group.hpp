// SPDX-License-Identifier: BSD-3-Clause
// Group is an immutable list of processes, stored as ranges. A whole world takes a few bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/base/result.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::sessions {

/// ProcessRange is a sequence of `count` processes of one world: start, start+stride, … in
/// group-rank order. stride may be negative, never 0; it is 1 if count is 1.
struct ProcessRange {
  std::uint32_t world = 0;
  std::uint32_t start = 0;
  std::uint32_t count = 0;
  std::int32_t stride = 1;
  bool operator==(const ProcessRange&) const = default;

  std::int64_t at(std::int64_t index) const { return start + index * std::int64_t{stride}; }
  std::int64_t lowest() const { return stride > 0 ? start : at(count - 1); }
  std::int64_t highest() const { return stride > 0 ? at(count - 1) : start; }
};

enum class Comparison { identical, congruent, similar, unequal };

/// No such rank; the interposition layer translates it to MPI_UNDEFINED.
inline constexpr int kUndefined = -32766;

/// Immutable; all functions are local. Set operations keep ranges as long as possible (MPI-4.1
/// §7.3). Their time grows with the number of ranges, and with the number of processes only if
/// ranges of both groups interleave.
class Group final : public p2p::Members {
 public:
  static std::shared_ptr<const Group> empty();
  static std::shared_ptr<const Group> of_ranges(std::vector<ProcessRange> ranges);
  /// Make a group of world-0 ranks in the given order. The caller has rejected duplicates.
  static std::shared_ptr<const Group> of_ranks(std::span<const std::uint32_t> world_ranks);

  int size() const override { return size_; }
  base::ProcessId at(int rank) const override;
  /// Return the group rank of a process, kUndefined if it is not a member. Time: logarithmic in the
  /// number of ranges if they do not interleave.
  int rank_of(base::ProcessId process) const;
  std::span<const ProcessRange> ranges() const { return ranges_; }
  /// Return the group rank of each range's first process.
  std::span<const int> first_ranks() const { return first_rank_; }
  bool operator==(const Group& other) const { return ranges_ == other.ranges_; }
  /// Return text for messages: "{0-3, 7, 9-15:2}"; truncated with "…" if long.
  std::string text() const;

 private:
  explicit Group(std::vector<ProcessRange> normalised);
  void index_by_process();

  std::vector<ProcessRange>
      ranges_;                   ///< as few as possible, so that equal groups have equal ranges
  std::vector<int> first_rank_;  ///< first group rank of each range, for the search in at()
  int size_ = 0;
  // index for rank_of, if there are more than a few ranges
  struct Entry {
    std::uint64_t lowest = 0;  ///< (world, lowest rank) of a range; sort key
    /// Maximum over this and all previous entries: ends a backward search.
    std::uint64_t highest_so_far = 0;
    std::uint32_t range = 0;
  };
  std::vector<Entry> by_process_;
};
using GroupPtr = std::shared_ptr<const Group>;

Comparison compare(const Group& a, const Group& b);  ///< identical, similar or unequal
GroupPtr set_union(const Group& a, const Group& b);
GroupPtr set_intersection(const Group& a, const Group& b);
GroupPtr set_difference(const Group& a, const Group& b);
/// (first, last, stride) triplets of MPI_Group_range_incl and MPI_Group_range_excl.
using Triplet = std::array<int, 3>;
// Errors: rank (out of range or repeated; named in the text), arg (stride 0, or of the wrong sign).
base::Result<GroupPtr> include(const Group& group, std::span<const int> ranks);
base::Result<GroupPtr> exclude(const Group& group, std::span<const int> ranks);
base::Result<GroupPtr> range_include(const Group& group, std::span<const Triplet> triplets);
base::Result<GroupPtr> range_exclude(const Group& group, std::span<const Triplet> triplets);
/// Translate ranks. kProcNull stays kProcNull; kUndefined if `to` lacks the process. Errors: rank.
base::Result<std::vector<int>> translate(const Group& from, std::span<const int> ranks,
                                         const Group& to);

}  // namespace shim::sessions
