// SPDX-License-Identifier: BSD-3-Clause
// HardwareMap is the machine's hardware as hwloc reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/node/core_set.hpp"

namespace shim::node {

struct HardwareResource {
  std::string type;            ///< hwloc's name: "Package", "NUMANode", "L3Cache", "Core", "PU" …
  bool is_restricted = false;  ///< the process is bound to a part of one instance
  int instance = -1;           ///< index of that instance in hwloc's order on this machine
};

/// Table of a machine: for each kind of hardware and each hardware thread (kernel numbering), the
/// instance that contains the thread. Independent of the process that discovered it, so one process
/// can do so for its node.
class HardwareMap {
 public:
  static constexpr std::size_t kMaxKinds = 32, kMaxCores = 1024;
  static constexpr std::size_t kMaxType = 23;
  static constexpr std::uint16_t kNowhere = 0xffff;
  /// Upper limit for the size of encode()'s result.
  static constexpr std::size_t kMaxBytes = 8 + kMaxKinds * (kMaxType + 1 +
                                                            kMaxCores * sizeof(std::uint16_t));

  struct ResourceType {
    std::string type;
    std::vector<std::uint16_t> instance_of;  ///< by core; kNowhere if no instance contains the core
    bool operator==(const ResourceType&) const = default;
  };

  HardwareMap() = default;
  /// Make a map of kinds, the largest first. Kinds and cores beyond the limits above are dropped;
  /// all kinds get the core count of the kind that has most.
  explicit HardwareMap(std::vector<ResourceType> kinds);
  const std::vector<ResourceType>& kinds() const { return kinds_; }

  /// Return, for each kind, the resource that a process with these cores is bound to.
  std::vector<HardwareResource> resources_of(const CoreSet& cores) const;
  /// Return the instance of this kind that contains all these cores; nothing if there is none.
  std::optional<std::uint32_t> instance_of(std::string_view type, const CoreSet& cores) const;

  std::vector<std::byte> encode() const;
  /// Return the decoded map; nothing if `bytes` is not a result of encode().
  static std::optional<HardwareMap> decode(std::span<const std::byte> bytes);
  bool operator==(const HardwareMap&) const = default;

 private:
  std::vector<ResourceType> kinds_;
};

/// Load hwloc and query it, which takes milliseconds. Local. Includes hardware that this process
/// may not use, so that all processes of a node get equal maps. Errors: other (hwloc cannot be
/// loaded, or finds nothing; the text names the package to install).
base::Result<HardwareMap> discover_hardware();

}  // namespace shim::node
