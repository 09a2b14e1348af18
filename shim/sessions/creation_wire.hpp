// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes the messages of the creation protocol. Both ends run one library build on one
// architecture; a malformed message decodes to nothing and never crashes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shim/base/error.hpp"
#include "shim/base/ids.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/member_table.hpp"
#include "shim/sessions/network_address.hpp"

namespace shim::sessions {

/// Identifies a creation: two calls match if their keys are equal in every byte.
struct CreationKey {
  /// parent's id for MPI_Comm_create_group; empty for MPI_Comm_create_from_group
  std::string scope;
  std::string tag;
  std::vector<ProcessRange> ranges;  ///< the group, normalized
  std::string topology{};            ///< TopologyOfGroup::text; empty without topology
  bool operator==(const CreationKey&) const = default;
};
/// Hash for maps.
struct CreationKeyHash {
  std::size_t operator()(const CreationKey& key) const;
};

/// Member to node leader, or node leader to its parent: all entries of the subtree.
struct ContributionMessage {
  CreationKey key;
  MemberTable entries;
};
/// Parent to children, and node leader to local members: all entries, and the id and the VCI that
/// rank 0 chose.
struct OutcomeMessage {
  CreationKey key;
  base::ExtendedId id;
  std::uint8_t vci = 0;
  MemberTable entries;
};
/// Members for which a failed creation does not keep its failure until they call.
struct ExcludedMembers {
  /// Members that called another creation instead, on a disagreement. Their calls fail there; here
  /// they only forward the failure to members that wait for them, and keep nothing for later calls.
  std::vector<ProcessRange> elsewhere;
  std::vector<ProcessRange> dead;
};
/// To all members that wait in the creation: it failed.
struct FailureMessage {
  CreationKey key;
  /// Context base in the contribution that this message answers or withdraws; 0 if there was none.
  /// Prevents a retrying member from mistaking the old failure for a new one.
  std::uint32_t call_id = 0;
  base::ErrorClass error_class = base::ErrorClass::other;
  std::string text;
  ExcludedMembers excluded;
};
/// To a member whose contribution arrived before this process's call: this process ends its last
/// session and returns the contribution.
struct ReturnedContribution {
  CreationKey key;
  std::uint32_t call_id = 0;      ///< context base in the contribution
  std::uint32_t incarnation = 0;  ///< the incarnation that ends
};
/// To a missing member: request its state: waiting in this creation, waiting in others, or aware
/// that it failed.
struct StatusRequest {
  CreationKey key;
  std::uint32_t call_id = 0;    ///< the requester's context base
  std::uint32_t waited_ms = 0;  ///< time the requester has waited
  NetworkAddress requester;     ///< return address; empty on this node
};
struct StatusReply {
  CreationKey asked;
  /// Another thread of that process may call while one waits in a creation.
  bool several_threads = false;
  std::vector<CreationKey> waiting;  ///< the creations in which it waits now
  /// Members it waits for in the creation asked about; empty if it is not in it.
  std::string missing;
  std::uint32_t quiet_ms = 0;  ///< time since that process last began to create a communicator
};

using CreationMessage = std::variant<ContributionMessage, OutcomeMessage, FailureMessage,
                                     StatusRequest, StatusReply, ReturnedContribution>;

std::vector<std::byte> encode(const CreationMessage& message);
/// Return the encoded key; unequal keys have unequal bytes.
std::vector<std::byte> bytes_of(const CreationKey& key);
/// processes: number of processes of the job; a message with more is malformed.
std::optional<CreationMessage> decode(std::span<const std::byte> bytes, std::uint32_t processes);

}  // namespace shim::sessions
