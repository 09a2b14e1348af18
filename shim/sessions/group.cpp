// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/group.hpp"

#include <algorithm>

#include "shim/sessions/range_builder.hpp"

namespace shim::sessions {
namespace {

/// Up to 8 ranges, linear search is as fast as any.
constexpr std::size_t kFewRanges = 8;
/// Ranges that text() shows.
constexpr std::size_t kShownRanges = 24;

std::uint64_t key(std::uint32_t world, std::int64_t rank) {
  return std::uint64_t{world} << 32 | static_cast<std::uint32_t>(rank);
}

/// Return the position of a process in a range, or -1.
std::int64_t position(const ProcessRange& range, base::ProcessId process) {
  if (range.world != process.world) return -1;
  std::int64_t distance = std::int64_t{process.rank} - range.start;
  if (distance % range.stride != 0) return -1;
  std::int64_t index = distance / range.stride;
  return index >= 0 && index < range.count ? index : -1;
}

std::string text_of(const ProcessRange& range) {
  std::string text = range.world == 0 ? "" : "world " + std::to_string(range.world) + ":";
  text += std::to_string(range.start);
  if (range.count == 1) return text;
  bool is_pair = range.count == 2 && range.stride != 1;  // "0, 5" reads better than "0-5:5"
  text += (is_pair ? ", " : "-") + std::to_string(range.at(range.count - 1));
  if (!is_pair && range.stride != 1) text += ":" + std::to_string(range.stride);
  return text;
}

}  // namespace

Group::Group(std::vector<ProcessRange> normalised) : ranges_(std::move(normalised)) {
  first_rank_.reserve(ranges_.size());
  for (const ProcessRange& range : ranges_) {
    first_rank_.push_back(size_);
    size_ += static_cast<int>(range.count);
  }
  if (ranges_.size() > kFewRanges) index_by_process();
}

void Group::index_by_process() {
  by_process_.reserve(ranges_.size());
  for (std::uint32_t i = 0; i < ranges_.size(); ++i)
    by_process_.push_back({key(ranges_[i].world, ranges_[i].lowest()), 0, i});
  std::sort(by_process_.begin(), by_process_.end(),
            [](const Entry& a, const Entry& b) { return a.lowest < b.lowest; });
  std::uint64_t highest = 0;
  for (Entry& entry : by_process_) {
    const ProcessRange& range = ranges_[entry.range];
    entry.highest_so_far = highest = std::max(highest, key(range.world, range.highest()));
  }
}

std::shared_ptr<const Group> Group::empty() { return of_ranges({}); }

std::shared_ptr<const Group> Group::of_ranges(std::vector<ProcessRange> ranges) {
  RangeBuilder builder;
  for (const ProcessRange& range : ranges)
    builder.append(range.world, range.start, range.count, range.stride);
  return std::shared_ptr<const Group>(new Group(builder.take()));
}

std::shared_ptr<const Group> Group::of_ranks(std::span<const std::uint32_t> world_ranks) {
  RangeBuilder builder;
  for (std::uint32_t rank : world_ranks) builder.append(0, rank, 1, 1);
  return std::shared_ptr<const Group>(new Group(builder.take()));
}

base::ProcessId Group::at(int rank) const {
  auto after = std::upper_bound(first_rank_.begin(), first_rank_.end(), rank);
  auto range = static_cast<std::size_t>(after - first_rank_.begin()) - 1;
  return {ranges_[range].world,
          static_cast<std::uint32_t>(ranges_[range].at(rank - first_rank_[range]))};
}

int Group::rank_of(base::ProcessId process) const {
  auto rank_in = [&](std::size_t range) {
    std::int64_t index = position(ranges_[range], process);
    return index < 0 ? kUndefined : first_rank_[range] + static_cast<int>(index);
  };
  if (by_process_.empty()) {
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      if (int rank = rank_in(i); rank != kUndefined) return rank;
    return kUndefined;
  }
  std::uint64_t wanted = key(process.world, process.rank);
  auto after = std::upper_bound(
      by_process_.begin(), by_process_.end(), wanted,
      [](std::uint64_t value, const Entry& entry) { return value < entry.lowest; });
  while (after != by_process_.begin() && (--after)->highest_so_far >= wanted)
    if (int rank = rank_in(after->range); rank != kUndefined) return rank;
  return kUndefined;
}

std::string Group::text() const {
  std::string text = "{";
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (i > 0) text += ", ";
    if (i == kShownRanges) return text + "… " + std::to_string(size_) + " processes in all}";
    text += text_of(ranges_[i]);
  }
  return text + "}";
}

}  // namespace shim::sessions
