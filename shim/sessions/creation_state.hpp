// SPDX-License-Identifier: BSD-3-Clause
// Creation is the state machine of one communicator creation in one process
// (docs/developer/communicator-creation.md).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/sessions/agreement.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/member_table.hpp"

namespace shim::sessions {

enum class CreationState : std::uint8_t {
  announced,         ///< messages about it have arrived; this process has not called
  collecting,        ///< this process has called; a node leader collects contributions
  awaiting_outcome,  ///< this process has sent its contribution, and waits for the result
  agreed,            ///< all members have an equal result
  failed,            ///< kept until all partners that wait for this process know of the failure
};

enum class CreationEvent : std::uint8_t { begin_call, send_contribution, agree, fail };

struct CreationTransition {
  CreationState from;
  CreationEvent event;
  CreationState to;
  std::string_view cause;  ///< for the picture
};

/// All transitions; an event without a row changes nothing. scripts/docs makes the picture
/// docs/developer/creation_states.dot of this table.
inline constexpr CreationTransition kCreationTransitions[] = {
    {CreationState::announced, CreationEvent::begin_call, CreationState::collecting,  //
     "the program calls"},
    {CreationState::announced, CreationEvent::fail, CreationState::failed,
     "a failure arrives, or this process cannot take part"},
    {CreationState::collecting, CreationEvent::send_contribution, CreationState::awaiting_outcome,
     "all contributions have arrived, and the parent is known"},
    {CreationState::collecting, CreationEvent::agree, CreationState::agreed,
     "rank 0 has all contributions"},
    {CreationState::collecting, CreationEvent::fail, CreationState::failed,
     "a failure arrives or is detected"},
    {CreationState::awaiting_outcome, CreationEvent::send_contribution,
     CreationState::awaiting_outcome, "the receiver has re-initialized"},
    {CreationState::awaiting_outcome, CreationEvent::agree, CreationState::agreed,
     "the outcome arrives"},
    {CreationState::awaiting_outcome, CreationEvent::fail, CreationState::failed,
     "a failure arrives or is detected"},
};

/// Return the state after the event; nothing if the event is impossible in this state.
constexpr std::optional<CreationState> next_state(CreationState from, CreationEvent event) {
  for (const CreationTransition& row : kCreationTransitions)
    if (row.from == from && row.event == event) return row.to;
  return std::nullopt;
}

/// One creation in this process. Its partners are the members that this process exchanges messages
/// with: its node leader, or, if it is one, the other members on this node, its children and its
/// parent. Sets and vectors of int contain group ranks. The functions named after an event return
/// false, and change nothing, if the event is impossible in this state. Not thread-safe.
class Creation {
 public:
  Creation(CreationKey key, GroupPtr group, CreationRoles roles)
      : key_(std::move(key)), group_(std::move(group)), roles_(std::move(roles)) {}

  const CreationKey& key() const { return key_; }
  const GroupPtr& group() const { return group_; }
  const CreationRoles& roles() const { return roles_; }
  base::ProcessId process_at(int rank) const { return group_->at(rank); }

  CreationState state() const { return state_; }
  /// True if this process has called and waits.
  bool is_waiting() const {
    return state_ == CreationState::collecting || state_ == CreationState::awaiting_outcome;
  }
  bool is_over() const {
    return state_ == CreationState::agreed || state_ == CreationState::failed;
  }

  // --- events
  /// This process has called. `own`: its contribution.
  [[nodiscard]] bool begin_call(const MemberEntry& own, const base::TracedOperation& operation);
  /// This process sends its contribution to its node leader, or to the parent.
  [[nodiscard]] bool send_contribution();
  [[nodiscard]] bool agree(Agreement agreement);
  /// unnotified: see is_unnotified().
  [[nodiscard]] bool fail(const base::Error& error, std::set<int> unnotified);

  // --- contributions
  /// Record what a partner has sent for itself and the members below it.
  void add_contribution(int rank, const MemberTable& entries);
  const MemberTable& entries() const { return entries_; }  ///< of this process and its subtree
  /// Return the direct partners whose contribution has arrived.
  const std::set<int>& contributed() const { return contributed_; }
  /// True if this process has called and all members of its subtree have contributed.
  bool subtree_is_complete() const;
  /// Return the partners that this process waits for now.
  std::vector<int> missing_members() const;

  // --- this process's call
  /// Return the context base of this process's contribution, which identifies its call; 0 before.
  std::uint32_t own_call_id() const { return own_call_id_; }
  base::Nanoseconds started() const { return started_; }
  /// Return the trace operation of the call; without effect before.
  const base::TracedOperation& operation() const { return operation_; }

  // --- result
  /// Return the result of a creation that is over.
  base::Result<Agreement> result() const;
  /// Return the failure of a failed creation, else null.
  const base::Error* failure() const { return failure_ ? &*failure_ : nullptr; }
  /// True if the partner does not know of the failure, because it has not called. Local members and
  /// children are notified when they contribute, the parent when it sends a status request, and
  /// this process when it calls.
  bool is_unnotified(int rank) const { return unnotified_.contains(rank); }
  /// Record that the partner, or this process, knows of the failure.
  void record_notified(int rank) { unnotified_.erase(rank); }
  bool all_are_notified() const { return unnotified_.empty(); }

 private:
  bool pass(CreationEvent event);

  const CreationKey key_;
  const GroupPtr group_;
  const CreationRoles roles_;
  CreationState state_ = CreationState::announced;
  std::uint32_t own_call_id_ = 0;
  base::Nanoseconds started_ = 0;
  base::TracedOperation operation_;
  MemberTable entries_;
  std::set<int> contributed_;
  std::optional<Agreement> agreement_;
  std::optional<base::Error> failure_;
  std::set<int> unnotified_;
};

}  // namespace shim::sessions
