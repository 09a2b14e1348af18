// SPDX-License-Identifier: BSD-3-Clause
// Puts ranges one behind the other and keeps the result as short as possible.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/sessions/group.hpp"

namespace shim::sessions {

/// The result depends on the sequence of processes alone, not on the pieces it came in: each range takes, from left to right,
/// all the processes it can. (No partition of a sequence into ranges has fewer: a part of a range is a range.)
class RangeBuilder {
 public:
  /// start, start+stride, … count of them; a stride of any value where count is 1. Amortised constant time and memory.
  void append(std::uint32_t world, std::int64_t start, std::int64_t count, std::int64_t stride);
  std::vector<Range> take();

 private:
  struct Run {
    std::uint32_t world = 0;
    std::int64_t start = 0, count = 0, stride = 1;
    std::int64_t next() const { return start + count * stride; }
    void drop_first() { start += stride, --count; }
  };
  void flush();

  std::vector<Range> done_;
  Run open_;
};

}  // namespace shim::sessions
