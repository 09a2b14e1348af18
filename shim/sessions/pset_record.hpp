// SPDX-License-Identifier: BSD-3-Clause
// PsetRecord is a record of the KVS log about a published process set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shim/sessions/group.hpp"

namespace shim::sessions {

struct PsetRecord {
  /// The writer wants to publish this set; readers of sets ignore it.
  enum class State : std::uint8_t {
    wanted = 'w',
    granted = 'g',    ///< the set that the writer last wanted under this name is published
    withdrawn = 'x',  ///< the writer no longer wants it
  };
  State kind = State::wanted;
  std::string name;
  GroupPtr group;  ///< kind wanted only
};

/// Encode a record; a group takes 12 bytes per range.
std::vector<std::byte> encode(const PsetRecord& record);
/// Return nothing for malformed bytes, and for groups with ranks beyond the world or repeated
/// ranks.
std::optional<PsetRecord> decode_pset_record(std::span<const std::byte> bytes,
                                             std::uint32_t world_size);

}  // namespace shim::sessions
