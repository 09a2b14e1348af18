// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/matcher.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <utility>

#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

namespace {

/// Polls within which a provider must have cancelled a test receive; else it is taken for unable to
/// cancel.
constexpr int kCancelTrialPolls = 1000;
/// Most bytes in flight of messages that the peer may not have received, and memory per message
/// beside them.
constexpr std::size_t kMaxUnackedBytes = std::size_t{1} << 20, kPerMessageOverhead = 512;

}  // namespace

OfiMatcher::OfiMatcher(Ofi& of, const MatchBits& bits)
    : of_(of),
      bits_(bits),
      receives_(of.traits_.receives + 1, of.traits_.prefix_bytes + of.traits_.frame_bytes) {}

Status OfiMatcher::begin() {
  SHIM_TRY_ASSIGN(receives_.description,
                  of_.endpoint_.register_buffers(of_.library_, receives_.memory(), FI_RECV));
  const std::uint64_t trial = request_drain();
  struct : Sink {
    bool on_packet(ConstSpan) override { return true; }
  } discard;
  for (int i = 0; i < kCancelTrialPolls && drains_completed_ < trial; ++i) {
    SHIM_TRY(progress());
    SHIM_TRY(of_.read_completions(1, discard));
  }
  if (drains_completed_ < trial) return Error(ErrorClass::other, "it does not cancel receives");
  return {};
}

/// Limit the messages that the peer may not have received, because they occupy memory of the peer's
/// provider until the peer drains them. An ack request starts a drain there, which passes them to
/// the peer's engine; that may then throttle this process. done: more may be sent.
Result<Attempt> OfiMatcher::limit_unacked(OfiLink& link) {
  SHIM_TRY(of_.check());
  if (link.failure) return link.failure->clone();
  if (link.unacked_bytes_at_request == 0) SHIM_TRY(of_.request_ack(link));
  if (link.unacked_bytes < kMaxUnackedBytes) return Attempt::done;
  ++of_.counts_.sends_again;
  return Attempt::again;
}

Result<Attempt> OfiMatcher::try_send(Link& to, const Envelope& message, ConstSpan header,
                                     ConstSpan payload) {
  auto& link = static_cast<OfiLink&>(to);
  if (link.unacked_bytes >= kMaxUnackedBytes / 2) [[unlikely]] {
    SHIM_TRY_ASSIGN(const Attempt may_send, limit_unacked(link));
    if (may_send != Attempt::done) return may_send;
  }
  SHIM_TRY_ASSIGN(const Attempt attempt,
                  of_.try_send_as(FrameKind::matched, bits_.of(message), link, header, payload));
  if (attempt == Attempt::done)
    link.unacked_bytes += header.size() + payload.size() + kPerMessageOverhead;
  return attempt;
}

/// Post the receive that the operation describes; release it if the provider refuses it.
Result<Attempt> OfiMatcher::post(PendingOperation* receive) {
  const std::size_t bytes = of_.traits_.prefix_bytes + of_.traits_.frame_bytes;
  const MatchCriteria& match = receive->match;
  const ssize_t code = ::fi_trecv(of_.endpoint_.ep(), receive->bytes, bytes, receives_.description,
                                  match.sender, match.bits, match.ignored, &receive->context);
  if (code == 0) [[likely]]
    return Attempt::done;
  receives_.release(receive);
  if (is_transient(code)) return Attempt::again;
  return of_.library_.error(static_cast<int>(code), "fi_trecv");
}

/// Post a receive. If receives name their sender, return again until the provider has attributed a
/// message to the sender, and a drain has completed since.
Result<Attempt> OfiMatcher::post(MatchedReceive& receive, Link& from, const Envelope& wanted) {
  SHIM_TRY(of_.check());
  if (is_draining(wanted.context) || free_receives() == 0) return Attempt::again;
  fi_addr_t sender = FI_ADDR_UNSPEC;
  if (bits_.names_sender()) {
    auto& link = static_cast<OfiLink&>(from);
    if (link.to.name.empty()) return Attempt::again;
    SHIM_TRY_ASSIGN(const Attempt ready, of_.prepare_send(link));
    if (ready != Attempt::done || !recognises(link)) return Attempt::again;
    sender = link.address;
  }
  PendingOperation* operation = receives_.acquire();
  operation->match = {.is_matched = true,
                      .bits = bits_.of(wanted),
                      .ignored = MatchBits::ignored(wanted),
                      .sender = sender,
                      .receive = &receive};
  SHIM_TRY_ASSIGN(const Attempt attempt, post(operation));
  if (attempt == Attempt::done) receive.operation = operation;
  return attempt;
}

/// Cancel a receive; false if the provider returns FI_EAGAIN. Other results do not matter, because
/// the completion reports the outcome.
bool OfiMatcher::try_cancel(PendingOperation& receive) {
  return !is_transient(::fi_cancel(&of_.endpoint_.ep()->fid, &receive.context));
}

void OfiMatcher::cancel(MatchedReceive& receive) {
  if (receive.operation == nullptr || !of_.check()) return;
  auto* operation = static_cast<PendingOperation*>(receive.operation);
  if (!std::exchange(operation->match.is_cancelled, true) && !try_cancel(*operation))
    pending_cancels_.push_back(operation);
}

