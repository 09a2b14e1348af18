// SPDX-License-Identifier: BSD-3-Clause
// Handles the creation messages of other processes.
#include "shim/sessions/message_protocol.hpp"

#include <algorithm>
#include <utility>

#include "shim/sessions/caller_threads.hpp"
#include "shim/sessions/creation_send.hpp"
#include "shim/sessions/disagreement.hpp"
#include "shim/sessions/member_addresses.hpp"
#include "shim/sessions/message_protocol_call.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

static bool contains(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

MessageProtocol::MessageProtocol(Process& process, const CallerThreads& threads,
                                 RendezvousProtocol& rendezvous)
    : process_(process),
      threads_(threads),
      rendezvous_(rendezvous),
      registry_(process),
      notices_(process, registry_) {}

MessageProtocol::~MessageProtocol() = default;

bool MessageProtocol::knows(const CreationKey& key) const {
  std::lock_guard guard(mutex_);
  return registry_.find(key) != nullptr;
}

void MessageProtocol::on_control(base::ProcessId from, std::span<const std::byte> bytes) {
  auto message = decode(bytes, process_.bootstrap().job().size);
  if (!message) return count_dropped(from);
  std::lock_guard guard(mutex_);
  std::visit([&](auto& alternative) { handle(from, std::move(alternative)); }, *message);
}

void MessageProtocol::count_dropped(base::ProcessId from) const {
  process_.log().write(base::LogLevel::error, "invalid message of process " +
                                                  std::to_string(from.rank) +
                                                  " about a communicator creation; dropped");
}

MessageProtocol::WaitingCall* MessageProtocol::call_in(const Creation& creation) const {
  const auto at = std::ranges::find_if(
      calls_, [&](const WaitingCall* call) { return call->creation.get() == &creation; });
  return at == calls_.end() ? nullptr : *at;
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
static bool may_contribute(const Creation& creation, int rank, const MemberTable& entries,
                           const CreationContext& context) {
  const auto& roles = creation.roles();
  if (!entries.find(rank) || entries.last() >= creation.group()->size()) return false;
  if (contains(roles.local, rank)) return entries.size() == 1;
  if (!contains(roles.children, rank)) return false;
  const auto node_leaders = roles.node_leaders_from(rank);
  const std::vector<int> others = ranks_except(node_leaders, entries);
  if (others.empty()) return true;  // common case at large scale, and cheap to test
  auto node_of = [&](int member) { return context.node_of(creation.process_at(member)); };
  std::vector<std::uint32_t> nodes;
  for (int leader : node_leaders) nodes.push_back(node_of(leader));
  std::ranges::sort(nodes);
  return std::ranges::all_of(
      others, [&](int member) { return std::ranges::binary_search(nodes, node_of(member)); });
}

void MessageProtocol::handle(base::ProcessId from, ContributionMessage message) {
  CreationPtr creation = from == process_.self() ? nullptr
                                                 : registry_.find_or_begin(message.key, from);
  if (!creation) return;
  rendezvous_.divert(message.key);
  const int rank = creation->group()->rank_of(from);
  if (!may_contribute(*creation, rank, message.entries, process_.creation_context()))
    return count_dropped(from);
  record_addresses(process_, *creation, message.entries);
  const MemberEntry own = message.entries.at(rank);
  if (contains(creation->roles().children, rank))
    process_.peers().record_published(from,
                                      own.incarnation);  // node leaders publish before they send
  const std::uint32_t call_id = own.context_base;
  if (is_closing_) {
    registry_.forget(*creation);
    return return_contribution(from, message.key, call_id);
  }
  if (creation->failure()) {
    if (creation->is_unnotified(rank)) {
      send_creation_message(process_, from,
                            FailureMessage{creation->key(),
                                           call_id,
                                           creation->failure()->error_class(),
                                           creation->failure()->text(),
                                           {}});
      return registry_.record_notified(creation, rank);
    }
    registry_.forget(*creation);  // it knows of the failure, so this is a new attempt
    creation = registry_.find_or_begin(message.key);
  }
  creation->add_contribution(rank, message.entries);
  if (creation->subtree_is_complete()) creation->operation().end(base::Phase::collect, from.rank);
}

/// Open the VCI of a communicator that this process gave up and others made: it must receive what
/// they send there.
void MessageProtocol::join_vci(std::uint32_t vci) {
  // memory exists, because the root has opened the VCI
  if (vci < process_.vcis().count()) (void)process_.vcis().open(vci);
}

void MessageProtocol::handle(base::ProcessId from, OutcomeMessage message) {
  CreationPtr creation = registry_.find(message.key);
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
  if (message.entries.at(roles.self).context_base != creation->own_call_id())
    return join_vci(message.vci);
  if (message.vci >= (roles.spans_nodes ? 1 : process_.vcis().count())) return count_dropped(from);
  creation->operation().end(base::Phase::outcome, from.rank);
  finish(creation, message);
}

void MessageProtocol::handle(base::ProcessId from, FailureMessage message) {
  CreationPtr creation = registry_.find_or_begin(message.key, from);
  if (!creation) return;
  rendezvous_.divert(message.key);
  const int rank = creation->group()->rank_of(from);
  if (creation->failure())
    return registry_.record_notified(creation, rank);  // two processes detected it
  const auto& roles = creation->roles();
  if (message.call_id != 0) {
    // either the answer to this process's contribution, or a partner withdraws its contribution
    const int above = roles.is_node_leader() ? roles.parent.value_or(kUndefined)
                                             : roles.node_leader;
    const auto awaited = creation->missing_members();
    const bool may_answer = rank == above ||
                            std::find(awaited.begin(), awaited.end(), rank) != awaited.end();
    const bool answers_us = creation->is_waiting() && may_answer &&
                            message.call_id == creation->own_call_id();
    const bool is_withdrawal = creation->contributed().contains(rank) &&
                               creation->entries().at(rank).context_base == message.call_id;
    if (!answers_us && !is_withdrawal) {  // of an earlier attempt
      if (!creation->is_waiting() && creation->contributed().empty()) registry_.forget(*creation);
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

void MessageProtocol::return_contribution(base::ProcessId to, const CreationKey& key,
                                          std::uint32_t call_id) {
  send_creation_message(process_, to,
                        ReturnedContribution{key, call_id, process_.peers().own_incarnation()});
}

void MessageProtocol::handle(base::ProcessId from, ReturnedContribution message) {
  CreationPtr creation = registry_.find(message.key);
  if (!creation || !creation->is_waiting() || message.call_id != creation->own_call_id()) return;
  const int rank = creation->group()->rank_of(from);
  // Send to a local node leader immediately: the message waits in shared memory until that process
  // re-initializes.
  if (!creation->roles().is_node_leader() && rank == creation->roles().node_leader)
    contribute(*creation);
  WaitingCall* const call = call_in(*creation);
  if (call != nullptr && call->parent && rank == creation->roles().parent)
    call->parent->on_parent_left(message.incarnation);
}

/// Return the failure of the creation that the requester waits in; nothing if there is none, or the
/// requester knows of it. An unnotified partner gets a failure of any age.
std::optional<FailureMessage> MessageProtocol::failure_for(base::ProcessId requester,
                                                           const StatusRequest& request) {
  const CreationPtr asked = registry_.find(request.key);
  // this process also still waits
  if (asked && asked->is_waiting()) return std::nullopt;
  if (const int rank = asked ? asked->group()->rank_of(requester) : kUndefined;
      rank != kUndefined && asked->is_unnotified(rank)) {
    registry_.record_notified(asked, rank);
    return FailureMessage{request.key,
                          request.call_id,
                          asked->failure()->error_class(),
                          asked->failure()->text(),
                          {}};
  }
  return notices_.recorded_for(requester, request);
}

void MessageProtocol::handle(base::ProcessId from, StatusRequest message) {
  if (!registry_.is_plausible(message.key, from)) return;
  // a late process may be unknown here; an invalid address changes nothing
  if (!message.requester.bytes.empty())
    (void)process_.peers().record_looked_up(from, {.address = message.requester});
  if (const auto failure = failure_for(from, message))
    return send_creation_message(process_, from, *failure);
  const CreationPtr asked = registry_.find(message.key);
  const WaitingCall* const call = asked && asked->is_waiting() ? call_in(*asked) : nullptr;
  const auto quiet_ms = threads_.quiet_for() / 1'000'000;
  StatusReply reply{
      .asked = std::move(message.key),
      .several_threads = another_may_call(process_, threads_),
      .waiting = registry_.keys_of_waiting(),
      .missing = call != nullptr ? call->watch->describe_missing() : "",
      .quiet_ms = static_cast<std::uint32_t>(std::min<base::Nanoseconds>(quiet_ms, UINT32_MAX))};
  send_creation_message(process_, from, reply);
}

void MessageProtocol::handle(base::ProcessId from, StatusReply message) {
  const CreationPtr creation = registry_.find(message.asked);
  WaitingCall* const call = creation && creation->is_waiting() ? call_in(*creation) : nullptr;
  if (call == nullptr) return;
  if (auto found = call->watch->on_reply(creation->group()->rank_of(from), message))
    fail(creation, *found);
}

void MessageProtocol::close() {
  std::lock_guard guard(mutex_);
  is_closing_ = true;
  for (const CreationPtr& creation : registry_.take_all())
    if (!creation->is_over())
      for (int rank : creation->contributed())
        return_contribution(creation->process_at(rank), creation->key(),
                            creation->entries().at(rank).context_base);
}

std::size_t MessageProtocol::unnotified_failures() const {
  std::lock_guard guard(mutex_);
  return registry_.in_state(CreationState::failed).size();
}

}  // namespace shim::sessions
