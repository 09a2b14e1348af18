// SPDX-License-Identifier: BSD-3-Clause
// Selects parts of a group by rank (MPI-4.1 §7.3.2): the incl, excl and range forms, and rank
// translation.
#include <algorithm>

#include "shim/sessions/group.hpp"
#include "shim/sessions/index_runs.hpp"
#include "shim/sessions/range_builder.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

Error bad_rank(std::size_t index, std::int64_t rank, const Group& group) {
  return Error(ErrorClass::rank, "ranks[" + std::to_string(index) + "] is " + std::to_string(rank) +
                                     ", but the group has " + std::to_string(group.size()) +
                                     " processes");
}

std::string text_of(const Triplet& t) {
  return "(" + std::to_string(t[0]) + ", " + std::to_string(t[1]) + ", " + std::to_string(t[2]) +
         ")";
}

/// Append count processes with ranks first, first+step, …; step may be negative.
void append_slice(RangeBuilder& builder, const Group& group, std::int64_t first, std::int64_t count,
                  std::int64_t step) {
  auto firsts = group.first_ranks();
  while (count > 0) {
    auto at = static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), first) -
                                       firsts.begin()) -
              1;
    const ProcessRange& range = group.ranges()[at];
    std::int64_t position = first - firsts[at];
    std::int64_t steps = step > 0 ? (range.count - 1 - position) / step : position / -step;
    std::int64_t part = std::min(count, steps + 1);
    builder.append(range.world, range.at(position), part, range.stride * step);
    first += part * step, count -= part;
  }
}

Status check_ranks(const Group& group, std::span<const int> ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] < 0 || ranks[i] >= group.size()) return bad_rank(i, ranks[i], group);
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return Error(ErrorClass::rank, "rank " + std::to_string(*twice) + " is listed twice");
  return {};
}

/// Return the ranks of a triplet, ascending (MPI-4.1 §7.3.2: first, first+stride, … up to last).
Result<IndexRun> run_of(const Group& group, std::size_t index, const Triplet& t) {
  std::string where = "ranges[" + std::to_string(index) + "] = " + text_of(t);
  std::int64_t first = t[0], last = t[1], stride = t[2];
  if (stride == 0) return Error(ErrorClass::arg, where + " has stride 0");
  if ((stride > 0 && first > last) || (stride < 0 && first < last))
    return Error(ErrorClass::arg, where + ": the stride has the wrong sign");
  std::int64_t steps = (last - first) / stride, end = first + steps * stride;
  for (std::int64_t rank : {first, end})
    if (rank < 0 || rank >= group.size())
      return Error(ErrorClass::rank, where + " has rank " + std::to_string(rank) +
                                         ", but the group has " + std::to_string(group.size()) +
                                         " processes");
  return stride > 0 ? IndexRun{first, steps + 1, stride} : IndexRun{end, steps + 1, -stride};
}

Result<std::vector<IndexRun>> check_triplets(const Group& group,
                                             std::span<const Triplet> triplets) {
  std::vector<std::pair<IndexRun, std::size_t>> runs;
  for (std::size_t i = 0; i < triplets.size(); ++i) {
    SHIM_TRY_ASSIGN(IndexRun run, run_of(group, i, triplets[i]));
    runs.emplace_back(run, i);
  }
  std::vector<IndexRun> result;
  for (const auto& [run, index] : runs) result.push_back(run);
  std::sort(runs.begin(), runs.end(),
            [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = i + 1; j < runs.size() && runs[j].first.first <= runs[i].first.last(); ++j)
      if (share_an_index(runs[i].first, runs[j].first))
        return Error(ErrorClass::rank, "ranges " + text_of(triplets[runs[i].second]) + " and " +
                                           text_of(triplets[runs[j].second]) +
                                           " have a rank in common");
  return result;
}

GroupPtr ranks_except(const Group& group, RunMerger& taken) {
  RangeBuilder builder;
  for_each_gap(taken, group.size(), [&](const IndexRun& gap) {
    append_slice(builder, group, gap.first, gap.count, gap.step);
  });
  return Group::of_ranges(builder.take());
}

}  // namespace

Result<GroupPtr> include(const Group& group, std::span<const int> ranks) {
  SHIM_TRY(check_ranks(group, ranks));
  RangeBuilder builder;
  for (int rank : ranks) append_slice(builder, group, rank, 1, 1);
  return Group::of_ranges(builder.take());
}

Result<GroupPtr> exclude(const Group& group, std::span<const int> ranks) {
  SHIM_TRY(check_ranks(group, ranks));
  RunMerger taken;
  for (int rank : ranks) taken.add({rank, 1, 1});
  return ranks_except(group, taken);
}

Result<GroupPtr> range_include(const Group& group, std::span<const Triplet> triplets) {
  SHIM_TRY_ASSIGN(auto runs, check_triplets(group, triplets));
  RangeBuilder builder;
  for (std::size_t i = 0; i < runs.size(); ++i)
    append_slice(builder, group, triplets[i][0], runs[i].count, triplets[i][2]);
  return Group::of_ranges(builder.take());
}

Result<GroupPtr> range_exclude(const Group& group, std::span<const Triplet> triplets) {
  SHIM_TRY_ASSIGN(auto runs, check_triplets(group, triplets));
  RunMerger taken;
  for (const IndexRun& run : runs) taken.add(run);
  return ranks_except(group, taken);
}

Result<std::vector<int>> translate(const Group& from, std::span<const int> ranks, const Group& to) {
  std::vector<int> result;
  result.reserve(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    bool is_null = ranks[i] == p2p::kProcNull;
    if (!is_null && (ranks[i] < 0 || ranks[i] >= from.size())) return bad_rank(i, ranks[i], from);
    result.push_back(is_null ? p2p::kProcNull : to.rank_of(from.at(ranks[i])));
  }
  return result;
}

}  // namespace shim::sessions
