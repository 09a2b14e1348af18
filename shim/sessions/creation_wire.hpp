// SPDX-License-Identifier: BSD-3-Clause
// Messages of the creation protocol as bytes. Both ends are the same library on the same architecture; a message that is not
// well formed decodes to nothing, never to a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shim/base/error.hpp"
#include "shim/base/ids.hpp"
#include "shim/sessions/creation_table.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/network_address.hpp"

namespace shim::sessions {

/// What makes two calls the same creation: all of it, to the last byte.
struct CreationKey {
  std::string scope;          ///< empty for MPI_Comm_create_from_group; else the parent's id (MPI_Comm_create_group)
  std::string tag;
  std::vector<Range> ranges;  ///< the group, normalised
  bool operator==(const CreationKey&) const = default;
};
/// For maps.
struct CreationKeyHash {
  std::size_t operator()(const CreationKey& key) const;
};

/// Member to node root, node root to its parent: all entries of the subtree.
struct Contribution {
  CreationKey key;
  MemberTable entries;
};
/// Down the same ways: all entries, the id that the leader made, and the lane that it chose.
struct Outcome {
  CreationKey key;
  base::ExtendedId id;
  std::uint8_t lane = 0;
  MemberTable entries;
};
/// Members that a creation which has failed does not wait for, to tell them.
struct Absent {
  /// Where members disagree: those who have called another creation instead. They are told there; here they only pass this on to
  /// those who wait for them, and keep nothing of it for calls to come.
  std::vector<Range> elsewhere;
  std::vector<Range> dead;
};
/// To everybody who waits in the creation: it has failed.
struct Failure {
  CreationKey key;
  /// The context base in the contribution that this message answers or takes back; 0 where there was none. (A member that tries
  /// again must not take the old failure for a new one.)
  std::uint32_t call = 0;
  base::ErrorClass error_class = base::ErrorClass::other;
  std::string text;
  Absent absent;
};
/// To one whose contribution has come before our own call: this process ends its last session, so it gives it back.
struct Returned {
  CreationKey key;
  std::uint32_t call = 0;  ///< the context base in the contribution
  std::uint32_t life = 0;  ///< that ends
};
/// To one who is waited for: are you in this creation, or in others, or do you know that it has failed?
struct Question {
  CreationKey key;
  std::uint32_t call = 0;       ///< the asker's context base
  std::uint32_t waited_ms = 0;  ///< how long it has waited
  NetworkAddress asker;         ///< where the answer can be sent to; on the own node it has no bytes
};
struct Answer {
  CreationKey asked;
  bool several_threads = false;      ///< while one thread of that process waits in a creation, another may call
  std::vector<CreationKey> waiting;  ///< the creations in which it waits now
  std::string missing;               ///< for whom it waits in the one that was asked for; empty where it is not in it
  std::uint32_t quiet_ms = 0;  ///< since that process last began to create a communicator
};

using CreationMessage = std::variant<Contribution, Outcome, Failure, Question, Answer, Returned>;

std::vector<std::byte> encode(const CreationMessage& message);
/// The key alone: different for keys that differ.
std::vector<std::byte> bytes_of(const CreationKey& key);
/// processes: of the job; no message of it tells of more.
std::optional<CreationMessage> decode(std::span<const std::byte> bytes, std::uint32_t processes);

}  // namespace shim::sessions
