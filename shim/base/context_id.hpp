// SPDX-License-Identifier: BSD-3-Clause
// Context id of a communicator: each message carries its receiver's context id, for matching.
//
//   63        32 31              1 0
//   +-----------+----------------+-+
//   |   base    |      path      |c|
//   +-----------+----------------+-+
//
// - base: each member chooses its own when it creates a communicator with communication (unlike a
// duplicate), and never reuses it. Senders use the receiver's base.
// - path: how a duplicate descends from the communicator that was created with this base. A
// communicator numbers its duplicates (its children) 1, 2, 3… A path is a leading 1, followed for
// each generation by the child's number in Elias' delta code (IEEE Trans. Inf. Theory 21, 1975).
// The code needs no separators, so no two communicators with one base have equal paths. Members
// compute the path without communication, because all members duplicate a communicator in the same
// order (MPI-4.1 §7.2; docs/decisions/0033-duplicates-without-communication.md). The 30 bits below
// the leading 1 suffice for four million children of one communicator, or for a duplicate of a
// duplicate … 30 generations deep.
// - c: 1 for messages of collectives, 0 for the user's messages.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "shim/base/ids.hpp"

namespace shim::base {

/// Path of a context id: equal on all members, although their bases may differ.
struct ContextPath {
  std::uint32_t bits = 1;  ///< leading 1, and the children's numbers

  /// Return the path of this communicator's child `number`, from 1; nothing if it needs more bits
  /// than a path has.
  std::optional<ContextPath> child(std::uint32_t number) const {
    constexpr int kBits = 31;
    if (number == 0) return std::nullopt;
    // delta code: the number of binary digits in Elias' gamma code, then the digits but the first
    const int digits = std::bit_width(number);
    // length of the gamma code of `digits`: its b binary digits, after b - 1 zeros
    const int length = 2 * std::bit_width(static_cast<std::uint32_t>(digits)) - 1;
    const int added = length + digits - 1;
    if (std::bit_width(bits) + added > kBits) return std::nullopt;
    const std::uint32_t rest = number - (1u << (digits - 1));  // without the first digit, a 1
    return ContextPath{bits << added | static_cast<std::uint32_t>(digits) << (digits - 1) | rest};
  }
  bool operator==(const ContextPath&) const = default;
};

inline ContextId context_id(std::uint32_t base, ContextPath path, bool collective) {
  return (std::uint64_t{base} << 32) | (std::uint64_t{path.bits} << 1) | (collective ? 1u : 0u);
}

}  // namespace shim::base