void OfiMatcher::detach(MatchedReceive& receive) {
  if (auto* operation = static_cast<PendingOperation*>(receive.operation)) {
    cancel(receive);
    operation->match.receive = nullptr;
    receive.operation = nullptr;
  }
  std::erase_if(of_.held_, [&](const HeldPacket& held) {
    return held.receive == &receive && held.is_cancelled;
  });
  for (HeldPacket& held : of_.held_)
    if (held.receive == &receive) held.receive = nullptr;
}

void OfiMatcher::set_drain(const DrainScope& what) {
  requested_scope_ = what;
  if (!what.is_none() && drain_receive_ == nullptr && of_.check())
    (void)post_drain_receive();  // a failure is retried and reported by the next poll
}

std::uint64_t OfiMatcher::request_drain() {
  drains_requested_ = std::max(
      drains_requested_,
      drains_completed_ + (is_cancelling_ && drain_scope_.is_all()
                               ? 2
                               : 1));  // the pending cancel may be too early
  return drains_requested_;
}

Result<Attempt> OfiMatcher::post_drain_receive() {
  PendingOperation* operation = receives_.acquire();
  if (operation == nullptr) return Attempt::again;
  drain_scope_ = due_scope();
  operation->match = {.is_matched = true,
                      .bits = 0,
                      .ignored = ~std::uint64_t{0},
                      .sender = FI_ADDR_UNSPEC,
                      .receive = nullptr};
  if (!drain_scope_.is_all()) {
    operation->match.bits = bits_.of({drain_scope_.context(), 0, kMatchAnyTag});
    operation->match.ignored = bits_.ignored_of_context();
  }
  SHIM_TRY_ASSIGN(const Attempt attempt, post(operation));
  if (attempt == Attempt::done) drain_receive_ = operation;
  return attempt;
}

Status OfiMatcher::progress() {
  if (!pending_cancels_.empty()) [[unlikely]]
    std::erase_if(pending_cancels_,
                  [this](PendingOperation* receive) { return try_cancel(*receive); });
  if (drain_receive_ == nullptr) {
    if (!due_scope().is_none()) SHIM_TRY(post_drain_receive());
  } else if (!is_cancelling_ && (drain_scope_ != requested_scope_ || needs_drain())) {
    is_cancelling_ = try_cancel(*drain_receive_);
  }
  return {};
}

/// Deliver the outcome of a receive; a cancelled receive without a message is reported as
/// cancelled.
void OfiMatcher::deliver(PendingOperation& receive, ConstSpan packet, Sink& sink) {
  receive.match.receive->operation = nullptr;
  if (packet.empty() && receive.match.is_cancelled)
    sink.on_cancelled(*receive.match.receive);
  else
    sink.on_matched(*receive.match.receive, packet);
}

/// Forget a receive that the provider no longer holds.
void OfiMatcher::on_removed(PendingOperation& operation) {
  if (&operation == drain_receive_) {
    drain_receive_ = nullptr;
    is_cancelling_ = false;
  }
  if (!pending_cancels_.empty()) [[unlikely]]
    std::erase(pending_cancels_, &operation);
}

/// Record that the provider has identified the sender of a message correctly.
void OfiMatcher::record_sender(OfiLink& link, fi_addr_t sender) {
  if (!link.recognised_at_drain && sender != FI_ADDR_UNSPEC && sender == link.address)
    link.recognised_at_drain = drains_completed_;
}

void OfiMatcher::complete(PendingOperation& operation, std::size_t bytes, fi_addr_t sender,
                          Sink& sink) {
  const bool is_drain_receive = &operation == drain_receive_;
  on_removed(operation);
  const std::size_t prefix = of_.traits_.prefix_bytes;
  OfiLink* link = nullptr;
  const ConstSpan packet = of_.matched_packet(
      ConstSpan(operation.bytes, bytes).subspan(std::min(prefix, bytes)), link);
  if (link != nullptr) record_sender(*link, sender);
  if (operation.match.receive != nullptr)
    deliver(operation, packet, sink);
  else if (link != nullptr)
    sink.on_packet(packet);
  receives_.release(&operation);
  // The next waiting message is then in the next completions; a failure is retried and reported by
  // the next poll.
  if (is_drain_receive && !due_scope().is_none() && drain_receive_ == nullptr &&
      of_.check_endpoint())
    (void)post_drain_receive();
}

/// Handle a receive that was cancelled, or got a message too long (so unauthenticated), or
/// truncated by a dying peer.
void OfiMatcher::fail(PendingOperation& operation, int code, Sink& sink) {
  const bool is_given_back = code == FI_ECANCELED;
  if (&operation == drain_receive_ && drain_scope_.is_all() && is_given_back) ++drains_completed_;
  if (!is_given_back) ++of_.counts_.packets_refused;
  on_removed(operation);
  operation.match.is_cancelled |= is_given_back;
  if (operation.match.receive != nullptr) deliver(operation, {}, sink);
  receives_.release(&operation);
}

}  // namespace shim::transport
