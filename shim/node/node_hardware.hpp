// SPDX-License-Identifier: BSD-3-Clause
// NodeHardware discovers this node's hardware in one process and shares the result.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/node/hardware.hpp"
#include "shim/node/node_segment.hpp"

namespace shim::node {

/// Thread-safe. Does nothing before the first request (docs/decisions/0026-hardware-on-demand.md).
class NodeHardware {
 public:
  using Discover = std::function<base::Result<HardwareMap>()>;
  /// Limit for waiting for the discovering process. Afterwards, or if that process is dead, this
  /// process discovers the hardware itself.
  static constexpr double kDiscoveryTimeoutSeconds = 1;

  /// @param segment outlives this object; null if no other process of the job uses a segment on
  /// this node
  /// @param own cores of this process, used if there is no segment
  NodeHardware(NodeSegment* segment, const CoreSet& own, Discover discover = discover_hardware,
               double timeout_s = kDiscoveryTimeoutSeconds)
      : segment_(segment), own_(own), discover_(std::move(discover)), timeout_s_(timeout_s) {}

  /// Return the hardware. Blocks for at most kDiscoveryTimeoutSeconds besides its own discovery.
  /// Errors: as discover_hardware(); an error is returned at every later call.
  base::Result<const HardwareMap*> map();
  /// Return the cores that each process of the node had when it first attached, by slot; nothing
  /// until all processes have attached. All processes get equal results.
  std::optional<std::vector<CoreSet>> first_cores() const;

  /// True if this process has discovered the hardware itself. For tests and measurements.
  bool has_discovered() const { return has_discovered_; }

 private:
  base::Result<HardwareMap> find();
  base::Result<HardwareMap> discover();

  NodeSegment* const segment_;
  const CoreSet own_;
  const Discover discover_;
  const double timeout_s_;
  std::mutex mutex_;  ///< guards what follows
  std::optional<base::Result<HardwareMap>> found_;
  bool has_discovered_ = false;
};

}  // namespace shim::node
