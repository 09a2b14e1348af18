// SPDX-License-Identifier: BSD-3-Clause
// Collectives that fail. In a collective a process waits for the peer that it receives from next, which may be alive and have given
// up, because another member has died. So the first member whose collective fails tells the others, and all their collectives on
// that communicator end, now and later (as MPIX_Comm_revoke ends all of a communicator's communication).
//
// When the operations have ended, nothing touches the caller's memory: receives leave the lists by which packets, reads and shared
// copies find them. A member may still read what a send has announced. It has the notice before it takes what it has read as good,
// because the notice is in its ring before the sender's call returns (has_told_failures, confirm_reads).
#include <algorithm>
#include <string>
#include <vector>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

/// Communicators of up to this many members: a failure is told to each of them. Larger ones: to the members at distances of powers of
/// two in both directions, which pass it on.
constexpr int kMostToldDirectly = 64;

bool is_notice(const QueuedOutput& queued) {
  const auto kind = static_cast<wire::Kind>(queued.header[0]);
  return !queued.is_control && (kind == wire::Kind::collectives_failed || kind == wire::Kind::call_after_refusal);
}

bool is_of_collective(const Address& address, const Context& context) {
  return address.context == &context && address.plane == Plane::collective && address.tag < kFirstPartitionTag;
}

/// The ranks that a member of a communicator of this size tells.
std::vector<int> ranks_to_tell(int own_rank, int size) {
  std::vector<int> ranks;
  if (size <= kMostToldDirectly) {
    for (int rank = 0; rank < size; ++rank) ranks.push_back(rank);
    return ranks;
  }
  const int own = own_rank % size;  // of an intercommunicator the two groups may differ in size
  ranks.push_back(own);
  for (int distance = 1; distance < size; distance *= 2) {
    ranks.push_back((own + distance) % size);
    ranks.push_back((own + size - distance) % size);
  }
  return ranks;
}

template <typename Notice>
base::ErrorClass class_of(const Notice& notice) {
  const bool is_known = notice.error_class > 0 && notice.error_class <= static_cast<int>(base::ErrorClass::errhandler);
  return is_known ? static_cast<base::ErrorClass>(notice.error_class) : base::ErrorClass::other;
}

base::Error error_of(const wire::CollectivesFailed& notice) {
  const std::string reporter = "rank " + std::to_string(notice.source);
  const auto error_class = class_of(notice);
  if (error_class == base::ErrorClass::proc_aborted) {
    const auto failed = notice.failed_process().process();
    return {error_class, (failed ? "process " + std::to_string(failed->rank) : std::string("a process")) + " has died or left, as " +
                             reporter + " reports; see its own output for the reason, and free the communicators it was in"};
  }
  return {error_class, reporter + " has ended a collective of this communicator with " + std::string(base::name_of(error_class)) +
                           "; see its error for the reason, and free the communicator"};
}

base::Error error_of(const wire::CallAfterRefusal& notice) {
  return {base::ErrorClass::other, "rank " + std::to_string(notice.source) + " has refused a call of a collective (" +
                                       std::string(base::name_of(class_of(notice))) +
                                       ") and made another one, while this process has made the first; see its error for the reason, and "
                                       "free the communicator"};
}

}  // namespace

void Core::fail_collectives(Context& context, const base::Error& reason) {
  if (context.collective_failure) return;
  context.collective_failure = reason.clone();
  context.has_failures = true;
  // release: pairs with the acquire of those who begin a collective
  context.collectives_have_failed.store(true, std::memory_order_release);
  retain(context);  // ending the last receive must not take it away
  end_collective_receives(context);
  end_collective_sends(context);
  tell_members(context);
  drop(context);
}

