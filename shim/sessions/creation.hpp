// SPDX-License-Identifier: BSD-3-Clause
// Creations runs the creation protocol: members of a group agree on a new communicator, without
// other processes (docs/developer/architecture.md, "Communicator creation").
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/agreement.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/creation_state.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/liveness_probe.hpp"
#include "shim/sessions/network_address.hpp"
#include "shim/sessions/parent_resolver.hpp"
#include "shim/transport/shm/shm_rendezvous.hpp"

namespace shim::sessions {

class Process;

CreationKey key_of(std::string scope, std::string tag, const Group& group,
                   std::string topology = {});

/// Interval at which a waiting creation checks that its partners still run: 50 ms.
inline constexpr base::Nanoseconds kCreationCheckInterval = 50'000'000;

/// A creation, and what serves this process's call of it.
struct TrackedCreation final : Creation {
  using Creation::Creation;

  std::uint32_t vci = 0;  ///< requested by this process, once it has called
  /// Name of the shared-memory rendezvous to abort; set by the call if self is rank 0 of a group on
  /// one node.
  std::vector<std::byte> name;
  /// Set on node leaders of a group that spans nodes.
  std::unique_ptr<ParentResolver> parent_resolver;
  std::uint32_t sent_to_incarnation = 0;  ///< of the parent

  base::Nanoseconds next_check = 0;
  /// For the check for separate shared memory.
  base::Nanoseconds next_memory_check = 0, other_memory_since = 0;
  std::optional<int> suspected_dead;  ///< a partner whose process had ended at the last check
  /// Queries precede each report, so that it includes the replies.
  base::Nanoseconds next_query = 0, next_report = 0;
  struct LastReply {
    std::string what;
    base::Nanoseconds when = 0;
  };
  std::map<int, LastReply> last_replies;  ///< last replies of queried partners, for the report
  /// Partners that seem to disagree on the tag, with the key of their creation.
  std::map<int, CreationKey> suspects;
  /// A missing partner that waits in another creation or has finalized
  /// (creation_stuck_members.cpp).
  struct StuckMember {
    /// Creation of an equal group with another tag in which the partner waits. Empty: the partner
    /// has finalized its last session.
    std::optional<CreationKey> elsewhere;
    /// Begin of this state, as far as known, and the last time it was observed.
    base::Nanoseconds since = 0, until = 0;
    base::Nanoseconds last_query = 0;
  };
  std::map<int, StuckMember> stuck_members;
  /// True if all missing members were queried once, Process::stuck_after() after `started`.
  bool has_queried_all = false;
  /// Lookups of partners to query once their addresses are found.
  std::map<int, AddressLookup> to_query;

  std::map<int, LivenessProbe> probes;  ///< for unreachable partners on other nodes
};
using CreationPtr = std::shared_ptr<TrackedCreation>;

/// All creations of one process. Thread-safe; lock order: this object's mutex, then the engine's
/// lock.
class Creations {
 public:
  explicit Creations(Process& process);
  ~Creations();
  Creations(const Creations&) = delete;
  Creations& operator=(const Creations&) = delete;

  struct Call {
    std::string scope;  ///< see CreationKey
    std::string tag;
    GroupPtr group;          ///< the caller must be a member
    std::string topology{};  ///< see CreationKey
    base::TracedOperation operation{};
    std::uint32_t vci = 0;  ///< requested; rank 0's request is used
    /// Checked periodically during the wait; an error ends it (for example, the parent is revoked).
    /// May be empty.
    std::function<base::Status()> check_precondition = {};
  };
  /// Run a creation. Collective over the group only. The agreed VCI is open. Errors: not_same,
  /// proc_aborted, other, as in create_from_group.
  base::Result<Agreement> agree(const Call& call);
  /// Prepare for the process's end. Return contributions that wait for a call of this process, now
  /// and later, to their senders, which send them again when this process re-initializes.
  void close();
  void on_control(base::ProcessId from, std::span<const std::byte> bytes);
  /// Return the number of failed creations kept for partners not yet notified.
  std::size_t unnotified_failures() const;

 private:
  /// Failure kept for members that still wait and send status requests.
  struct RecordedFailure {
    FailureMessage failure;
    base::Nanoseconds when = 0;
    /// The parent that was notified, if any, and its incarnation: a later incarnation does not know
    /// of the failure.
    std::optional<base::ProcessId> parent = {};
    std::uint32_t notified_incarnation = 0;
  };

