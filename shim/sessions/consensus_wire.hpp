// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes the messages of consensus.hpp. A malformed message decodes to nothing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shim::sessions {

/// Identifies a consensus: the communicator, and the number of earlier consensuses on it.
struct ConsensusKey {
  std::string scope;
  std::uint32_t number = 0;
  auto operator<=>(const ConsensusKey&) const = default;
};

// All members are world ranks.

/// Vote of one member.
struct Vote {
  std::int32_t flag = ~0;
  std::vector<std::byte> extra;       ///< opaque here
  std::vector<std::uint32_t> failed;  ///< members that the voter knows to have failed
  /// Subset of `failed` that its program has acknowledged.
  std::vector<std::uint32_t> acknowledged;
};

/// Decision that all members get.
struct Decision {
  struct Counted {
    std::int32_t flag = ~0;
    std::vector<std::byte> extra;
  };
  std::map<std::uint32_t, Counted> votes;
  std::vector<std::uint32_t> failed;
  bool has_unacknowledged = false;  ///< true if a voter has not acknowledged a member of `failed`
};

struct ConsensusMessage {
  enum class Type : std::uint8_t {
    /// Member to coordinator: vote, gone, and the accepted proposal or the final decision.
    join = 0x80,
    /// New coordinator to members, or member to the sender of a proposal that it rejects:
    /// `coordinator` is the coordinator now.
    new_coordinator,
    propose,  ///< coordinator to members
    accept,   ///< member to coordinator
    decide,   ///< coordinator to members: the decision is final
    done,     ///< member to coordinator: it has the decision
    forget,   ///< coordinator to members: all living members have the decision
  };
  Type kind = Type::join;
  ConsensusKey key;
  std::uint32_t coordinator = 0;
  Vote vote;                        ///< join
  std::vector<std::uint32_t> gone;  ///< join: members that the sender considers gone
  /// join: proposer of `decision`; nothing if the decision is final
  std::optional<std::uint32_t> proposed_by;
  std::optional<Decision> decision;  ///< join, propose, decide
};

/// True for consensus messages; messages of creations begin with lower numbers.
inline bool is_of_consensus(std::span<const std::byte> bytes) {
  return !bytes.empty() && (bytes[0] & std::byte{0x80}) != std::byte{0};
}
std::vector<std::byte> encode(const ConsensusMessage& message);
/// @param processes number of processes of the job
std::optional<ConsensusMessage> decode_consensus(std::span<const std::byte> bytes,
                                                 std::uint32_t processes);

}  // namespace shim::sessions