void Core::end_collective_receives(Context& context) {
  const base::Error& reason = *context.collective_failure;
  const auto is_of_it = [&](const Posted& posted) {
    return is_of_collective(static_cast<const ReceiveRequest&>(posted).address, context);
  };
  while (Posted* posted = context.matching(Plane::collective).find_posted(is_of_it))
    end(static_cast<ReceiveRequest&>(*posted), {posted->source, posted->tag, 0}, reason.clone());
  // one at a time: what ends one may end others, whose owners take them away at once
  while (ReceiveRequest* request = find_matched_receive(context)) {
    Peer& from = *request->peer;
    const bool is_read = !request->below && request->id == 0;
    wire::Finished reply;
    reply.send = request->remote_send;
    end(*request, {request->address.rank, request->address.tag, 0}, reason.clone());
    if (is_read) transmit(from, reply);  // else its sender sends packets, which find no receive
  }
}

/// A receive of a collective on this communicator that has its message, or whose transport matches; null if there is none.
ReceiveRequest* Core::find_matched_receive(const Context& context) {
  const auto is_of_it = [&](const ReceiveRequest& request) { return is_of_collective(request.address, context); };
  for (auto& [process, peer] : peers_) {
    if (const auto found = std::ranges::find_if(peer->incoming, is_of_it); found != peer->incoming.end()) return &*found;
    if (const auto found = std::ranges::find_if(peer->below, is_of_it); found != peer->below.end()) return &*found;
  }
  return nullptr;
}

SendRequest* Core::find_collective_send(const Context& context) {
  for (auto& [process, peer] : peers_) {
    for (SendRequest& request : peer->unfinished)
      if (is_of_collective(request.address, context)) return &request;
  }
  return nullptr;
}

void Core::end_collective_sends(Context& context) {
  while (SendRequest* request = find_collective_send(context)) {
    std::erase_if(request->peer->queue, [&](const QueuedOutput& queued) { return queued.request == request; });
    end(*request, context.collective_failure->clone());
  }
}

template <typename Notice>
void Core::transmit_to_members(Context& context, Notice notice) {
  notice.source = context.spec.own_rank;
  for (int rank : ranks_to_tell(context.spec.own_rank, context.size)) {
    const base::ProcessId member = context.spec.members->at(rank);
    if (member == spec.self || spec.router->has_died(member)) continue;
    Peer& to = peer(context, rank);
    if (to.failure) continue;
    notice.context = user_plane_of(context.id_at(rank, Plane::user));
    transmit(to, notice);
  }
}

void Core::tell_members(Context& context) {
  wire::CollectivesFailed notice;
  notice.error_class = static_cast<std::int32_t>(context.collective_failure->error_class());
  if (context.collective_failure->error_class() == base::ErrorClass::proc_aborted) notice.set_failed_process(failed_member(context));
  transmit_to_members(context, notice);
}

void Core::note_refusal(Context& context, bool is_lasting, const base::Error& reason) {
  context.refusals[is_lasting] = reason.error_class();
  context.turns.is_disputed_.store(true, std::memory_order_relaxed);
}

void Core::check_turn(Context& context, int tag) {
  const bool is_lasting = CollectiveTurns::is_lasting(tag);
  if (const auto refusal = std::exchange(context.refusals[is_lasting], std::nullopt)) {
    wire::CallAfterRefusal notice;
    notice.tag = tag;
    notice.call = context.turns.sequence_of(tag).call_of(static_cast<std::uint32_t>(tag));
    notice.error_class = static_cast<std::int32_t>(*refusal);
    transmit_to_members(context, notice);
  }
  settle_disputes(context);
}

void Core::on_call_after_refusal(const wire::CallAfterRefusal& notice) {
  const base::ContextId id = user_plane_of(notice.context);
  Context* context = contexts_.find(id);
  if (context != nullptr) {
    context->disputed.push_back(notice);
    settle_disputes(*context);
  } else if (contexts_.is_over(id)) {
    ++counts.stale_dropped;
  } else {
    early_disputes_[id].push_back(notice);
  }
}

/// A member that has called again, rightly, calls what this one has called. What this one has not called yet is looked at when it has.
void Core::settle_disputes(Context& context) {
  std::optional<wire::CallAfterRefusal> lost;
  std::erase_if(context.disputed, [&](const wire::CallAfterRefusal& call) {
    if (!context.turns.has_begun(call.tag)) return false;
    if (!context.turns.was(call.tag, call.call)) lost = call;
    return true;
  });
  const bool is_disputed = !context.disputed.empty() || context.refusals[0] || context.refusals[1];
  context.turns.is_disputed_.store(is_disputed, std::memory_order_relaxed);
  if (lost) fail_collectives(context, error_of(*lost));
}

