// SPDX-License-Identifier: BSD-3-Clause
// Segments cuts long data that processes send along a chain, so that all of them work at once.
#pragma once

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

/// Data cut into segments of about `wanted` bytes, at least one.
struct Segments {
  Segments(const Operands& of, std::uint64_t wanted)
      : operands(of),
        parts{of.count, std::max<std::uint64_t>(1, (of.bytes() + wanted - 1) / wanted)} {}

  Operands operands;
  EvenParts parts;

  int count() const { return static_cast<int>(parts.parts); }
  std::uint64_t items(int segment) const { return parts.count(segment); }
  template <typename Pointer>
  auto at(Pointer array, int segment) const {
    return operands.at(array, parts.first(segment));
  }
  types::Buffer of(void* array, int segment) const {
    return {at(array, segment), items(segment), operands.type};
  }
  types::ConstBuffer of(const void* array, int segment) const {
    return {at(array, segment), items(segment), operands.type};
  }
};

// Long enough to amortize the cost of a message, short enough to stay in a core's cache between
// receive and send.
inline constexpr std::uint64_t kChainSegmentBytes = 256 * 1024;

/// Post sends of all segments to one process, at most kWindow in flight; the caller awaits the last
/// ones.
Task post_segments(Call call, Segments segments, const void* data, int dest);

}  // namespace shim::coll
