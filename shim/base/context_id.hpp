// SPDX-License-Identifier: BSD-3-Clause
// The small id of a communicator: what a message carries so that its receiver finds the right queues.
//
//   63        32 31              1 0
//   +-----------+----------------+-+
//   |   base    |      path      |c|
//   +-----------+----------------+-+
//
// base: chosen by the receiver at a creation that communicates anyway; never used twice in the life of a process.
// path: the way down from the communicator that was created then. Its children are numbered 1, 2, 3…, and each step is the child's
//       number in Elias' delta code (IEEE Trans. Inf. Theory 21, 1975), behind those of its parent, behind a leading 1. The code
//       needs no separators, so that no two communicators have the same path. A duplicate so needs no communication: all members of
//       the parent duplicate it in the same order (MPI-4.1 §7.2). 30 bits hold the numbers of four million children of one
//       communicator, or of 30 that are each other's only child, and of a child's children the more the lower its number is.
// c:    1 for messages of collectives, 0 for the user's own.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "shim/base/ids.hpp"

namespace shim::base {

/// Everything of a context id but its base: equal on all members, whatever bases they chose.
struct ContextPath {
  std::uint32_t bits = 1;  ///< the leading 1, and what follows it

  /// The path of the parent's child with this number, from 1 on; nothing where it does not fit.
  std::optional<ContextPath> child(std::uint32_t number) const {
    constexpr int kBits = 31;
    if (number == 0) return std::nullopt;
    const int digits = std::bit_width(number);                                            // of the number, the first one a 1
    const int length = 2 * std::bit_width(static_cast<std::uint32_t>(digits)) - 1;        // of `digits` in Elias' gamma code
    const int added = length + digits - 1;
    if (std::bit_width(bits) + added > kBits) return std::nullopt;
    const std::uint32_t rest = number - (1u << (digits - 1));                             // without its first digit
    return ContextPath{bits << added | static_cast<std::uint32_t>(digits) << (digits - 1) | rest};
  }
  bool operator==(const ContextPath&) const = default;
};

inline ContextId context_id(std::uint32_t base, ContextPath path, bool collective) {
  return (std::uint64_t{base} << 32) | (std::uint64_t{path.bits} << 1) | (collective ? 1u : 0u);
}

}  // namespace shim::base
