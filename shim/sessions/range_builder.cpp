// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/range_builder.hpp"

#include <limits>
#include <utility>

namespace shim::sessions {
namespace {
bool fits(std::int64_t stride) {
  return stride >= std::numeric_limits<std::int32_t>::min() &&
         stride <= std::numeric_limits<std::int32_t>::max();
}
}  // namespace

void RangeBuilder::append(std::uint32_t world, std::int64_t start, std::int64_t count,
                          std::int64_t stride) {
  Run in{world, start, count, stride};
  while (in.count > 0) {
    bool may_join = open_.count > 0 && open_.world == in.world;
    if (may_join && open_.count == 1 && fits(in.start - open_.start))
      open_.stride = in.start - open_.start;
    if (may_join && in.start == open_.next() && in.start != open_.start) {
      bool whole = in.count == 1 || in.stride == open_.stride;
      open_.count += whole ? in.count : 1;
      if (whole) return;
      in.drop_first();
    } else if (open_.count == 0 && (in.count == 1 || fits(in.stride))) {
      open_ = in;
      return;
    } else if (open_.count == 0) {  // a stride that no range can hold: one process at a time
      open_ = Run{in.world, in.start, 1, 1};
      in.drop_first();
    } else {
      flush();
    }
  }
}

void RangeBuilder::flush() {
  done_.push_back({open_.world, static_cast<std::uint32_t>(open_.start),
                   static_cast<std::uint32_t>(open_.count),
                   open_.count == 1 ? 1 : static_cast<std::int32_t>(open_.stride)});
  open_ = Run{};
}

std::vector<ProcessRange> RangeBuilder::take() {
  if (open_.count > 0) flush();
  return std::exchange(done_, {});
}

}  // namespace shim::sessions
