// SPDX-License-Identifier: BSD-3-Clause
// The hardware of the own node: found out by one process, once, and read by the others.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/bootstrap/hardware.hpp"
#include "shim/bootstrap/node_segment.hpp"

namespace shim::bootstrap {

/// Thread-safe. Nothing happens before somebody asks.
class NodeHardware {
 public:
  using Discover = std::function<base::Result<HardwareMap>()>;
  /// How long one waits for another who is finding out. After it, or when that one is dead, one finds out alone.
  static constexpr double kPatienceSeconds = 1;

  /// Null: no other process of the job is on the node, or none is to be met there. `own` is where this process may run, if there is no
  /// segment to say so. The segment outlives this.
  NodeHardware(NodeSegment* segment, const CoreSet& own, Discover discover = discover_hardware, double patience_s = kPatienceSeconds)
      : segment_(segment), own_(own), discover_(std::move(discover)), patience_s_(patience_s) {}

  /// Local but for kPatienceSeconds at most. Errors: those of discover_hardware, once for all.
  base::Result<const HardwareMap*> map();
  /// On which cores each process of the node could run when it first began, by slot; nothing until all have begun. From then on
  /// all processes get the same.
  std::optional<std::vector<CoreSet>> first_cores() const;

  /// Is this process the one that found out? For tests and measurements.
  bool has_discovered() const { return has_discovered_; }

 private:
  base::Result<HardwareMap> find();
  base::Result<HardwareMap> discover();

  NodeSegment* const segment_;
  const CoreSet own_;
  const Discover discover_;
  const double patience_s_;
  std::mutex mutex_;  ///< guards what follows
  std::optional<base::Result<HardwareMap>> found_;
  bool has_discovered_ = false;
};

}  // namespace shim::bootstrap