/// The first member known to have failed; 0 where none is, or it is of another world.
wire::Origin Core::failed_member(const Context& context) const {
  if (context.reported_failed.number != 0) return context.reported_failed;
  wire::Origin found;
  context.peers.for_each([&](int, const Peer* member) {
    if (found.number == 0 && member != nullptr && member->failure) found = wire::Origin::of(member->process);
  });
  return found;
}

void Core::on_collectives_failed(const wire::CollectivesFailed& notice) {
  const base::ContextId id = user_plane_of(notice.context);
  if (Context* context = contexts_.find(id)) return take_notice(*context, notice);
  if (contexts_.is_over(id)) ++counts.stale_dropped;
  else early_notices_.emplace(id, notice);
}

void Core::take_notice(Context& context, const wire::CollectivesFailed& notice) {
  context.reported_failed = notice.failed_process();
  fail_collectives(context, error_of(notice));
}

/// Those of communicators that will never be made.
void Core::drop_early_notices() {
  const auto is_over = [&](const auto& early) { return contexts_.is_over(early.first); };
  std::erase_if(early_notices_, is_over);
  std::erase_if(early_disputes_, is_over);
}

void Core::take_early_notices(Context& context) {
  if (auto disputes = early_disputes_.extract(context.id)) {
    context.disputed = std::move(disputes.mapped());
    settle_disputes(context);
  }
  if (const auto failure = early_notices_.extract(context.id)) take_notice(context, failure.mapped());
}

/// What has come from members since their memory was read says whether it was theirs to show.
void Core::confirm_reads(Context& context) {
  context.has_unconfirmed_reads.store(false, std::memory_order_relaxed);
  base::Status status;
  poll_all(true, status);  // an error is for the next round, which meets it again
}

/// Only a process that shares memory with this one reads without asking; over a fabric the end of an offer ends the reads.
bool Core::has_told_failures() const {
  return std::ranges::none_of(busy_, [](const Peer* to) {
    const bool may_read = to->link != nullptr && to->transport->copy_board_to(*to->link) != nullptr;
    return may_read && std::ranges::any_of(to->queue, is_notice);
  });
}

bool Core::has_only_notices(const Peer& to) { return std::ranges::all_of(to.queue, is_notice); }

const base::Error* Core::failure_of(const Address& from) {
  const bool is_collective = from.plane == Plane::collective && from.tag < kFirstPartitionTag;
  if (is_collective && from.context->collective_failure) return &*from.context->collective_failure;
  return failure_of(*from.context, from.rank);
}

void Engine::fail_collectives(Context& context, const base::Error& reason) {
  Guard guard = core_->enter();
  core_->fail_collectives(context, reason);
}

const std::atomic<bool>& Engine::collectives_have_failed(const Context& context) { return context.collectives_have_failed; }

base::Error Engine::collective_failure(Context& context) {
  Guard guard = core_->enter();
  return context.collective_failure->clone();
}

void Engine::note_refusal(Context& context, bool is_lasting, const base::Error& reason) {
  Guard guard = core_->enter();
  core_->note_refusal(context, is_lasting, reason);
}

void Engine::check_turn(Context& context, int tag) {
  Guard guard = core_->enter();
  core_->check_turn(context, tag);
}

CollectiveTurns& Engine::turns_of(Context& context) { return context.turns; }

bool Engine::has_told_failures() {
  Guard guard = core_->enter();
  return core_->has_told_failures();
}

base::Status Engine::confirm_reads(Context& context) {
  if (!context.has_unconfirmed_reads.load(std::memory_order_relaxed)) [[likely]] return {};
  Guard guard = core_->enter();
  core_->confirm_reads(context);
  if (context.collective_failure) return context.collective_failure->clone();
  return {};
}

}  // namespace shim::p2p
