// SPDX-License-Identifier: BSD-3-Clause
// Computes union, intersection and difference of groups range by range (MPI-4.1 §7.3.2).
#include "shim/sessions/group.hpp"
#include "shim/sessions/index_runs.hpp"
#include "shim/sessions/range_builder.hpp"

namespace shim::sessions {
namespace {

/// Return the positions in a range whose processes are members of the group.
RunMerger positions_in(const ProcessRange& range, const Group& group) {
  RunMerger found;
  if (range.count <= group.ranges().size()) {  // faster: look up each process
    for (std::uint32_t i = 0; i < range.count; ++i)
      if (group.rank_of({range.world, static_cast<std::uint32_t>(range.at(i))}) != kUndefined)
        found.add({i, 1, 1});
    return found;
  }
  for (const ProcessRange& other : group.ranges()) {
    if (other.world != range.world) continue;
    std::int64_t step = other.stride > 0 ? other.stride : -std::int64_t{other.stride};
    if (auto run = indices_within(range.start, range.count, range.stride,
                                  {other.lowest(), other.count, step}))
      found.add(*run);
  }
  return found;
}

void append_part(RangeBuilder& builder, const ProcessRange& range, const IndexRun& positions) {
  builder.append(range.world, range.at(positions.first), positions.count,
                 range.stride * positions.step);
}

void append_difference(RangeBuilder& builder, const Group& a, const Group& b) {
  for (const ProcessRange& range : a.ranges()) {
    RunMerger taken = positions_in(range, b);
    for_each_gap(taken, range.count,
                 [&](const IndexRun& gap) { append_part(builder, range, gap); });
  }
}

}  // namespace

GroupPtr set_union(const Group& a, const Group& b) {
  RangeBuilder builder;
  for (const ProcessRange& range : a.ranges())
    builder.append(range.world, range.start, range.count, range.stride);
  append_difference(builder, b, a);
  return Group::of_ranges(builder.take());
}

GroupPtr set_intersection(const Group& a, const Group& b) {
  RangeBuilder builder;
  for (const ProcessRange& range : a.ranges()) {
    RunMerger common = positions_in(range, b);
    while (auto piece = common.next()) append_part(builder, range, *piece);
  }
  return Group::of_ranges(builder.take());
}

GroupPtr set_difference(const Group& a, const Group& b) {
  RangeBuilder builder;
  append_difference(builder, a, b);
  return Group::of_ranges(builder.take());
}

Comparison compare(const Group& a, const Group& b) {
  if (a == b) return Comparison::identical;
  return a.size() == b.size() && set_difference(a, b)->size() == 0 ? Comparison::similar
                                                                   : Comparison::unequal;
}

}  // namespace shim::sessions
