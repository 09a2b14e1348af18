// SPDX-License-Identifier: BSD-3-Clause
// Handles the creation messages of other processes.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

/// Failures that a process keeps for later status requests.
static constexpr std::size_t kMaxRecordedFailures = 32;

static bool contains(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

void Creations::on_control(base::ProcessId from, std::span<const std::byte> bytes) {
  auto message = decode(bytes, process_.bootstrap().job().size);
  if (!message) return count_dropped(from);
  std::lock_guard guard(mutex_);
  std::visit([&](auto& alternative) { handle(from, std::move(alternative)); }, *message);
}

void Creations::count_dropped(base::ProcessId from) const {
  process_.log().write(base::LogLevel::error, "invalid message of process " +
                                                  std::to_string(from.rank) +
                                                  " about a communicator creation; dropped");
}

CreationPtr Creations::find(const CreationKey& key) const {
  auto at = creations_.find(key);
  return at == creations_.end() ? nullptr : at->second;
}

CreationPtr Creations::find_or_begin(const CreationKey& key) {
  CreationPtr& creation = creations_[key];
  if (creation) return creation;
  const GroupPtr group = Group::of_ranges(key.ranges);
  creation = std::make_shared<TrackedCreation>(
      key, group, roles_in(*group, process_.self(), process_.creation_context()));
  return creation;
}

CreationPtr Creations::find_or_begin(const CreationKey& key, base::ProcessId from) {
  if (CreationPtr known = find(key))
    return known->group()->rank_of(from) == kUndefined ? nullptr : known;
  return is_plausible(key, from) ? find_or_begin(key) : nullptr;
}

void Creations::forget(const TrackedCreation& creation) {
  auto at = creations_.find(creation.key());
  if (at != creations_.end() && at->second.get() == &creation) creations_.erase(at);
}

void Creations::send_bytes(base::ProcessId to, std::vector<std::byte> bytes) {
  auto sent = process_.engine().send_control(to, std::move(bytes));
  // an unreachable process is found missing or dead by the members that wait for it
  if (!sent) process_.log().write(base::LogLevel::info, sent.error().text());
}

void Creations::send(base::ProcessId to, const CreationMessage& message) {
  send_bytes(to, encode(message));
}
void Creations::send(const TrackedCreation& to, int rank, const CreationMessage& message) {
  send(to.group()->at(rank), message);
}

/// Ignores a partner that is gone: check_waiting() handles it, with a better error text.
bool Creations::fail_if_out_of_reach(const CreationPtr& creation, int rank) {
  auto reached = process_.engine().prepare_send(creation->group()->at(rank));
  if (reached || reached.error().error_class() == base::ErrorClass::proc_aborted) return false;
  fail(creation, reached.error(), {creation->roles().self});
  return true;
}

/// True if a process of this job may have sent this key. All its parts are bounded by the job, so
/// that a damaged message is harmless. with_us: this process must also be in its group.
bool Creations::is_plausible(const CreationKey& key, base::ProcessId from, bool with_us) const {
  const std::int64_t world_size = process_.bootstrap().job().size;
  std::int64_t members = 0;
  for (const ProcessRange& range : key.ranges) {
    members += range.count;
    if (range.world != 0 || range.stride == 0 || range.lowest() < 0 ||
        range.highest() >= world_size || members > world_size)
      return false;
  }
  GroupPtr group = Group::of_ranges(key.ranges);
  return (!with_us || group->rank_of(process_.self()) != kUndefined) &&
         group->rank_of(from) != kUndefined;
}

/// Return the ranks of a table except these, which are ascending.
static std::vector<int> ranks_except(std::span<const int> these, const MemberTable& entries) {
  std::vector<int> others;
  auto next = these.begin();
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const int member = entries.rank_at(index);
    while (next != these.end() && *next < member) ++next;
    if (next == these.end() || *next != member) others.push_back(member);
  }
  return others;
}

