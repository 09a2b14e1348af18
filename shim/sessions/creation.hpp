// SPDX-License-Identifier: BSD-3-Clause
// Creation of communicators: how the members of a group, and nobody else, come to an agreement (docs/architecture.md, "How a
// communicator comes to be").
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
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
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/inquiry.hpp"
#include "shim/sessions/network_address.hpp"
#include "shim/sessions/parent_search.hpp"
#include "shim/transport/shm/roll_call.hpp"

namespace shim::sessions {

class Process;

/// What the members of a creation agree on.
struct Agreement {
  base::ExtendedId id;
  std::shared_ptr<const p2p::ContextBases> bases;
  std::uint32_t own_base = 0;
  std::uint32_t lane = 0;  ///< of the communicator, on all members

  /// The context of the communicator of the group that has agreed, as its member `self` sees it.
  p2p::ContextSpec context_of(const GroupPtr& group, base::ProcessId self) const;
};

CreationKey key_of(std::string scope, std::string tag, const Group& group);

/// Between two looks at whether the partners that a creation waits for are still running.
inline constexpr base::Nanoseconds kLookEvery = 50'000'000;

/// One creation as this process sees it: its own call, or what others have sent before it called.
struct Creation {
  CreationKey key;
  GroupPtr group;
  CreationRoles roles;
  bool joined = false;           ///< this process has called and waits
  std::uint32_t lane = 0;        ///< that it would have, once joined
  base::Operation operation;     ///< once joined: for those who listen to its phases
  std::vector<std::byte> name;   ///< of its roll call, where this process has joined and is the root of a group on one node
  MemberTable entries;           ///< that have come, the own one included
  std::set<int> contributed;     ///< direct partners that have sent theirs
  std::unique_ptr<ParentSearch> search;  ///< node roots of a group that spans nodes
  bool sent_up = false;
  std::uint32_t sent_to_life = 0;        ///< of the parent

  std::optional<Agreement> agreement;
  std::optional<base::Error> failure;
  /// Partners that have not been told of the failure, because they have not come yet: those below contribute when they come, the
  /// parent asks. Self is among them if it has not called.
  std::set<int> untold;

  base::Nanoseconds started = 0, next_look = 0;
  base::Nanoseconds next_memory_check = 0, other_memory_since = 0;  ///< for processes that have shared memory of their own
  std::optional<int> found_dead;  ///< a partner whose process had ended at the last look
  base::Nanoseconds next_question = 0, next_report = 0;  ///< the missing are asked before each report, so that it can tell their answers
  struct Heard {
    std::string what;
    base::Nanoseconds when = 0;
  };
  std::map<int, Heard> heard;                ///< what partners that were asked have answered last, for the report
  std::map<int, CreationKey> suspects;       ///< partners that seem to disagree on the tag, and the other creation's key
  /// A missing partner that cannot come to this creation unless it first does something that it has
  /// not done for a while.
  struct Stuck {
    /// The creation of the same group with another tag in which it waits. If none: no session.
    std::optional<CreationKey> elsewhere;
    base::Nanoseconds since = 0, until = 0;  ///< its last known state, and when it was last known
    base::Nanoseconds asked = 0;
  };
  std::map<int, Stuck> stuck;
  /// All missing were asked once this creation had waited as long as one with stuck members does.
  bool asked_when_long = false;
  std::map<int, AddressLookup> to_be_asked;  ///< partners that can be asked once their addresses are found

  std::map<int, Inquiry> inquiries;          ///< about partners of other nodes that nobody finds any more

  bool is_over() const { return agreement.has_value() || failure.has_value(); }
  std::uint32_t own_call() const { return joined ? entries.at(roles.self).context_base : 0; }
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
    base::Operation operation{};
    std::uint32_t lane = 0;  ///< wanted; the leader's counts
  };
  /// Collective over the group and nobody else. The lane agreed on is open. Errors: not_same, proc_aborted, other, as in create_from_group.
  base::Result<Agreement> agree(const Call& call);
  /// The process is about to end. Contributions that wait for a call of this process, and those that come from now on, are given
  /// back to their senders, who send them again when this process begins anew.
  void close();
  /// How many have failed and are kept here, because partners have not been told.
  std::size_t untold_failures() const;

