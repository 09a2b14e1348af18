// SPDX-License-Identifier: BSD-3-Clause
// MatchBits lays out the bits by which a provider matches. From the highest to the lowest:
//
//   | base | path | plane | source | tag |
//
// - tag: 31 bits, enough for any tag.
// - source: 12 bits, the sender's rank; none if receives name the sender's address
//   (FI_DIRECTED_RECV).
// - plane: 1 bit, the lowest of the context id (base/context_id.hpp): collective or user message.
// - base, path: of the context id, an equal share of the remaining bits, the base with the odd one.
//   With 64 bits: 16 and 16, or 10 and 10 beside a source; with 48, as in cxi, 8 and 8.
//
// The provider does not match messages whose context id or source rank does not fit; both ends can
// compute that.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "shim/transport/matching.hpp"

namespace shim::transport {

class MatchBits {
 public:
  static constexpr int kTag = 31, kPlane = 1, kSource = 12;
  /// Minimum for base and path each: with fewer, hardly any communicator would fit.
  static constexpr int kLeast = 4;

  /// Return the layout; nullopt if the provider has too few bits.
  static std::optional<MatchBits> of(int bits, bool names_sender) {
    const int source = names_sender ? 0 : kSource, left = bits - kTag - kPlane - source;
    if (left < 2 * kLeast) return std::nullopt;
    return MatchBits(source, left - left / 2, left / 2);
  }

  bool takes(base::ContextId context, std::int32_t source) const {
    return source >= 0 && base_of(context) >> base_ == 0 && path_of(context) >> path_ == 0 &&
           (source_ == 0 || static_cast<std::uint32_t>(source) >> source_ == 0);
  }
  std::uint64_t of(const Envelope& envelope) const {
    std::uint64_t bits = base_of(envelope.context);
    bits = bits << path_ | path_of(envelope.context);
    bits = bits << kPlane | (envelope.context & 1);
    bits = bits << source_ | (source_ == 0 ? 0 : static_cast<std::uint32_t>(envelope.source));
    return bits << kTag |
           (envelope.tag == kMatchAnyTag ? 0 : static_cast<std::uint32_t>(envelope.tag));
  }
  /// Return the bits that a receive does not compare.
  static std::uint64_t ignored(const Envelope& wanted) {
    return wanted.tag == kMatchAnyTag ? (std::uint64_t{1} << kTag) - 1 : 0;
  }
  /// Return the bits that a drain of one context does not compare.
  std::uint64_t ignored_of_context() const { return (std::uint64_t{1} << (kTag + source_)) - 1; }
  bool names_sender() const { return source_ == 0; }
  /// Return the layout's number, which the peer compares with its own.
  std::uint32_t number() const {
    return static_cast<std::uint32_t>(base_ << 16 | path_ << 8 | source_);
  }

 private:
  MatchBits(int source, int base, int path) : source_(source), base_(base), path_(path) {}
  static std::uint64_t base_of(base::ContextId context) { return context >> 32; }
  static std::uint64_t path_of(base::ContextId context) { return (context & 0xffffffff) >> 1; }

  int source_, base_, path_;  ///< widths in bits
};

}  // namespace shim::transport