/// True if a local member sends only its own entry, or a child only entries of its subtree's nodes,
/// so that a partner cannot replace this process's entry or the entries of another partner.
bool Creations::may_contribute(const TrackedCreation& creation, int rank,
                               const MemberTable& entries) const {
  const auto& roles = creation.roles();
  if (!entries.find(rank) || entries.last() >= creation.group()->size()) return false;
  if (contains(roles.local, rank)) return entries.size() == 1;
  if (!contains(roles.children, rank)) return false;
  const auto node_leaders = roles.node_leaders_from(rank);
  const std::vector<int> others = ranks_except(node_leaders, entries);
  if (others.empty()) return true;  // common case at large scale, and cheap to test
  const auto context = process_.creation_context();
  auto node_of = [&](int member) { return context.node_of(creation.group()->at(member)); };
  std::vector<std::uint32_t> nodes;
  for (int leader : node_leaders) nodes.push_back(node_of(leader));
  std::ranges::sort(nodes);
  return std::ranges::all_of(
      others, [&](int member) { return std::ranges::binary_search(nodes, node_of(member)); });
}

void Creations::handle(base::ProcessId from, ContributionMessage message) {
  CreationPtr creation = from == process_.self() ? nullptr : find_or_begin(message.key, from);
  if (!creation) return;
  divert_to_messages(message.key);
  const int rank = creation->group()->rank_of(from);
  if (!may_contribute(*creation, rank, message.entries)) return count_dropped(from);
  record_addresses(*creation, message.entries);
  const MemberEntry own = message.entries.at(rank);
  if (contains(creation->roles().children, rank))
    process_.record_published(from, own.incarnation);  // node leaders publish before they send
  const std::uint32_t call = own.context_base;
  if (closing_) {
    forget(*creation);
    return return_contribution(from, message.key, call);
  }
  if (creation->failure()) {
    if (creation->is_unnotified(rank)) {
      send(from, FailureMessage{creation->key(),
                                call,
                                creation->failure()->error_class(),
                                creation->failure()->text(),
                                {}});
      return record_notified(creation, rank);
    }
    forget(*creation);  // it knows of the failure, so this is a new attempt
    creation = find_or_begin(message.key);
  }
  creation->add_contribution(rank, message.entries);
  if (creation->subtree_is_complete()) creation->operation().end(base::Phase::collect, from.rank);
}

/// Open the VCI of a communicator that this process gave up and others made: it must receive what
/// they send there.
void Creations::join_vci(std::uint32_t vci) {
  // memory exists, because the leader has opened the VCI
  if (vci < process_.vci_count()) (void)process_.open_vci(vci);
}

void Creations::handle(base::ProcessId from, OutcomeMessage message) {
  CreationPtr creation = find(message.key);
  if (!creation || !creation->is_waiting()) return join_vci(message.vci);
  const auto& roles = creation->roles();
  const int expected = roles.is_node_leader() ? roles.parent.value_or(roles.self)
                                              : roles.node_leader;
  const bool complete = static_cast<int>(message.entries.size()) == creation->group()->size() &&
                        message.entries.last() == creation->group()->size() - 1;
  if (creation->group()->rank_of(from) != expected || !complete ||
      creation->state() != CreationState::awaiting_outcome)
    return;
  // outcome of an abandoned earlier attempt
  if (message.entries.at(roles.self).context_base != creation->own_call())
    return join_vci(message.vci);
  if (message.vci >= (roles.spans_nodes ? 1 : process_.vci_count())) return count_dropped(from);
  creation->operation().end(base::Phase::outcome, from.rank);
  finish(creation, message);
}

