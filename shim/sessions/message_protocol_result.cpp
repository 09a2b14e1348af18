// SPDX-License-Identifier: BSD-3-Clause
// Ends creations: the outcome goes down the tree, a failure to all partners that wait.
#include <algorithm>
#include <utility>

#include "shim/sessions/creation_send.hpp"
#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/disagreement.hpp"
#include "shim/sessions/member_addresses.hpp"
#include "shim/sessions/message_protocol.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

static std::shared_ptr<const p2p::ContextBases> bases_of_members(const MemberTable& entries) {
  std::vector<std::uint32_t> by_rank;
  by_rank.reserve(entries.size());
  for (std::size_t index = 0; index < entries.size(); ++index)
    by_rank.push_back(entries.entry_at(index).context_base);
  return bases_of(std::move(by_rank));
}

/// Send this process's contribution; without effect in a state in which it must not.
void MessageProtocol::contribute(Creation& creation) {
  if (!creation.send_contribution()) return;
  const CreationRoles& roles = creation.roles();
  creation.operation().next(base::Phase::outcome);
  const int receiver = roles.is_node_leader() ? *roles.parent : roles.node_leader;
  send_creation_message(process_, creation.process_at(receiver),
                        ContributionMessage{creation.key(), creation.entries()});
}

/// Complete the creation. Called on rank 0, which has all contributions.
void MessageProtocol::complete_as_root(const CreationPtr& creation, std::uint32_t wanted_vci) {
  if (static_cast<int>(creation->entries().size()) != creation->group()->size())
    return fail(creation,
                base::Error(base::ErrorClass::intern,
                            "contributions to the creation of a communicator are incomplete"),
                {creation->roles().self});
  const std::uint32_t vci = creation->roles().spans_nodes
                                ? 0
                                : process_.vcis().open_or_default(wanted_vci);
  finish(creation, {creation->key(), process_.context_ids().make_extended_id(),
                    static_cast<std::uint8_t>(vci), creation->entries()});
}

void MessageProtocol::finish(const CreationPtr& creation, const OutcomeMessage& outcome) {
  const MemberTable& entries = outcome.entries;
  creation->operation().next(base::Phase::spread);
  const auto& roles = creation->roles();
  auto send_to = [&](const std::vector<int>& partners, const MemberTable& table) {
    if (partners.empty()) return;
    const auto bytes = encode(OutcomeMessage{creation->key(), outcome.id, outcome.vci, table});
    for (int rank : partners) send_creation_bytes(process_, creation->process_at(rank), bytes);
  };
  send_to(roles.children, entries);  // first, because their subtrees wait for it
  record_addresses(process_, *creation, entries);
  send_to(roles.local, roles.spans_nodes ? for_local_node(process_, *creation, entries) : entries);
  if (creation->agree({outcome.id, bases_of_members(entries), entries.at(roles.self).context_base,
                       outcome.vci}))
    registry_.forget(*creation);
}

/// Ignores a partner that is gone: the watchdog handles it, with a better error text.
bool MessageProtocol::fail_if_out_of_reach(const CreationPtr& creation, int rank) {
  auto reached = process_.engine().prepare_send(creation->process_at(rank));
  if (reached || reached.error().error_class() == base::ErrorClass::proc_aborted) return false;
  fail(creation, reached.error(), {creation->roles().self});
  return true;
}

void MessageProtocol::fail(const CreationPtr& creation, const base::Error& error,
                           std::set<int> notified, const ExcludedMembers& excluded) {
  const auto& roles = creation->roles();
  const GroupPtr elsewhere = Group::of_ranges(excluded.elsewhere),
                 dead = Group::of_ranges(excluded.dead);
  auto is_in = [&](const GroupPtr& these, int rank) {
    return these->rank_of(creation->process_at(rank)) != kUndefined;
  };
  std::optional<base::ProcessId> parent;
  if (roles.parent && process_.peers().known_incarnation(creation->process_at(*roles.parent)))
    parent = creation->process_at(*roles.parent);
  // rank, and id of the call that the notice answers
  std::vector<std::pair<int, std::uint32_t>> notices;
  std::set<int> unnotified;
  auto notify = [&](int rank, std::uint32_t call_id) {
    if (notified.insert(rank).second) notices.emplace_back(rank, call_id);
  };
  // Notify the node leader or the parent at once, even before its call: it keeps the failure until
  // then. A parent without a known address sends a status request after its call.
  if (!roles.is_node_leader()) notify(roles.node_leader, creation->own_call_id());
  const bool has_sent = creation->state() == CreationState::awaiting_outcome;
  if (parent)
    notify(*roles.parent, has_sent ? creation->own_call_id() : 0);
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
  notices_.record(message, parent);
  for (const auto& [rank, call_id] : notices) {
    message.call_id = call_id;
    send_creation_message(process_, creation->process_at(rank), message);
  }
  if (creation->all_are_notified()) registry_.forget(*creation);
}

void MessageProtocol::fail(const CreationPtr& creation, const Finding& finding) {
  if (finding.node_leader_is_dead) notify_for_node_leader(*creation, finding);
  for (const auto& [rank, key] : finding.elsewhere) fail_other(*creation, key, rank, finding.error);
  fail(creation, finding.error, {creation->roles().self}, finding.excluded);
}

/// Fail the other creation, in which `rank` waits. If contributions to it wait in this process,
/// this process notifies all members that wait there; else that member does.
void MessageProtocol::fail_other(const Creation& mine, const CreationKey& other, int rank,
                                 const base::Error& error) {
  const base::ProcessId self = process_.self();
  ExcludedMembers from_here{.elsewhere = callers_of(mine), .dead = {}};
  from_here.elsewhere.push_back({self.world, self.rank, 1, 1});
  if (CreationPtr known = registry_.find(other);
      known && known->state() == CreationState::announced)
    return fail(known, error, {known->roles().self}, from_here);
  const FailureMessage message{other, 0, error.error_class(), error.text(), from_here};
  send_creation_message(process_, mine.process_at(rank), message);
  notices_.record(message, std::nullopt);
}

/// Notify the partners of this node's dead node leader on other nodes: its parent and its children.
/// Only this node knows of the death; its first living member notifies. (A surplus message that
/// matches a later creation with an equal key is harmless: that creation cannot succeed either.)
void MessageProtocol::notify_for_node_leader(const Creation& creation, const Finding& finding) {
  const auto& group = *creation.group();
  const auto of_leader = roles_in(group, group.at(creation.roles().node_leader),
                                  process_.creation_context());
  // a member without a session cannot send, living or not
  const auto first = std::find_if(of_leader.local.begin(), of_leader.local.end(), [&](int rank) {
    return process_.node().has_session(group.at(rank)) &&
           process_.node().is_running(group.at(rank));
  });
  if (first == of_leader.local.end() || *first != creation.roles().self) return;
  std::vector<int> others = of_leader.children;
  if (of_leader.parent) others.push_back(*of_leader.parent);
  for (int rank : others)
    notices_.queue(group.at(rank), {creation.key(), 0, finding.error.error_class(),
                                    finding.error.text(), finding.excluded});
}

}  // namespace shim::sessions
