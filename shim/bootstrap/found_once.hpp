// SPDX-License-Identifier: BSD-3-Clause
// What one process of a node finds out for all of them: bytes in the node segment.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "shim/base/result.hpp"
#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

class NodeSegment;

/// Which process finds it out, and how far it is. In the node segment.
/// `state` is 0 (nobody has begun), kWritten (the bytes are there, for ever), or the slot of the one who finds out, plus 1.
struct alignas(64) FoundControl {
  static constexpr std::uint32_t kNobody = 0, kWritten = 0xffff'ffff;
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> bytes;  ///< how many there are; written before `state` says so
};
static_assert(sizeof(FoundControl) == 64);

/// Where in the segment: `room` is backed with memory before it is written.
struct FoundPlace {
  FoundControl& control;
  std::span<std::byte> room;
};

/// The segment outlives it.
class FoundOnce {
 public:
  /// patience_s: how long one waits for another who is finding out. After it, or when that one is dead, one finds out alone.
  FoundOnce(NodeSegment& segment, FoundPlace place, double patience_s) : segment_(segment), place_(place), patience_s_(patience_s) {}

  struct Found {
    std::span<const std::byte> bytes;  ///< in the segment, or of `own`
    std::shared_ptr<const Bytes> own;  ///< where this process has found out alone, or the segment has no room
  };
  using Find = std::function<base::Result<Bytes>()>;
  /// Local but for the patience. Errors: those of `find`; others may then try.
  base::Result<Found> get(const Find& find);

 private:
  std::optional<Found> read() const;
  bool claim();
  bool publish(const Bytes& bytes);

  NodeSegment& segment_;
  const FoundPlace place_;
  const double patience_s_;
};

}  // namespace shim::bootstrap