void Creations::handle(base::ProcessId from, FailureMessage message) {
  CreationPtr creation = find_or_begin(message.key, from);
  if (!creation) return;
  divert_to_messages(message.key);
  const int rank = creation->group()->rank_of(from);
  if (creation->failure()) return record_notified(creation, rank);  // two processes detected it
  const auto& roles = creation->roles();
  if (message.call != 0) {
    // either the answer to this process's contribution, or a partner withdraws its contribution
    const int above = roles.is_node_leader() ? roles.parent.value_or(kUndefined)
                                             : roles.node_leader;
    const auto awaited = creation->missing_members();
    const bool may_answer = rank == above ||
                            std::find(awaited.begin(), awaited.end(), rank) != awaited.end();
    const bool answers_us = creation->is_waiting() && may_answer &&
                            message.call == creation->own_call();
    const bool is_withdrawal = creation->contributed().contains(rank) &&
                               creation->entries().at(rank).context_base == message.call;
    if (!answers_us && !is_withdrawal) {  // of an earlier attempt
      if (!creation->is_waiting() && creation->contributed().empty()) forget(*creation);
      return;
    }
  }
  const bool is_elsewhere = Group::of_ranges(message.excluded.elsewhere)
                                ->rank_of(process_.self()) != kUndefined;
  if (is_elsewhere && creation->is_waiting()) return;  // this process has called again
  std::set<int> notified = {rank};
  if (is_elsewhere || creation->is_waiting()) notified.insert(roles.self);
  fail(creation, base::Error(message.error_class, std::move(message.text)), std::move(notified),
       message.excluded);
}

void Creations::fail(const CreationPtr& creation, const base::Error& error, std::set<int> notified,
                     const ExcludedMembers& excluded) {
  const auto& roles = creation->roles();
  const GroupPtr elsewhere = Group::of_ranges(excluded.elsewhere),
                 dead = Group::of_ranges(excluded.dead);
  auto is_in = [&](const GroupPtr& these, int rank) {
    return these->rank_of(creation->group()->at(rank)) != kUndefined;
  };
  std::optional<base::ProcessId> parent;
  if (roles.parent && process_.known_incarnation(creation->process_at(*roles.parent)))
    parent = creation->process_at(*roles.parent);
  std::vector<std::pair<int, std::uint32_t>> notices;  // rank, and the call that the notice answers
  std::set<int> unnotified;
  auto notify = [&](int rank, std::uint32_t call) {
    if (notified.insert(rank).second) notices.emplace_back(rank, call);
  };
  // Notify the node leader or the parent at once, even before its call: it keeps the failure until
  // then. A parent without a known address sends a status request after its call.
  if (!roles.is_node_leader()) notify(roles.node_leader, creation->own_call());
  const bool has_sent = creation->state() == CreationState::awaiting_outcome;
  if (parent)
    notify(*roles.parent, has_sent ? creation->own_call() : 0);
  else if (roles.parent && !notified.contains(*roles.parent) && !is_in(dead, *roles.parent))
    unnotified.insert(*roles.parent);
  for (int rank : creation->contributed()) notify(rank, creation->entries().at(rank).context_base);
  // Notify local members and children that have not called when they call. Notify members that will
  // not call now, because they forward the failure to members that wait for them.
  for (const auto* partners : {&roles.local, &roles.children})
    for (int rank : *partners) {
      if (is_in(elsewhere, rank))
        notify(rank, 0);
      else if (!notified.contains(rank) && !is_in(dead, rank))
        unnotified.insert(rank);
    }
  if (!creation->is_waiting() && !notified.contains(roles.self)) unnotified.insert(roles.self);
  if (!creation->fail(error, std::move(unnotified))) return;
  FailureMessage message{creation->key(), 0, error.error_class(), error.text(), excluded};
  record_failure(message, parent);
  for (const auto& [rank, call] : notices) {
    message.call = call;
    send(*creation, rank, message);
  }
  creation->to_query.clear();
  creation->probes.clear();
  creation->stuck_members.clear();
  if (creation->all_are_notified()) forget(*creation);
}

void Creations::record_notified(const CreationPtr& creation, int rank) {
  creation->record_notified(rank);
  if (creation->all_are_notified()) forget(*creation);
}

