// SPDX-License-Identifier: BSD-3-Clause
// Runs one member's call: join, contribute, wait. Node leaders also collect and forward.
#include "shim/sessions/message_protocol_call.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "shim/sessions/creation_text.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// 2 s that a failed call waits for the addresses of processes to notify; later creations continue
/// the search.
constexpr base::Nanoseconds kQueuedFailuresWait = 2'000'000'000;

std::unique_ptr<ParentResolver> make_parent_resolver(Process& process, const Creation& creation) {
  const auto& roles = creation.roles();
  std::vector<std::uint32_t> node_leaders;
  for (int leader : roles.node_leaders) node_leaders.push_back(creation.process_at(leader).rank);
  std::optional<std::uint32_t> parent;
  if (roles.parent) parent = creation.process_at(*roles.parent).rank;
  return std::make_unique<ParentResolver>(process, std::move(node_leaders), parent);
}

}  // namespace

void MessageProtocol::WaitingCall::describe(p2p::WaitDescription& description) const {
  std::lock_guard guard(protocol_.mutex_);
  description.text = watch->describe_missing() + ", in the " + name_of(*creation);
  description.is_only_on_request = true;  // CreationReport
}

std::optional<base::Result<Agreement>> MessageProtocol::agree(const CreationCall& call) {
  const auto roles = roles_in(*call.group, process_.self(), process_.creation_context());
  // may query the launcher: not under the mutex
  auto own = make_own_contribution(roles, call.operation);
  if (!own) {
    refuse(call, own.error());
    return std::move(own).error();
  }
  OfferedBase base(process_, own->context_base);
  return base.used_by(run(call, *own));
}

base::Result<MessageProtocol::OwnContribution> MessageProtocol::make_own_contribution(
    const CreationRoles& roles, const base::TracedOperation& during) {
  OwnContribution own;
  if (roles.spans_nodes) {
    if (roles.is_node_leader())
      // peers look up node leaders only: contributions carry the other members' addresses
      SHIM_TRY(process_.peers().publish(during));
    SHIM_TRY_ASSIGN(own.address, process_.peers().own_address());
  }
  // last, so that no base is taken if the process has no network
  own.context_base = process_.context_ids().take_base();
  return own;
}

base::Result<Agreement> MessageProtocol::run(const CreationCall& call, const OwnContribution& own) {
  WaitingCall waiting(*this, call);
  SHIM_TRY(join(call, own, waiting));
  auto waited = process_.engine().wait_until(
      [&] { return fail_if_precondition_fails(waiting) || advance(waiting); }, waiting);
  wait_for_queued_failures();
  std::lock_guard guard(mutex_);
  const CreationPtr& creation = waiting.creation;
  if (!waited && !creation->is_over()) fail(creation, waited.error(), {creation->roles().self});
  return creation->result();
}

base::Status MessageProtocol::join(const CreationCall& call, const OwnContribution& own,
                                   WaitingCall& waiting) {
  const CreationKey key = key_of(call);
  std::lock_guard guard(mutex_);
  notices_.drop_queued(key);
  CreationPtr creation = registry_.find_or_begin(key);
  const int self = creation->roles().self;
  // failed before this call: this call returns the failure
  if (creation->failure() && creation->is_unnotified(self)) {
    registry_.record_notified(creation, self);
    return creation->failure()->clone();
  }
  if (creation->failure()) {  // this process knows that failure, so this call is a new attempt
    registry_.forget(*creation);
    creation = registry_.find_or_begin(key);
  }
  if (!creation->begin_call(own.entry(), call.operation)) return called_twice(call);
  calls_.push_back(&waiting);
  waiting.creation = creation;
  waiting.watch.emplace(WatchContext{process_, *creation, registry_, threads_});
  waiting.rendezvous.emplace(process_, *creation);
  creation->operation().begin(base::Phase::links);
  if (!partners_are_in_reach(creation)) return {};
  const CreationRoles& roles = creation->roles();
  if (!roles.is_node_leader()) {
    contribute(*creation);
    return {};
  }
  creation->operation().next(base::Phase::collect);
  if (creation->subtree_is_complete())
    creation->operation().end(base::Phase::collect);  // all contributions arrived before
  if (!roles.spans_nodes) return {};
  waiting.parent = make_parent_resolver(process_, *creation);
  if (roles.parent) creation->operation().begin(base::Phase::parent);
  return {};
}

