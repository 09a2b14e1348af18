// SPDX-License-Identifier: BSD-3-Clause
// The small id of a communicator: what a message carries so that its receiver finds the right queues.
//
//   63        32 31            4 3    1 0
//   +-----------+---------------+-----+-+
//   |   base    |     path      | dep |c|
//   +-----------+---------------+-----+-+
//
// base: chosen by the receiver at a creation that communicates anyway; never used twice in the life of a process.
// path: four levels of seven bits. A duplicate takes its parent's next number on the level below the parent's, so that a
//       duplicate needs no communication: all members of the parent duplicate it in the same order (MPI-4.1 §7.2).
// dep:  how many levels of path are in use.     c: 1 for messages of collectives, 0 for the user's own.
#pragma once

#include <cstdint>
#include <optional>

#include "shim/base/ids.hpp"

namespace shim::base {

inline constexpr int kPathLevels = 4;
inline constexpr int kPathBits = 7;
/// Duplicates that one communicator can have without communication; number 0 is not used.
inline constexpr std::uint32_t kMaxChild = (1u << kPathBits) - 1;

/// Everything of a context id but its base: equal on all members, whatever bases they chose.
struct ContextPath {
  std::uint32_t bits = 0;

  int depth() const { return static_cast<int>(bits >> 1 & 7u); }
  /// The path of the parent's child number `child` (1…kMaxChild); nothing when the levels are used up.
  std::optional<ContextPath> child(std::uint32_t child) const {
    int level = depth();
    if (level >= kPathLevels || child == 0 || child > kMaxChild) return std::nullopt;
    std::uint32_t next = bits & ~0xeu;
    next |= child << (4 + level * kPathBits);
    next |= static_cast<std::uint32_t>(level + 1) << 1;
    return ContextPath{next};
  }
  bool operator==(const ContextPath&) const = default;
};

inline ContextId context_id(std::uint32_t base, ContextPath path, bool collective) {
  return (std::uint64_t{base} << 32) | path.bits | (collective ? 1u : 0u);
}

}  // namespace shim::base
