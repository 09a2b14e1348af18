// SPDX-License-Identifier: BSD-3-Clause
// Ends the collectives of a communicator at all members when one fails.
//
// In a collective a process waits for messages of some members. Such a member may be alive and
// send none, because its own call has failed after the death of a third member. The first member
// whose collective fails therefore notifies the others, and all their collectives on that
// communicator end, now and later (as MPIX_Comm_revoke ends all communication of a communicator).
//
// After that no operation of this process accesses the caller's memory: receives are unlinked from
// the lists by which packets, reads and shared copies find them. Another member may still read
// memory that a send has announced. It gets the notice before it accepts the data, because the
// sender's call waits, for a limited time, until the notice is in the member's ring
// (has_sent_failure_notices), and the member polls its ring after its reads (confirm_reads).
#include <algorithm>
#include <string>
#include <vector>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

/// Largest communicator in which each member is notified directly. In larger ones a member notifies
/// the members at distances of powers of two in both directions, which forward the notice.
constexpr int kMaxDirectNotices = 64;

bool is_notice(const QueuedOutput& queued) {
  const auto kind = static_cast<wire::PacketType>(queued.header[0]);
  return !queued.is_control && (kind == wire::PacketType::collectives_failed ||
                                kind == wire::PacketType::call_after_refusal);
}

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
  return {base::ErrorClass::other,
          "rank " + std::to_string(notice.source) + " rejected a collective call (" +
              std::string(base::name_of(class_of(notice))) +
              ") and made another one, but this process made the rejected call; see its error for "
              "the reason, and free the communicator"};
}

}  // namespace

void Core::fail_collectives(Context& context, const base::Error& reason) {
  if (context.collective_failure) return;
  context.collective_failure = reason.clone();
  context.has_failures = true;
  // release: pairs with the acquire of threads that begin a collective
  context.collectives_have_failed.store(true, std::memory_order_release);
  retain(context);  // ending the last receive must not destroy it
  end_receives(context, Scope::collectives);
  end_sends(context, Scope::collectives);
  notify_members(context);
  drop(context);
}

void Core::end_receives(Context& context, Scope scope) {
  const base::Error& reason = *context.collective_failure;
  const auto ends = [&](const PostedReceive& posted) {
    return is_in(scope, static_cast<const ReceiveRequest&>(posted).address, context);
  };
  for (Matching& matching : context.queues) {
    while (PostedReceive* posted = matching.find_posted(ends))
      end(static_cast<ReceiveRequest&>(*posted), {posted->source, posted->tag, 0}, reason.clone());
  }
  // one at a time: ending one may end others, whose owners release them at once
  while (ReceiveRequest* request = find_matched_receive(context, scope)) {
    Peer& from = *request->peer;
    const bool is_read = !request->with_provider && request->id == 0;
    wire::Finished reply;
    reply.send = request->remote_send;
    end(*request, {request->address.rank, request->address.tag, 0}, reason.clone());
    // a receive that is not read needs no reply: its sender sends data packets, which are dropped
    if (is_read) transmit(from, reply);
  }
}

/// Return a receive on this communicator that has its message or was posted to its transport; null
/// if there is none.
ReceiveRequest* Core::find_matched_receive(const Context& context, Scope scope) {
  const auto ends = [&](const ReceiveRequest& request) {
    return is_in(scope, request.address, context);
  };
  return peers_.find_first([&](Peer& peer) -> ReceiveRequest* {
    if (const auto found = std::ranges::find_if(peer.incoming, ends); found != peer.incoming.end())
      return &*found;
    const auto found = std::ranges::find_if(peer.provider_receives, ends);
    return found != peer.provider_receives.end() ? &*found : nullptr;
  });
}

SendRequest* Core::find_send(const Context& context, Scope scope) {
  return peers_.find_first([&](Peer& peer) -> SendRequest* {
    for (SendRequest& request : peer.unfinished)
      if (!request.is_revoked && is_in(scope, request.address, context)) return &request;
    return nullptr;
  });
}

void Core::end_sends(Context& context, Scope scope) {
  while (SendRequest* request = find_send(context, scope)) {
    const bool is_announced = std::erase_if(request->peer->queue, [&](const QueuedOutput& queued) {
                                return queued.request == request;
                              }) == 0;
    if (scope == Scope::all && is_announced && !request->is_refused && may_be_read(*request))
      request->is_revoked = true;  // ends when its receiver answers
    else
      end(*request, context.collective_failure->clone());
  }
}

template <typename Notice>
void Core::transmit_to_members(Context& context, Notice notice) {
  notice.source = context.spec.own_rank;
  for (int rank : ranks_to_notify(context.spec.own_rank, context.size)) {
    const base::ProcessId member = context.spec.members->at(rank);
    if (member == spec.self || spec.router->has_died(member)) continue;
    Peer& to = peer(context, rank);
    if (to.failure) continue;
    notice.context = user_plane_of(context.id_at(rank, Plane::user));
    transmit(to, notice);
  }
}

void Core::notify_members(Context& context) {
  wire::CollectivesFailed notice;
  notice.error_class = static_cast<std::int32_t>(context.collective_failure->error_class());
  if (context.collective_failure->error_class() == base::ErrorClass::proc_aborted)
    notice.set_failed_process(failed_member(context));
  transmit_to_members(context, notice);
}

void Core::record_refusal(Context& context, bool is_persistent_collective,
                          const base::Error& reason) {
  context.refusals[is_persistent_collective] = reason.error_class();
  context.numbers.needs_call_check_.store(true, std::memory_order_relaxed);
}