/// Fail the creation if an exception has ended its call, because partners may have the
/// contribution.
void MessageProtocol::leave(WaitingCall& waiting) {
  std::lock_guard guard(mutex_);
  std::erase(calls_, &waiting);
  const CreationPtr& creation = waiting.creation;
  if (creation->is_over()) return;
  try {
    fail(creation,
         Error(ErrorClass::other,
               name_of(*creation) +
                   " has failed: an exception or pthread_exit has ended the call of process " +
                   std::to_string(process_.self().rank)),
         {creation->roles().self});
  } catch (const std::bad_alloc&) {
    // no memory for messages: the partners report that this process is missing
    registry_.forget(*creation);
  }
}

/// Open the links to all partners on this node; if that is impossible, fail the creation and return
/// false. Called first, because a node leader that cannot answer must not collect.
bool MessageProtocol::partners_are_in_reach(const CreationPtr& creation) {
  const auto& roles = creation->roles();
  if (!roles.is_node_leader()) return !fail_if_out_of_reach(creation, roles.node_leader);
  return std::none_of(roles.local.begin(), roles.local.end(),
                      [&](int rank) { return fail_if_out_of_reach(creation, rank); });
}

bool MessageProtocol::advance(WaitingCall& waiting) {
  std::lock_guard guard(mutex_);
  const CreationPtr& creation = waiting.creation;
  if (creation->is_over()) return true;
  waiting.rendezvous->abort();
  const CreationRoles& roles = creation->roles();
  bool parent_is_known = true;
  if (waiting.parent) {
    auto found = waiting.parent->poll();
    if (!found) {
      fail(creation,
           std::move(found).error().within("cannot get the address of a process on another node"),
           {roles.self});
      return true;
    }
    parent_is_known = *found;
    if (parent_is_known && roles.parent)
      creation->operation().end(base::Phase::parent, creation->process_at(*roles.parent).rank);
  }
  if (roles.is_node_leader() && parent_is_known && creation->subtree_is_complete()) {
    if (roles.is_tree_root()) {
      complete_as_root(creation, waiting.call.vci);
    } else if (creation->state() == CreationState::collecting ||
               // the parent re-initialized: its former incarnation lost the contribution
               waiting.sent_to_incarnation != waiting.parent->incarnation()) {
      if (fail_if_out_of_reach(creation, *roles.parent)) return true;
      contribute(*creation);
      waiting.sent_to_incarnation = waiting.parent->incarnation();
    }
  }
  if (!creation->is_over() && waiting.watch->is_due()) {
    notices_.send_queued();
    if (auto found = waiting.watch->check()) fail(creation, *found);
  }
  return creation->is_over();
}

/// Call check_precondition without the mutex, because it may take the lock of another VCI's engine.
bool MessageProtocol::fail_if_precondition_fails(WaitingCall& waiting) {
  if (!waiting.call.check_precondition) return false;
  const base::Status may = waiting.call.check_precondition();
  if (may) return false;
  std::lock_guard guard(mutex_);
  const CreationPtr& creation = waiting.creation;
  if (!creation->is_over()) fail(creation, may.error(), {creation->roles().self});
  return true;
}

void MessageProtocol::wait_for_queued_failures() {
  auto none_is_new = [&] {
    std::lock_guard guard(mutex_);
    notices_.send_queued();
    return !notices_.has_queued_since(kQueuedFailuresWait);
  };
  if (!none_is_new()) (void)process_.engine().wait_until(none_is_new);
}

/// Notify members that wait for this one, now or later, that it cannot take part.
void MessageProtocol::refuse(const CreationCall& call, const base::Error& reason) {
  {
    std::lock_guard guard(mutex_);
    const CreationPtr creation = registry_.find_or_begin(key_of(call));
    const auto& roles = creation->roles();
    if (creation->state() != CreationState::announced) return;
    if (roles.parent && !process_.peers().known_incarnation(creation->process_at(*roles.parent)))
      notices_.queue(creation->process_at(*roles.parent),
                     {creation->key(), 0, reason.error_class(), reason.text(), {}});
    fail(creation, Error(reason.error_class(), "a member cannot participate: " + reason.text()),
         {roles.self});
  }
  wait_for_queued_failures();
}

}  // namespace shim::sessions
