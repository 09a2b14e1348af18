// SPDX-License-Identifier: BSD-3-Clause
// Groups as ranges: a group of the whole world costs the same few bytes at any size.
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

/// count processes of one world: start, start+stride, … in group-rank order. stride may be negative, never 0; 1 where count is 1.
struct Range {
  std::uint32_t world = 0;
  std::uint32_t start = 0;
  std::uint32_t count = 0;
  std::int32_t stride = 1;
  bool operator==(const Range&) const = default;

  std::int64_t at(std::int64_t index) const { return start + index * std::int64_t{stride}; }
  std::int64_t lowest() const { return stride > 0 ? start : at(count - 1); }
  std::int64_t highest() const { return stride > 0 ? at(count - 1) : start; }
};

enum class Comparison { identical, congruent, similar, unequal };

inline constexpr int kUndefined = -32766;  ///< no such rank; the border translates to MPI_UNDEFINED

/// Immutable. All functions local. Set operations keep ranges as long as they can (MPI-4.1 §7.3); the time they take grows with
/// the number of ranges, and with the number of processes only where those of two groups interleave.
class Group final : public p2p::Members {
 public:
  static std::shared_ptr<const Group> empty();
  static std::shared_ptr<const Group> of_ranges(std::vector<Range> ranges);
  /// Ranks of world 0 in the order given; duplicates are the caller's fault and were refused before.
  static std::shared_ptr<const Group> of_ranks(std::span<const std::uint32_t> world_ranks);

  int size() const override { return size_; }
  base::ProcessId at(int rank) const override;
  /// Group rank of a process, kUndefined if it is not a member. Time: logarithm of the number of ranges, where they do not
  /// interleave.
  int rank_of(base::ProcessId process) const;
  std::span<const Range> ranges() const { return ranges_; }
  /// Group rank of the first process of each range.
  std::span<const int> first_ranks() const { return first_rank_; }
  bool operator==(const Group& other) const { return ranges_ == other.ranges_; }
  /// For messages: "{0-3, 7, 9-15:2}"; cut with "…" where it is long.
  std::string text() const;

 private:
  explicit Group(std::vector<Range> normalised);
  void index_by_process();

  std::vector<Range> ranges_;      ///< as few as possible, so that equal groups have equal ranges
  std::vector<int> first_rank_;    ///< of each range: at() searches it
  int size_ = 0;
  // for rank_of, where there is more than a handful of ranges
  struct Entry {
    std::uint64_t lowest = 0;            ///< (world, lowest rank) of a range; the entries are in this order
    std::uint64_t highest_so_far = 0;    ///< of this entry's range and all before it: where to stop looking back
    std::uint32_t range = 0;
  };
  std::vector<Entry> by_process_;
};
using GroupPtr = std::shared_ptr<const Group>;

Comparison compare(const Group& a, const Group& b);  ///< identical, similar or unequal
GroupPtr set_union(const Group& a, const Group& b);
GroupPtr set_intersection(const Group& a, const Group& b);
GroupPtr set_difference(const Group& a, const Group& b);
/// (first, last, stride) triplets of the range forms.
using Triplet = std::array<int, 3>;
// Errors: rank (out of range or twice; names which), arg (stride zero, or leading away from last).
base::Result<GroupPtr> include(const Group& group, std::span<const int> ranks);
base::Result<GroupPtr> exclude(const Group& group, std::span<const int> ranks);
base::Result<GroupPtr> range_include(const Group& group, std::span<const Triplet> triplets);
base::Result<GroupPtr> range_exclude(const Group& group, std::span<const Triplet> triplets);
/// kProcNull stays kProcNull; kUndefined where `to` has no such process. Errors: rank.
base::Result<std::vector<int>> translate(const Group& from, std::span<const int> ranks, const Group& to);

}  // namespace shim::sessions
