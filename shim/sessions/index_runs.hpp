// SPDX-License-Identifier: BSD-3-Clause
// RunMerger merges sets of indices stored as arithmetic runs, in ascending order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

namespace shim::sessions {

/// Indices first, first+step, …, count of them; step is positive.
struct IndexRun {
  std::int64_t first = 0, count = 0, step = 1;
  std::int64_t last() const { return first + (count - 1) * step; }
};

/// Return the indices i in 0…count-1 for which start+i*stride is in `numbers`; nothing if there are
/// none.
std::optional<IndexRun> indices_within(std::int64_t start, std::int64_t count, std::int64_t stride,
                                       const IndexRun& numbers);

/// True if two runs have a common index.
bool share_an_index(const IndexRun& a, const IndexRun& b);

/// Merges disjoint runs into ascending pieces: each piece ends before the next begins. Pieces are
/// as long as possible, so runs that do not interleave stay whole.
class RunMerger {
 public:
  void add(const IndexRun& run) { waiting_.push(run); }
  std::optional<IndexRun> next();

 private:
  struct LaterFirst {
    bool operator()(const IndexRun& a, const IndexRun& b) const { return a.first > b.first; }
  };
  std::priority_queue<IndexRun, std::vector<IndexRun>, LaterFirst> waiting_;
};

/// Call emit for every run of indices of 0…count-1 that the merger does not hold, ascending.
void for_each_gap(RunMerger& taken, std::int64_t count,
                  const std::function<void(const IndexRun&)>& emit);

}  // namespace shim::sessions
