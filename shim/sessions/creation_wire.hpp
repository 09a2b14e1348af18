// SPDX-License-Identifier: BSD-3-Clause
// Messages of the creation protocol as bytes. Both ends are the same library on the same architecture; a message that is not
// well formed decodes to nothing, never to a crash.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shim/base/error.hpp"
#include "shim/base/ids.hpp"
#include "shim/sessions/group.hpp"
#include "shim/transport/transport.hpp"

namespace shim::sessions {

/// What makes two calls the same creation: all of it, to the last byte.
struct CreationKey {
  std::string scope;          ///< empty for MPI_Comm_create_from_group; else the parent's id (MPI_Comm_create_group)
  std::string tag;
  std::vector<Range> ranges;  ///< the group, normalised
  bool operator==(const CreationKey&) const = default;
  /// For maps.
  std::string bytes() const;
};

/// What one member brings.
struct Entry {
  std::uint32_t context_base = 0;
  transport::Bytes address;  ///< on the fabric; empty where the group stays on one node
  bool operator==(const Entry&) const = default;
};
using Entries = std::map<int, Entry>;  ///< by group rank

/// Member to node root, node root to its parent: all entries of the subtree.
struct Contribution {
  CreationKey key;
  Entries entries;
};
/// Down the same ways: all entries, and the id that the leader made.
struct Outcome {
  CreationKey key;
  base::ExtendedId id;
  Entries entries;
};
/// To everybody who waits in the creation: it has failed.
struct Failure {
  CreationKey key;
  base::ErrorClass error_class = base::ErrorClass::other;
  std::string text;
};
/// To one who is waited for: are you in this creation, or in others?
struct Question {
  CreationKey key;
};
struct Answer {
  CreationKey asked;
  bool several_threads = false;      ///< more than one thread of that process has created communicators
  std::vector<CreationKey> waiting;  ///< the creations in which it waits now
};

using CreationMessage = std::variant<Contribution, Outcome, Failure, Question, Answer>;

std::vector<std::byte> encode(const CreationMessage& message);
std::optional<CreationMessage> decode(std::span<const std::byte> bytes);

}  // namespace shim::sessions
