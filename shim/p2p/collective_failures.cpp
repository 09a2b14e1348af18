// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/collective_failures.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "shim/p2p/context_failures.hpp"

namespace shim::p2p {

namespace {

/// Largest communicator in which each member is notified directly. In larger ones a member notifies
/// the members at distances of powers of two in both directions, which forward the notice.
constexpr int kMaxDirectNotices = 64;

/// Return the ranks that a member notifies.
std::vector<int> ranks_to_notify(int own_rank, int size) {
  std::vector<int> ranks;
  if (size <= kMaxDirectNotices) {
    for (int rank = 0; rank < size; ++rank) ranks.push_back(rank);
    return ranks;
  }
  const int own = own_rank % size;  // the two groups of an intercommunicator may differ in size
  ranks.push_back(own);
  for (int distance = 1; distance < size; distance *= 2) {
    ranks.push_back((own + distance) % size);
    ranks.push_back((own + size - distance) % size);
  }
  return ranks;
}

template <typename Notice>
base::ErrorClass class_of(const Notice& notice) {
  const bool is_known = notice.error_class > 0 &&
                        notice.error_class <= static_cast<int>(base::kLastErrorClass);
  return is_known ? static_cast<base::ErrorClass>(notice.error_class) : base::ErrorClass::other;
}

base::Error error_of(const wire::CollectivesFailed& notice) {
  const std::string reporter = "rank " + std::to_string(notice.source);
  const auto error_class = class_of(notice);
  if (error_class == base::ErrorClass::proc_aborted) {
    const auto failed = notice.failed_process().process();
    return {error_class,
            (failed ? "process " + std::to_string(failed->rank) : std::string("a process")) +
                " has died or finalized (reported by " + reporter +
                "); see its output for the reason, and free the communicators that contain it"};
  }
  return {error_class, reporter + " failed in a collective of this communicator (" +
                           std::string(base::name_of(error_class)) +
                           "); see its error for the reason, and free the communicator"};
}

base::Error error_of(const wire::CallAfterRefusal& notice) {
  if (class_of(notice) == base::ErrorClass::not_same)
    return {base::ErrorClass::other,
            "rank " + std::to_string(notice.source) +
                " selects collective algorithms by another table than this process; set "
                "INTERSESSION_COLL_TUNING to files with equal rows on all processes"};
  return {base::ErrorClass::other,
          "rank " + std::to_string(notice.source) + " rejected a collective call (" +
              std::string(base::name_of(class_of(notice))) +
              ") and made another one, but this process made the rejected call; see its error for "
              "the reason, and free the communicator"};
}

}  // namespace

void CollectiveFailures::end_collectives(Context& context, const base::Error& reason) {
  if (context.collective_failure) return;
  context.collective_failure = reason.clone();
  context.has_failures = true;
  // release: pairs with the acquire of threads that begin a collective
  context.collectives_have_failed.store(true, std::memory_order_release);
  context.retain();  // ending the last receive must not destroy it
  end_receives(context, Scope::collectives);
  end_sends(context, Scope::collectives);
  notify_members(context);
  context.drop();
}

void CollectiveFailures::end_receives(Context& context, Scope scope) {
  const base::Error& reason = *context.collective_failure;
  const auto ends = [&](const PostedReceive& posted) {
    return is_in(scope, static_cast<const ReceiveRequest&>(posted).address, context);
  };
  for (Matching& matching : context.queues) {
    while (PostedReceive* posted = matching.find_posted(ends))
      collaborators_.operations.end(static_cast<ReceiveRequest&>(*posted),
                                    {posted->source, posted->tag, 0}, reason.clone());
  }
  // one at a time: ending one may end others, whose owners release them at once
  while (ReceiveRequest* request = find_matched_receive(context, scope)) {
    Peer& from = *request->peer;
    const bool is_read = !request->with_provider && request->id == 0;
    wire::Finished reply;
    reply.send = request->remote_send;
    collaborators_.operations.end(*request, {request->address.rank, request->address.tag, 0},
                                  reason.clone());
    // a receive that is not read needs no reply: its sender sends data packets, which are dropped
    if (is_read) collaborators_.output.transmit(from, reply);
  }
}

/// Return a receive on this communicator that has its message or was posted to its transport; null
/// if there is none.
ReceiveRequest* CollectiveFailures::find_matched_receive(const Context& context, Scope scope) {
  const auto ends = [&](const ReceiveRequest& request) {
    return is_in(scope, request.address, context);
  };
  return collaborators_.peers.find_first([&](Peer& peer) -> ReceiveRequest* {
    if (const auto found = std::ranges::find_if(peer.incoming, ends); found != peer.incoming.end())
      return &*found;
    const auto found = std::ranges::find_if(peer.provider_receives, ends);
    return found != peer.provider_receives.end() ? &*found : nullptr;
  });
}

SendRequest* CollectiveFailures::find_send(const Context& context, Scope scope) {
  return collaborators_.peers.find_first([&](Peer& peer) -> SendRequest* {
    for (SendRequest& request : peer.unfinished)
      if (!request.is_revoked && is_in(scope, request.address, context)) return &request;
    return nullptr;
  });
}

void CollectiveFailures::end_sends(Context& context, Scope scope) {
  while (SendRequest* request = find_send(context, scope)) {
    const bool is_announced = std::erase_if(request->peer->queue, [&](const QueuedOutput& queued) {
                                return queued.request == request;
                              }) == 0;
    if (scope == Scope::all && is_announced && !request->is_refused && may_be_read(*request))
      request->is_revoked = true;  // ends when its receiver answers
    else
      collaborators_.operations.end(*request, context.collective_failure->clone());
  }
}

template <typename Notice>
void CollectiveFailures::transmit_to_members(Context& context, Notice notice) {
  notice.source = context.spec.own_rank;
  for (int rank : ranks_to_notify(context.spec.own_rank, context.size)) {
    const base::ProcessId member = context.spec.members->at(rank);
    if (member == collaborators_.self || collaborators_.router->has_died(member)) continue;
    Peer& to = collaborators_.peers.at(context, rank);
    if (to.failure) continue;
    notice.context = user_plane_of(context.id_at(rank, Plane::user));
    collaborators_.output.transmit(to, notice);
  }
}

void CollectiveFailures::notify_members(Context& context) {
  wire::CollectivesFailed notice;
  notice.error_class = static_cast<std::int32_t>(context.collective_failure->error_class());
  if (context.collective_failure->error_class() == base::ErrorClass::proc_aborted)
    notice.set_failed_process(failed_member(context));
  transmit_to_members(context, notice);
}

void CollectiveFailures::record_refusal(Context& context, bool is_persistent_collective,
                                        const base::Error& reason) {
  context.refusals[is_persistent_collective] = reason.error_class();
  context.numbers.needs_call_check_.store(true, std::memory_order_relaxed);
}

void CollectiveFailures::check_call_number(Context& context, int tag) {
  const bool is_persistent_collective = CollectiveNumbers::is_persistent_collective(tag);
  if (const auto refusal = std::exchange(context.refusals[is_persistent_collective],
                                         std::nullopt)) {
    wire::CallAfterRefusal notice;
    notice.tag = tag;
    notice.call = context.numbers.sequence_of(tag).call_of(static_cast<std::uint32_t>(tag));
    notice.error_class = static_cast<std::int32_t>(*refusal);
    transmit_to_members(context, notice);
  }
  check_pending_notices(context);
}

void CollectiveFailures::on_call_after_refusal(const wire::CallAfterRefusal& notice) {
  const base::ContextId id = user_plane_of(notice.context);
  Context* context = collaborators_.contexts.find(id);
  if (context != nullptr) {
    context->call_notices.push_back(notice);
    check_pending_notices(*context);
  } else if (collaborators_.contexts.has_ended(id)) {
    ++collaborators_.counts.stale_dropped;
  } else {
    early_call_notices_[id].push_back(notice);
  }
}

/// Fail the collectives if a member that had rejected a call then made another call than this
/// process under the same number. Calls that this process has not made yet are checked once it has.
void CollectiveFailures::check_pending_notices(Context& context) {
  std::optional<wire::CallAfterRefusal> lost;
  std::erase_if(context.call_notices, [&](const wire::CallAfterRefusal& call) {
    if (!context.numbers.has_begun(call.tag)) return false;
    if (!context.numbers.was(call.tag, call.call)) lost = call;
    return true;
  });
  const bool needs_call_check = !context.call_notices.empty() || context.refusals[0] ||
                                context.refusals[1];
  context.numbers.needs_call_check_.store(needs_call_check, std::memory_order_relaxed);
  if (lost) end_collectives(context, error_of(*lost));
}

/// Return the process that a member reported as failed, else the failed member of lowest rank; 0 if
/// there is none, or it is in another world.
wire::SenderNumber CollectiveFailures::failed_member(const Context& context) const {
  if (context.reported_failed.number != 0) return context.reported_failed;
  wire::SenderNumber found;
  context.peers.for_each([&](int, const Peer* member) {
    if (found.number == 0 && member != nullptr && member->failure)
      found = wire::SenderNumber::of(member->process);
  });
  return found;
}

void CollectiveFailures::on_collectives_failed(const wire::CollectivesFailed& notice) {
  const base::ContextId id = user_plane_of(notice.context);
  if (Context* context = collaborators_.contexts.find(id))
    return handle_failure_notice(*context, notice);
  if (collaborators_.contexts.has_ended(id))
    ++collaborators_.counts.stale_dropped;
  else
    record_early_notice(id, notice);
}

/// Keep the first notice; a revocation replaces it, because it ends more operations.
void CollectiveFailures::record_early_notice(base::ContextId id,
                                             const wire::CollectivesFailed& notice) {
  const auto [early, is_first] = early_notices_.emplace(id, notice);
  if (!is_first && class_of(notice) == base::ErrorClass::revoked) early->second = notice;
}

void CollectiveFailures::handle_failure_notice(Context& context,
                                               const wire::CollectivesFailed& notice) {
  if (class_of(notice) == base::ErrorClass::revoked) return revoke(context);
  context.reported_failed = notice.failed_process();
  context.retain();  // ending the last receive must not destroy it
  end_collectives(context, error_of(notice));
  const auto failed = notice.failed_process().process();
  for (int rank = 0; failed && rank < context.size; ++rank)
    if (context.spec.members->at(rank) == *failed)
      collaborators_.failed_ranks.record_failed_rank(context, rank);
  context.drop();
}

/// Drop notices for communicators that will never be made.
void CollectiveFailures::drop_early_notices() {
  const auto is_over = [&](const auto& early) {
    return collaborators_.contexts.has_ended(early.first);
  };
  std::erase_if(early_notices_, is_over);
  std::erase_if(early_call_notices_, is_over);
}

void CollectiveFailures::apply_early_notices(Context& context) {
  if (auto disputes = early_call_notices_.extract(context.id)) {
    context.call_notices = std::move(disputes.mapped());
    check_pending_notices(context);
  }
  if (const auto failure = early_notices_.extract(context.id))
    handle_failure_notice(context, failure.mapped());
}

/// Only members that share memory with this process count, because this process cannot stop their
/// reads. Over a fabric, the end of a registration (transport::MemoryRegistration) ends the reads.
bool CollectiveFailures::has_sent_notices() const {
  return collaborators_.peers.find_first([](Peer& to) -> Peer* {
    const bool may_read = to.link != nullptr && to.interfaces->cooperative_writes != nullptr &&
                          to.interfaces->cooperative_writes->cooperative_copy_to(*to.link) !=
                              nullptr;
    return may_read && std::ranges::any_of(to.queue, &QueuedOutput::is_notice) ? &to : nullptr;
  }) == nullptr;
}

/// Check the pending notices about calls (wire::CallAfterRefusal), because this process may have
/// made the calls meanwhile. Allocates no memory if there are none.
void CollectiveFailures::recheck_pending_notices() {
  bool has_some = false;
  collaborators_.contexts.for_each(
      [&](Context& context) { has_some = has_some || !context.call_notices.empty(); });
  if (!has_some) return;
  collaborators_.contexts.for_each_retained([&](Context& context) {
    if (!context.call_notices.empty()) check_pending_notices(context);
  });
}

}  // namespace shim::p2p