  // creation_messages.cpp; caller holds the mutex
  void handle(base::ProcessId from, ContributionMessage message);
  void handle(base::ProcessId from, OutcomeMessage message);
  void join_vci(std::uint32_t vci);
  void handle(base::ProcessId from, FailureMessage message);
  void handle(base::ProcessId from, StatusRequest message);
  void handle(base::ProcessId from, StatusReply message);
  void handle(base::ProcessId from, ReturnedContribution message);
  CreationPtr find(const CreationKey& key) const;
  CreationPtr find_or_begin(const CreationKey& key);
  /// Find or begin the creation of a message from a partner; null if `from` cannot be a member, or
  /// the key is impossible in this job.
  CreationPtr find_or_begin(const CreationKey& key, base::ProcessId from);
  void forget(const TrackedCreation& creation);
  void send(const TrackedCreation& to, int rank, const CreationMessage& message);
  void send(base::ProcessId to, const CreationMessage& message);
  void send_bytes(base::ProcessId to, std::vector<std::byte> bytes);
  /// Fail the creation if no message can be sent to this partner, for lack of memory or of a
  /// network. Return true if the creation has failed.
  bool fail_if_out_of_reach(const CreationPtr& creation, int rank);
  /// parent: this process's parent in that creation, if it is notified now.
  void record_failure(const FailureMessage& failure, std::optional<base::ProcessId> parent);
  /// Return a recorded failure that the waiting requester does not know of.
  std::optional<FailureMessage> failure_for(base::ProcessId requester,
                                            const StatusRequest& request);
  bool may_be_unknown_to(RecordedFailure& recorded, base::ProcessId requester,
                         const StatusRequest& request) const;
  /// Record that a message to the partner reports the failure.
  void record_notified(const CreationPtr& creation, int rank);
  void return_contribution(base::ProcessId to, const CreationKey& key, std::uint32_t call);
  bool is_plausible(const CreationKey& key, base::ProcessId from, bool with_us = true) const;
  /// True if this partner may contribute these entries.
  bool may_contribute(const TrackedCreation& creation, int rank, const MemberTable& entries) const;
  void count_dropped(base::ProcessId from) const;
  /// Fail the creation and notify all partners that wait in it, except the ranks in `notified`,
  /// which know of the failure already.
  void fail(const CreationPtr& creation, const base::Error& error, std::set<int> notified,
            const ExcludedMembers& excluded = {});
  void finish(const CreationPtr& creation, const OutcomeMessage& outcome);
  std::uint32_t usable_vci(std::uint32_t wanted);
  void record_addresses(const TrackedCreation& creation, const MemberTable& entries);
  MemberTable for_local_node(const TrackedCreation& creation, const MemberTable& entries) const;

  /// A call that waits for the other members' contributions.
  class CreationSubject final : public p2p::WaitSubject {
   public:
    CreationSubject(const Creations& of, const CreationPtr& creation)
        : of_(of), creation_(creation) {}
    void describe(p2p::WaitDescription& description) const override;

   private:
    const Creations& of_;
    const CreationPtr& creation_;
  };

  // creation_rendezvous.cpp
  /// Call that waits at a shared-memory rendezvous, from begin_rendezvous() on. An exception may
  /// end the wait.
  struct RendezvousWait {
    RendezvousWait(Creations& of, const CreationKey& of_call) : creations(of), key(of_call) {}
    ~RendezvousWait() { creations.end_rendezvous(*this); }
    RendezvousWait(const RendezvousWait&) = delete;
    RendezvousWait& operator=(const RendezvousWait&) = delete;

    Creations& creations;
    const CreationKey& key;
    /// Other members use messages, so this call must, too; a hint, pairs with nothing.
    std::atomic<bool> by_messages{false};
  };
  /// Try the shared-memory rendezvous; nothing if messages are needed.
  std::optional<base::Result<Agreement>> try_rendezvous(const Call& call);
  std::optional<base::Result<Agreement>> rendezvous(const Call& call, const RendezvousWait& wait);
  bool wait_until_complete(const transport::ShmRendezvous& rendezvous, const RendezvousWait& wait);
  base::Result<Agreement> agreement_of(const Call& call, const transport::ShmRendezvous& complete,
                                       std::uint32_t own_base) const;
  bool begin_rendezvous(const CreationKey& key, RendezvousWait& wait);
  void end_rendezvous(const RendezvousWait& wait);
  void divert_to_messages(const CreationKey& key);
  void abort_rendezvous(const TrackedCreation& creation);

  // creation.cpp
  void record_thread();
  base::Error called_twice(const Call& call) const;
  /// Contribution of this member.
  struct OwnContribution {
    std::uint32_t context_base = 0;
    NetworkAddress address;
    MemberEntry entry() const { return {context_base, address.incarnation, address.bytes, false}; }
  };
  base::Result<Agreement> agree(const Call& call, const CreationRoles& roles,
                                const OwnContribution& own);
  /// Context base of a call. The destructor skips it, unless a creation has agreed on it: no
  /// message to that base is kept, also if an exception ends the call.
  struct OfferedBase {
    OfferedBase(Process& of, std::uint32_t offered) : process(of), base(offered) {}
    ~OfferedBase();
    OfferedBase(const OfferedBase&) = delete;
    OfferedBase& operator=(const OfferedBase&) = delete;

