// SPDX-License-Identifier: BSD-3-Clause
// The hardware that a process may run on, as hwloc sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/bootstrap/core_set.hpp"

namespace shim::bootstrap {

struct HardwareResource {
  std::string type;            ///< hwloc's name of it: "Package", "NUMANode", "L3Cache", "Core", "PU" …
  bool is_restricted = false;  ///< the process is bound to a part of one instance
  int instance = -1;           ///< which one, in hwloc's order on this machine
};

/// A machine as a table: for every kind of hardware, and every hardware thread as the kernel numbers it, the instance that the thread
/// is part of. It says nothing about the process that found it out, so one process of a node can do so for all.
class HardwareMap {
 public:
  static constexpr std::size_t kMostKinds = 32, kMostCores = 1024;
  static constexpr std::size_t kLongestType = 23;
  static constexpr std::uint16_t kNowhere = 0xffff;
  /// No map takes more bytes as encode() writes it.
  static constexpr std::size_t kMostBytes = 8 + kMostKinds * (kLongestType + 1 + kMostCores * sizeof(std::uint16_t));

  struct Kind {
    std::string type;
    std::vector<std::uint16_t> instance_of;  ///< of each core, kNowhere where it is part of none
    bool operator==(const Kind&) const = default;
  };

  HardwareMap() = default;
  /// Kinds: the largest first. Whatever is beyond the limits above is left out; all kinds get as many cores as the one with most.
  explicit HardwareMap(std::vector<Kind> kinds);
  const std::vector<Kind>& kinds() const { return kinds_; }

  /// What somebody who may run on these cores is bound to, kind by kind.
  std::vector<HardwareResource> resources_of(const CoreSet& cores) const;
  /// The instance of this kind that all these cores are part of; nothing where there is none.
  std::optional<std::uint32_t> instance_of(std::string_view type, const CoreSet& cores) const;

  std::vector<std::byte> encode() const;
  /// Nothing for bytes that encode() has not written.
  static std::optional<HardwareMap> decode(std::span<const std::byte> bytes);
  bool operator==(const HardwareMap&) const = default;

 private:
  std::vector<Kind> kinds_;
};

/// Asks hwloc, which takes milliseconds; loads it. Local. All hardware of the machine counts, whether or not this process may use it,
/// so that all processes of a node see the same. Errors: other (it cannot be loaded, or finds nothing; the text says what to install).
base::Result<HardwareMap> discover_hardware();

}  // namespace shim::bootstrap