 private:
  /// A failure, for those who wait in vain and ask.
  struct Remembered {
    Failure failure;
    base::Nanoseconds when = 0;
    /// The parent, where it could be told, and in which life: one that has begun anew since has not heard of it.
    std::optional<base::ProcessId> parent = {};
    std::uint32_t told_in_life = 0;
  };

  void on_control(base::ProcessId from, std::span<const std::byte> bytes);
  // creation_messages.cpp; with the mutex held
  void handle(base::ProcessId from, Contribution message);
  void handle(base::ProcessId from, Outcome message);
  void take_part_in_lane(std::uint32_t lane);
  void handle(base::ProcessId from, Failure message);
  void handle(base::ProcessId from, Question message);
  void handle(base::ProcessId from, Answer message);
  void handle(base::ProcessId from, Returned message);
  CreationPtr find(const CreationKey& key) const;
  CreationPtr find_or_begin(const CreationKey& key);
  /// Of a partner that sends news of it; null where it cannot be a member, or the creation is none that this job can have.
  CreationPtr find_or_begin(const CreationKey& key, base::ProcessId from);
  void forget(const Creation& creation);
  void send(const Creation& to, int rank, const CreationMessage& message);
  void send(base::ProcessId to, const CreationMessage& message);
  void send_bytes(base::ProcessId to, std::vector<std::byte> bytes);
  /// No message can be sent to this partner, for want of memory or of a network.
  bool fail_if_out_of_reach(const CreationPtr& creation, int rank);
  /// parent: ours in that creation, where it is told now.
  void remember(const Failure& failure, std::optional<base::ProcessId> parent);
  /// What this process knows of a failure that the asker, who waits, has not heard of.
  std::optional<Failure> failure_for(base::ProcessId asker, const Question& question);
  bool is_news(Remembered& remembered, base::ProcessId asker, const Question& question) const;
  /// A partner that has just been told of the failure, in a message that it gets.
  void note_told(const CreationPtr& creation, int rank);
  void give_back(base::ProcessId to, const CreationKey& key, std::uint32_t call);
  bool is_plausible(const CreationKey& key, base::ProcessId from, bool with_us = true) const;
  /// Do these entries come from one who may bring them?
  bool may_bring(const Creation& creation, int rank, const MemberTable& entries) const;
  void note_dropped(base::ProcessId from) const;
  /// Ends the creation here and tells all partners that wait in it; `told` knows already.
  void fail(const CreationPtr& creation, const base::Error& error, std::set<int> told, const Absent& absent = {});
  void finish(const CreationPtr& creation, const Outcome& outcome);
  std::uint32_t usable_lane(std::uint32_t wanted);
  void learn(const Creation& creation, const MemberTable& entries);
  MemberTable for_own_node(const Creation& creation, const MemberTable& entries) const;

  // creation_roll_call.cpp
  /// A call that waits at a roll call.
  struct AtRollCall {
    const CreationKey& key;
    std::atomic<bool> by_messages{false};  ///< others go by messages: so must this one; a hint, pairs with nothing
  };
  /// The short way; nothing where it has to be the long one.
  std::optional<base::Result<Agreement>> by_roll_call(const Call& call);
  std::optional<base::Result<Agreement>> sign(const Call& call, const AtRollCall& here);
  bool is_complete_soon(const transport::RollCall& signature, const AtRollCall& here);
  base::Result<Agreement> agreement_of(const Call& call, const transport::RollCall& complete, std::uint32_t own_base) const;
  bool may_sign(const CreationKey& key, AtRollCall& here);
  void end_sign(const AtRollCall& here);
  void send_on(const CreationKey& key);
  void call_off_roll_call(const Creation& creation);

