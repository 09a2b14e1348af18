// SPDX-License-Identifier: BSD-3-Clause
// Creation of communicators: how the members of a group, and nobody else, come to an agreement (docs/architecture.md, "How a
// communicator comes to be").
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>

#include "shim/base/clock.hpp"
#include "shim/base/result.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/root_addresses.hpp"

namespace shim::sessions {

class Process;

/// What the members of a creation agree on.
struct Agreement {
  base::ExtendedId id;
  std::shared_ptr<const p2p::ContextBases> bases;
  std::uint32_t own_base = 0;
};

/// One creation as this process sees it: its own call, or what others have sent before it called.
struct Creation {
  CreationKey key;
  GroupPtr group;
  CreationRoles roles;
  bool joined = false;           ///< this process has called and waits
  Entries entries;               ///< that have come, the own one included
  std::set<int> contributed;     ///< direct partners that have sent theirs
  std::unique_ptr<AddressSearch> search;  ///< node roots of a group that spans nodes
  bool sent_up = false;

  std::optional<Agreement> agreement;
  std::optional<base::Error> failure;
  /// Partners that have not been told of the failure, because they have not come yet; self among them if it has not called.
  std::set<int> untold;

  base::Nanoseconds started = 0, next_look = 0, next_report = 0;
  std::string heard;             ///< what those who were asked have answered, for the report

  bool is_over() const { return agreement.has_value() || failure.has_value(); }
};
using CreationPtr = std::shared_ptr<Creation>;

/// All creations of one process. Thread-safe; lock order: this object's mutex, then the engine's lock.
class Creations {
 public:
  explicit Creations(Process& process);
  ~Creations();
  Creations(const Creations&) = delete;
  Creations& operator=(const Creations&) = delete;

  struct Call {
    std::string scope;  ///< see CreationKey
    std::string tag;
    GroupPtr group;     ///< the caller must be a member
  };
  /// Collective over the group and nobody else. Errors: not_same, proc_aborted, other, as in create_from_group.
  base::Result<Agreement> agree(const Call& call);

 private:
  void on_control(base::ProcessId from, std::span<const std::byte> bytes);
  // creation_messages.cpp; with the mutex held
  void handle(base::ProcessId from, Contribution message);
  void handle(base::ProcessId from, Outcome message);
  void handle(base::ProcessId from, Failure message);
  void handle(base::ProcessId from, Question message);
  void handle(base::ProcessId from, Answer message);
  CreationPtr find(const CreationKey& key) const;
  CreationPtr find_or_begin(const CreationKey& key);
  void forget(const Creation& creation);
  void send(const Creation& to, int rank, const CreationMessage& message);
  void send(base::ProcessId to, const CreationMessage& message);
  /// Ends the creation here and tells all partners that wait in it; `told` knows already.
  void fail(const CreationPtr& creation, const base::Error& error, std::set<int> told);
  void finish(const CreationPtr& creation, base::ExtendedId id, const Entries& entries);

  // creation.cpp
  base::Result<CreationPtr> join(const Call& call);
  base::Result<Entry> own_entry(const CreationRoles& roles);
  /// Does what can be done now; true once the creation is over.
  bool advance(const CreationPtr& creation);
  bool subtree_is_complete(const Creation& creation) const;

  // creation_report.cpp; with the mutex held
  void look_after(const CreationPtr& creation);
  std::vector<int> waited_for(const Creation& creation) const;
  std::string describe(const Creation& creation, int rank) const;
  std::string describe_missing(const Creation& creation) const;
  bool fail_for_the_dead(const CreationPtr& creation);
  double patience(const Creation& creation) const;
  std::optional<std::string> disagreement(const Creation& mine, const CreationKey& other, int rank, bool other_threads) const;

  Process& process_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, CreationPtr> creations_;  ///< by CreationKey::bytes()
  std::optional<std::thread::id> first_thread_;
  bool several_threads_ = false;  ///< more than one thread has called: then one that waits elsewhere may yet come here
};

}  // namespace shim::sessions
