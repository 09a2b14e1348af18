// SPDX-License-Identifier: BSD-3-Clause
// RangeBuilder concatenates ranges into the shortest list of ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/sessions/group.hpp"

namespace shim::sessions {

/// The result depends only on the sequence of processes, not on the pieces appended: from left to
/// right, each range takes as many processes as possible. (This is minimal, because a part of a
/// range is a range.)
class RangeBuilder {
 public:
  /// Append count processes: start, start+stride, …; any stride if count is 1. Amortized constant
  /// time and memory.
  void append(std::uint32_t world, std::int64_t start, std::int64_t count, std::int64_t stride);
  std::vector<ProcessRange> take();

 private:
  struct Run {
    std::uint32_t world = 0;
    std::int64_t start = 0, count = 0, stride = 1;
    std::int64_t next() const { return start + count * stride; }
    void drop_first() { start += stride, --count; }
  };
  void flush();

  std::vector<ProcessRange> done_;
  Run open_;
};

}  // namespace shim::sessions