  // creation.cpp
  void note_thread();
  base::Error called_twice(const Call& call) const;
  /// What this member brings.
  struct Own {
    std::uint32_t context_base = 0;
    NetworkAddress address;
    Entry entry() const { return {context_base, address.life, address.bytes, false}; }
  };
  base::Result<Agreement> agree(const Call& call, const CreationRoles& roles, const Own& own);
  base::Result<Agreement> in_open_lane(base::Result<Agreement> agreed, std::uint32_t base);
  void refuse(const Call& call, const base::Error& reason);
  void await_notes();
  base::Result<CreationPtr> join(const Call& call, const CreationRoles& roles, const Own& own);
  base::Result<Own> own_part(const CreationRoles& roles, const base::Operation& during);
  std::unique_ptr<ParentSearch> search_in(const Creation& creation);
  bool partners_are_in_reach(const CreationPtr& creation);
  void begin_to_wait(Creation& creation);
  void contribute(Creation& creation);
  void lead(const CreationPtr& creation);
  /// Does what can be done now; true once the creation is over.
  bool advance(const CreationPtr& creation);
  bool subtree_is_complete(const Creation& creation) const;

  // creation_watch.cpp; with the mutex held
  void look_after(const CreationPtr& creation);
  std::vector<int> waited_for(const Creation& creation) const;
  bool fail_for_the_dead(const CreationPtr& creation);
  bool has_ended(Creation& creation, int rank);
  bool inquiry_says_ended(Creation& creation, int rank, std::uint32_t life);
  bool fail_for_the_late(const CreationPtr& creation, double waited);
  bool fail_for_other_shared_memory(const CreationPtr& creation, base::Nanoseconds now);
  void tell_instead_of_root(const Creation& creation, const base::Error& error, const Absent& absent);
  void note(base::ProcessId to, Failure message);
  void pass_notes_on();
  void report_when_due(Creation& creation, base::Nanoseconds now);
  void ask_the_missing(Creation& creation);
  void ask(Creation& creation, int rank);
  void ask_who_was_found(Creation& creation);

  // stuck_members.cpp; with the mutex held
  bool fail_for_the_stuck(const CreationPtr& creation);
  bool has_finalized(const Creation& creation, int rank) const;
  void note_finalized(Creation& creation, base::Nanoseconds now);
  void ask_the_stuck(Creation& creation, base::Nanoseconds now);
  base::Error error_of_stuck(const Creation& creation) const;

  // creation_text.cpp; with the mutex held
  static std::string name_of(const Creation& creation);
  static std::string seconds_text(double seconds);
  std::string describe(const Creation& creation, int rank) const;
  std::string describe_missing(const Creation& creation) const;
  std::string sign_of_life(const Creation& creation, int rank) const;

  // disagreement.cpp; with the mutex held
  bool fail_for_disagreement(const CreationPtr& creation);
  std::optional<std::pair<CreationKey, std::string>> disagreement_in(Creation& mine, int rank, const Answer& answer);
  std::optional<std::string> disagree_on_group(const Creation& mine, const CreationKey& other, int rank) const;
  std::string disagreement_on_tag(const Creation& mine, const CreationKey& other, int rank) const;
  std::string where_it_waits(const Creation& mine, int rank, const Answer& answer) const;
  /// While one thread of this process waits in a creation, another may call.
  bool another_may_call() const;
  bool is_in(const CreationKey& key) const;
  void note_stuck(Creation& mine, int rank, const Answer& answer);
  void end_elsewhere(const Creation& mine, const CreationKey& other, int rank,
                     const base::Error& error);
  void end_both(const CreationPtr& mine, const CreationKey& other, int rank, const std::string& text);

  /// News for a process whose address has to be found first.
  struct Note {
    base::ProcessId to;
    Failure message;
    AddressLookup lookup;
    base::Nanoseconds since = 0;
  };

  Process& process_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::deque<Note> notes_;  ///< the last ones
  std::deque<Remembered> failures_;  ///< the last ones
  std::unordered_map<CreationKey, CreationPtr, CreationKeyHash> creations_;
  std::vector<AtRollCall*> at_roll_call_;
  std::optional<std::thread::id> first_thread_;
  base::Nanoseconds last_call_ = 0;  ///< when a thread last began to create a communicator
  bool closing_ = false;
  bool several_threads_ = false;  ///< more than one thread has called
};

}  // namespace shim::sessions
