// SPDX-License-Identifier: BSD-3-Clause
// What processes tell each other about sets that they publish, as bytes of notices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shim/sessions/group.hpp"

namespace shim::sessions {

struct PsetNotice {
  enum class Kind : std::uint8_t {
    wanted = 'w',     ///< its poster wants to publish this set; says nothing to those who look for sets
    granted = 'g',    ///< the set of this name that its poster wanted last is published
    withdrawn = 'x',  ///< its poster wants it no more
  };
  Kind kind = Kind::wanted;
  std::string name;
  GroupPtr group;  ///< of wanted alone
};

/// A group costs 12 bytes for each of its ranges.
std::vector<std::byte> encode(const PsetNotice& notice);
/// Nothing for bytes that are no such notice, or whose processes a world of this size does not have, or has twice.
std::optional<PsetNotice> decode_pset_notice(std::span<const std::byte> bytes, std::uint32_t world_size);

}  // namespace shim::sessions