    Process& process;
    const std::uint32_t base;
    bool is_used = false;
  };
  base::Result<Agreement> with_open_vci(base::Result<Agreement> agreed, OfferedBase& base);
  void refuse(const Call& call, const base::Error& reason);
  void wait_for_queued_failures();
  /// Call that has joined a creation, from join() on. An exception may end it.
  struct JoinedCall {
    explicit JoinedCall(Creations& of) : creations(of) {}
    ~JoinedCall() {
      if (creation) creations.leave(creation);
    }
    JoinedCall(const JoinedCall&) = delete;
    JoinedCall& operator=(const JoinedCall&) = delete;

    Creations& creations;
    CreationPtr creation;  ///< set by join()
  };
  base::Status join(const Call& call, const CreationRoles& roles, const OwnContribution& own,
                    JoinedCall& joined);
  void leave(const CreationPtr& creation);
  base::Result<OwnContribution> make_own_contribution(const CreationRoles& roles,
                                                      const base::TracedOperation& during);
  std::unique_ptr<ParentResolver> make_parent_resolver(const TrackedCreation& creation);
  bool partners_are_in_reach(const CreationPtr& creation);
  void start_waiting(TrackedCreation& creation);
  void contribute(TrackedCreation& creation);
  void lead(const CreationPtr& creation);
  /// Make progress without blocking; true once the creation is over.
  bool advance(const CreationPtr& creation);
  /// Fail the creation if check_precondition of its call returns an error. True if it does.
  bool fail_if_ended(const CreationPtr& creation, const Call& call);

  // creation_watch.cpp; caller holds the mutex
  void check_waiting(const CreationPtr& creation);
  bool fail_if_member_died(const CreationPtr& creation);
  bool has_ended(TrackedCreation& creation, int rank);
  bool probe_says_ended(TrackedCreation& creation, int rank, std::uint32_t incarnation);
  bool fail_on_timeout(const CreationPtr& creation, double waited);
  bool fail_on_separate_shared_memory(const CreationPtr& creation, base::Nanoseconds now);
  void notify_for_node_leader(const TrackedCreation& creation, const base::Error& error,
                              const ExcludedMembers& excluded);
  void queue_failure(base::ProcessId to, FailureMessage message);
  void send_queued_failures();
  void report_when_due(TrackedCreation& creation, base::Nanoseconds now);
  void query_missing_members(TrackedCreation& creation);
  void send_status_request(TrackedCreation& creation, int rank);
  void query_found_members(TrackedCreation& creation);

  // creation_stuck_members.cpp; caller holds the mutex
  bool fail_if_all_missing_are_stuck(const CreationPtr& creation);
  bool has_finalized(const TrackedCreation& creation, int rank) const;
  void record_finalized(TrackedCreation& creation, base::Nanoseconds now);
  void query_stuck_members(TrackedCreation& creation, base::Nanoseconds now);
  base::Error error_of_stuck(const TrackedCreation& creation) const;

  // creation_text.cpp; caller holds the mutex
  static std::string name_of(const TrackedCreation& creation);
  static std::string seconds_text(double seconds);
  std::string describe(const TrackedCreation& creation, int rank) const;
  std::string describe_missing(const TrackedCreation& creation) const;
  std::string liveness_text(const TrackedCreation& creation, int rank) const;

  // creation_disagreement.cpp; caller holds the mutex
  bool fail_on_disagreement(const CreationPtr& creation);
  std::optional<std::pair<CreationKey, std::string>> disagreement_in(TrackedCreation& mine,
                                                                     int rank,
                                                                     const StatusReply& reply);
  std::optional<std::string> disagree_on_group(const TrackedCreation& mine,
                                               const CreationKey& other, int rank) const;
  std::string disagreement_on_topology(const TrackedCreation& mine, const CreationKey& other,
                                       int rank) const;
  std::string disagreement_on_tag(const TrackedCreation& mine, const CreationKey& other,
                                  int rank) const;
  std::string describe_wait(const TrackedCreation& mine, int rank, const StatusReply& reply) const;
  /// True if another thread of this process may call while one waits in a creation.
  bool another_may_call() const;
  bool is_in(const CreationKey& key) const;
  void record_stuck(TrackedCreation& mine, int rank, const StatusReply& reply);
  void fail_other(const TrackedCreation& mine, const CreationKey& other, int rank,
                  const base::Error& error);
  void fail_both(const CreationPtr& mine, const CreationKey& other, int rank,
                 const std::string& text);

  /// Failure message for a process whose address is being looked up.
  struct QueuedFailure {
    base::ProcessId to;
    FailureMessage message;
    AddressLookup lookup;
    base::Nanoseconds since = 0;
  };

  Process& process_;
  mutable std::mutex mutex_;                   ///< guards all members below
  std::deque<QueuedFailure> queued_failures_;  ///< the latest
  std::deque<RecordedFailure> failures_;       ///< the latest
  std::unordered_map<CreationKey, CreationPtr, CreationKeyHash> creations_;
  std::vector<RendezvousWait*> rendezvous_waits_;
  std::optional<std::thread::id> first_thread_;
  base::Nanoseconds last_call_ = 0;  ///< when a thread last began to create a communicator
  bool closing_ = false;
  bool several_threads_ = false;  ///< more than one thread has called
};

}  // namespace shim::sessions