void Creations::return_contribution(base::ProcessId to, const CreationKey& key,
                                    std::uint32_t call) {
  send(to, ReturnedContribution{key, call, process_.own_incarnation()});
}

void Creations::handle(base::ProcessId from, ReturnedContribution message) {
  CreationPtr creation = find(message.key);
  if (!creation || !creation->is_waiting() || message.call != creation->own_call()) return;
  const int rank = creation->group()->rank_of(from);
  // Send to a local node leader immediately: the message waits in shared memory until that process
  // re-initializes.
  if (!creation->roles().is_node_leader() && rank == creation->roles().node_leader)
    contribute(*creation);
  if (creation->parent_resolver && rank == creation->roles().parent)
    creation->parent_resolver->on_parent_left(message.incarnation);
}

void Creations::record_failure(const FailureMessage& failure,
                               std::optional<base::ProcessId> parent) {
  failures_.push_back(
      {failure, base::now_ns(), parent, parent ? *process_.known_incarnation(*parent) : 0});
  if (failures_.size() > kMaxRecordedFailures) failures_.pop_front();
}

/// True if the requester may not know of the failure: it is the parent, in a later incarnation than
/// the notified one, or its wait began before the failure. A member that was notified and retries
/// began its wait after the failure. Marks the parent's incarnation as notified.
bool Creations::may_be_unknown_to(RecordedFailure& recorded, base::ProcessId requester,
                                  const StatusRequest& request) const {
  if (recorded.parent == requester &&
      request.requester.incarnation > recorded.notified_incarnation) {
    recorded.notified_incarnation = request.requester.incarnation;
    return true;
  }
  const base::Nanoseconds joined = base::now_ns() -
                                   base::Nanoseconds{request.waited_ms} * 1'000'000;
  return recorded.when > joined;
}

/// Return the failure of the creation that the requester waits in; nothing if there is none, or the
/// requester knows of it. An unnotified partner gets a failure of any age.
std::optional<FailureMessage> Creations::failure_for(base::ProcessId requester,
                                                     const StatusRequest& request) {
  const CreationPtr asked = find(request.key);
  // this process also still waits
  if (asked && asked->is_waiting()) return std::nullopt;
  if (const int rank = asked ? asked->group()->rank_of(requester) : kUndefined;
      rank != kUndefined && asked->is_unnotified(rank)) {
    record_notified(asked, rank);
    return FailureMessage{
        request.key, request.call, asked->failure()->error_class(), asked->failure()->text(), {}};
  }
  const auto last = std::find_if(
      failures_.rbegin(), failures_.rend(),
      [&](const RecordedFailure& recorded) { return recorded.failure.key == request.key; });
  if (last == failures_.rend() || !may_be_unknown_to(*last, requester, request))
    return std::nullopt;
  FailureMessage failure = last->failure;
  failure.call = request.call;
  return failure;
}

void Creations::handle(base::ProcessId from, StatusRequest message) {
  if (!is_plausible(message.key, from)) return;
  // a late process may be unknown here; an invalid address changes nothing
  if (!message.requester.bytes.empty())
    (void)process_.record_looked_up_address(from, message.requester);
  if (const auto failure = failure_for(from, message)) return send(from, *failure);
  CreationPtr asked = find(message.key);
  const bool is_in_it = asked && asked->is_waiting();
  StatusReply reply{.asked = std::move(message.key), .several_threads = another_may_call()};
  if (is_in_it) reply.missing = describe_missing(*asked);
  for (const auto& [key, creation] : creations_)
    if (creation->is_waiting()) reply.waiting.push_back(creation->key());
  const auto quiet_ms = (base::now_ns() - last_call_) / 1'000'000;
  reply.quiet_ms = static_cast<std::uint32_t>(std::min<base::Nanoseconds>(quiet_ms, UINT32_MAX));
  send(from, reply);
}

}  // namespace shim::sessions