void Core::check_call_number(Context& context, int tag) {
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

void Core::on_call_after_refusal(const wire::CallAfterRefusal& notice) {
  const base::ContextId id = user_plane_of(notice.context);
  Context* context = contexts_.find(id);
  if (context != nullptr) {
    context->call_notices.push_back(notice);
    check_pending_notices(*context);
  } else if (contexts_.has_ended(id)) {
    ++counts.stale_dropped;
  } else {
    early_call_notices_[id].push_back(notice);
  }
}

/// Fail the collectives if a member that had rejected a call then made another call than this
/// process under the same number. Calls that this process has not made yet are checked once it has.
void Core::check_pending_notices(Context& context) {
  std::optional<wire::CallAfterRefusal> lost;
  std::erase_if(context.call_notices, [&](const wire::CallAfterRefusal& call) {
    if (!context.numbers.has_begun(call.tag)) return false;
    if (!context.numbers.was(call.tag, call.call)) lost = call;
    return true;
  });
  const bool needs_call_check = !context.call_notices.empty() || context.refusals[0] ||
                                context.refusals[1];
  context.numbers.needs_call_check_.store(needs_call_check, std::memory_order_relaxed);
  if (lost) fail_collectives(context, error_of(*lost));
}

/// Return the process that a member reported as failed, else the failed member of lowest rank; 0 if
/// there is none, or it is in another world.
wire::SenderNumber Core::failed_member(const Context& context) const {
  if (context.reported_failed.number != 0) return context.reported_failed;
  wire::SenderNumber found;
  context.peers.for_each([&](int, const Peer* member) {
    if (found.number == 0 && member != nullptr && member->failure)
      found = wire::SenderNumber::of(member->process);
  });
  return found;
}

void Core::on_collectives_failed(const wire::CollectivesFailed& notice) {
  const base::ContextId id = user_plane_of(notice.context);
  if (Context* context = contexts_.find(id)) return handle_failure_notice(*context, notice);
  if (contexts_.has_ended(id))
    ++counts.stale_dropped;
  else
    record_early_notice(id, notice);
}

/// Keep the first notice; a revocation replaces it, because it ends more operations.
void Core::record_early_notice(base::ContextId id, const wire::CollectivesFailed& notice) {
  const auto [early, is_first] = early_notices_.emplace(id, notice);
  if (!is_first && class_of(notice) == base::ErrorClass::revoked) early->second = notice;
}

void Core::handle_failure_notice(Context& context, const wire::CollectivesFailed& notice) {
  if (class_of(notice) == base::ErrorClass::revoked) return revoke(context);
  context.reported_failed = notice.failed_process();
  retain(context);  // ending the last receive must not destroy it
  fail_collectives(context, error_of(notice));
  const auto failed = notice.failed_process().process();
  for (int rank = 0; failed && rank < context.size; ++rank)
    if (context.spec.members->at(rank) == *failed) failed_members.record_failed_rank(context, rank);
  drop(context);
}

/// Drop notices for communicators that will never be made.
void Core::drop_early_notices() {
  const auto is_over = [&](const auto& early) { return contexts_.has_ended(early.first); };
  std::erase_if(early_notices_, is_over);
  std::erase_if(early_call_notices_, is_over);
}

void Core::apply_early_notices(Context& context) {
  if (auto disputes = early_call_notices_.extract(context.id)) {
    context.call_notices = std::move(disputes.mapped());
    check_pending_notices(context);
  }
  if (const auto failure = early_notices_.extract(context.id))
    handle_failure_notice(context, failure.mapped());
}

/// Process the packets of members: after a failure notice, the data read from them may be invalid.
void Core::confirm_reads(Context& context) {
  context.has_unconfirmed_reads.store(false, std::memory_order_relaxed);
  base::Status status;
  poll_all(true, status);  // an error is left to the next round
}

/// Only members that share memory with this process count, because this process cannot stop their
/// reads. Over a fabric, the end of a registration (transport::MemoryRegistration) ends the reads.
bool Core::has_sent_failure_notices() const {
  return std::ranges::none_of(busy_, [](const Peer* to) {
    const bool may_read = to->link != nullptr &&
                          to->transport->cooperative_copy_to(*to->link) != nullptr;
    return may_read && std::ranges::any_of(to->queue, is_notice);
  });
}

bool Core::has_only_notices(const Peer& to) { return std::ranges::all_of(to.queue, is_notice); }

void FailureHandling::fail_collectives(Context& context, const base::Error& reason) {
  Guard guard = core_->enter();
  core_->fail_collectives(context, reason);
}

const std::atomic<bool>& FailureHandling::collectives_have_failed(const Context& context) {
  return context.collectives_have_failed;
}

base::Error FailureHandling::collective_failure(Context& context) {
  Guard guard = core_->enter();
  return context.collective_failure->clone();
}

void FailureHandling::record_refusal(Context& context, bool is_persistent_collective,
                                     const base::Error& reason) {
  Guard guard = core_->enter();
  core_->record_refusal(context, is_persistent_collective, reason);
}

void FailureHandling::check_call_number(Context& context, int tag) {
  Guard guard = core_->enter();
  core_->check_call_number(context, tag);
}

CollectiveNumbers& FailureHandling::numbers_of(Context& context) { return context.numbers; }

bool FailureHandling::has_sent_failure_notices() {
  Guard guard = core_->enter();
  return core_->has_sent_failure_notices();
}

base::Status FailureHandling::confirm_reads(Context& context) {
  if (!context.has_unconfirmed_reads.load(std::memory_order_relaxed)) [[likely]]
    return {};
  Guard guard = core_->enter();
  core_->confirm_reads(context);
  if (context.collective_failure) return context.collective_failure->clone();
  return {};
}

}  // namespace shim::p2p
