// SPDX-License-Identifier: BSD-3-Clause
// Acknowledgements: detect what has arrived, for long waits and for closing; and fin frames.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

/// Interval of ack requests in a flush: a request, unlike silence, detects that the peer is gone.
constexpr base::Nanoseconds kAckRetryNs = 20'000'000;
/// tcp;ofi_rxm (libfabric 1.17) reconnects to a dead peer for ever and meanwhile returns FI_EAGAIN.
/// A flush gives up a peer that neither accepts nor sends anything for this long.
constexpr base::Nanoseconds kPeerTimeoutNs = 2'000'000'000;
/// Longest interval of probes; it doubles while a peer does not answer because it computes.
constexpr base::Nanoseconds kMaxProbeIntervalNs = 60'000'000'000;
/// Without provider ordering, a frame that others wait for is lost after this many probe intervals:
/// the provider itself retransmits, which may take seconds.
constexpr int kMaxGapIntervals = 30;
/// If a process has not checked for gaps for this long, it was not waiting, and so did not poll.
constexpr base::Nanoseconds kAbsenceNs = 1'000'000'000;
/// Closing waits this long for fin_ack; a busy peer receives the fin later.
constexpr base::Nanoseconds kFinTimeoutNs = 100'000'000;

ConstSpan bytes_of(const AckCount& count) { return std::as_bytes(std::span(&count, 1)); }

std::optional<AckCount> read_ack_count(ConstSpan bytes) {
  AckCount count;
  if (bytes.size() < sizeof count) return std::nullopt;
  std::memcpy(&count, bytes.data(), sizeof count);
  return count;
}

Error lost_packets(const char* direction, const std::string& provider) {
  return {ErrorClass::proc_aborted, "packets " + std::string(direction) +
                                        " that process were lost by libfabric provider " +
                                        provider +
                                        "; set INTERSESSION_PROVIDER to another provider, or unset "
                                        "it (FI_LOG_LEVEL=warn may show the reason)"};
}

}  // namespace

/// A completed send does not prove that the bytes will arrive: if an endpoint closes with bytes
/// unread, TCP resets its connections and drops data in flight. So a flush requests an ack from
/// every peer. Some providers never complete sends to dead peers (udp;ofi_rxd, shm).
bool Ofi::is_flushed() const {
  if (fatal_error_) return true;  // nothing more will be sent
  bool settled = std::ranges::all_of(links_,
                                     [](const auto& entry) { return entry.second->is_acked(); });
  is_flushing_ = !settled;
  return settled && std::ranges::all_of(links_, [](const auto& entry) {
           return entry.second->in_flight == 0 || entry.second->failure;
         });
}

Result<Attempt> Ofi::request_ack(OfiLink& link) {
  const AckCount sent{link.packets_sent};
  SHIM_TRY_ASSIGN(const Attempt attempt,
                  send_frame(link, FrameKind::ack_request, bytes_of(sent), {}));
  if (attempt != Attempt::done) return attempt;
  link.packets_at_request = link.packets_sent;
  link.unacked_bytes_at_request = link.unacked_bytes;
  link.requested_at = base::now_ns();
  link.request_refusals = {};
  return attempt;
}

void Ofi::request_acks() {
  const base::Nanoseconds now = base::now_ns();
  for (auto& [cookie, link] : links_) {
    if (link->is_acked() || link->fin_sent) continue;
    if (link->packets_at_request == link->packets_sent && now - link->requested_at < kAckRetryNs)
      continue;
    auto attempt = request_ack(*link);
    if (!attempt || *attempt == Attempt::done || !link->request_refusals.add(kPeerTimeoutNs))
      continue;  // a failure is recorded in the link
    // The peer may compute, and later send an awaited message; so it is not gone.
    fail(*link, Error(ErrorClass::proc_aborted,
                      "a process no longer accepts packets over libfabric provider " +
                          endpoint_.provider()));
  }
}

/// Request acks from all peers. A provider may silently lose accepted data, as tcp;ofi_rxm does if
/// a connection is refused; then two or more processes wait for each other without an error.
void Ofi::probe_for_losses() {
  const base::Nanoseconds now = base::now_ns();
  for (auto& [cookie, link] : links_) {
    const bool needs_reset = link->failure && !link->reset_sent && !link->got_fin &&
                             closing_loses_packets(endpoint_.provider());
    if (link->is_acked() && !needs_reset) {
      link->probe_interval = 0;
    } else if (link->probe_interval == 0) {
      link->probe_interval = probe_interval_;
      link->requested_at = now;
    } else if (now - link->requested_at >= link->probe_interval &&
               (needs_reset ? queue_ack(*link) : try_request_ack(*link))) {
      link->requested_at = now;
      link->probe_interval = std::min(2 * link->probe_interval, kMaxProbeIntervalNs);
    }
  }
}

bool Ofi::try_request_ack(OfiLink& link) {
  auto attempt = request_ack(link);
  return attempt && *attempt == Attempt::done;
}

/// Detect gaps that persist although their sender continues and this process polls. Only for
/// providers without ordering.
void Ofi::check_for_gaps() {
  if (traits_.keeps_order) return;
  const base::Nanoseconds now = base::now_ns();
  const bool was_away = now - std::exchange(last_gap_check_, now) > kAbsenceNs;
  for (auto& [cookie, link] : links_) {
    if (link->failure) continue;
    if (!link->order.has_gap()) {
      link->gap_since = 0;
    } else if (was_away || link->gap_since == 0 || link->gap_at != link->order.next()) {
      link->gap_since = now;
      link->gap_at = link->order.next();
    } else if (now - link->gap_since >= kMaxGapIntervals * probe_interval_) {
      link->is_missing_frames = true;  // it may have died; if it lives, it answers the reset
      reset_link(*link, lost_packets("from", endpoint_.provider()));
    }
  }
}

bool Ofi::is_gone(const Link& of) const { return static_cast<const OfiLink&>(of).is_gone; }

bool Ofi::has_lost_packets(const Link& of) const {
  return static_cast<const OfiLink&>(of).has_lost_packets;
}

/// A process sends fin to all peers with which it has exchanged packets.
ShutdownNotice Ofi::shutdown_notice(const Link& of) const {
  const auto& link = static_cast<const OfiLink&>(of);
  if (link.got_fin) return ShutdownNotice::received;
  return link.packets_sent > 0 || link.packets_received > 0 ? ShutdownNotice::missing
                                                            : ShutdownNotice::not_expected;
}

std::string_view Ofi::gone_reason(const Link& of) const {
  const auto& link = static_cast<const OfiLink&>(of);
  return is_gone(link) ? std::string_view(link.failure->text()) : std::string_view();
}

/// Packets arrive in the order sent, so all packets sent before a request have been seen by then.
Result<Attempt> Ofi::send_ack_count(OfiLink& link, FrameKind kind) {
  const AckCount count{link.packets_received};
  return send_frame(link, kind, bytes_of(count), {});
}

/// The request is answered after all completions have been read: after a fin the peer needs no
/// answer, and with libfabric's shm an answer would kill this process (closing_loses_packets).
void Ofi::on_ack_request(OfiLink& link, ConstSpan bytes) {
  if (const auto sent = read_ack_count(bytes))
    link.peer_packets_sent = std::max(link.peer_packets_sent, sent->packets);
  if (matcher_)
    link.drain_before_ack = matcher_->request_drain();  // messages may wait at the provider
  link.ack_refusals = {};
  queue_ack(link);
}

/// Queue an ack; false if already queued.
bool Ofi::queue_ack(OfiLink& link) {
  if (std::exchange(link.wants_ack, true)) return false;
  ack_queue_.push_back(&link);
  return true;
}

void Ofi::send_queued_acks() {
  std::erase_if(ack_queue_, [&](OfiLink* link) {
    if (matcher_ && matcher_->drains_completed() < link->drain_before_ack) return false;
    link->wants_ack = !try_send_ack(*link);
    return !link->wants_ack;
  });
}

/// True if provider-matched messages counted in an earlier ack request are missing and none
/// arrives. A request may overtake such messages. Losses of other frames show in their numbers.
bool Ofi::has_missing_packets(OfiLink& link) const {
  if (!matcher_) return false;
  const base::Nanoseconds now = base::now_ns();
  if (link.packets_received >= link.peer_packets_sent || link.fin_sent) {
    link.stalled_since = 0;
  } else if (link.stalled_since == 0 || link.packets_received != link.packets_at_stall) {
    link.stalled_since = now;
    link.packets_at_stall = link.packets_received;
  }
  return link.stalled_since != 0 && now - link.stalled_since >= probe_interval_ / 2;
}

/// Send the queued ack, or a reset if sends to the peer have failed or packets are lost; false if
/// there is no space yet.
bool Ofi::try_send_ack(OfiLink& link) {
  if (link.got_fin || link.to.name.empty()) return true;
  if (!link.failure && has_missing_packets(link)) record_missing_packets(link);
  const FrameKind kind = link.is_missing_frames ? FrameKind::reset_lost
                         : link.failure         ? FrameKind::reset_send_failed
                                                : FrameKind::ack;
  auto attempt = send_ack_count(link, kind);
  if (!attempt) return !link.failure || is_reset(kind);  // else the failure is reported next
  link.reset_sent = *attempt == Attempt::done && is_reset(kind);
  return *attempt == Attempt::done || link.ack_refusals.add(kPeerTimeoutNs);
}

void Ofi::on_reset(OfiLink& link, FrameKind kind) {
  record_loss(link, kind == FrameKind::reset_lost ? "to" : "from");
}

/// Handle the loss of frames before a frame of this kind. Drop this frame and later ones: they
/// would match receives of the lost ones.
void Ofi::on_missing_frames(OfiLink& link, FrameKind before) {
  ++counts_.packets_refused;
  if (before == FrameKind::fin) link.got_fin = true;
  record_missing_packets(link);
  if (before == FrameKind::ack_request) queue_ack(link);
}

/// Record that frames of the peer are lost.
void Ofi::record_missing_packets(OfiLink& link) {
  link.is_missing_frames = true;
  record_loss(link, "from");
}

void Ofi::record_loss(OfiLink& link, const char* direction) {
  reset_link(link, lost_packets(direction, endpoint_.provider()));
  link.is_gone = link.has_lost_packets = has_losses_ = true;
}

/// Process an ack. If it does not cover the last request, unacked_bytes stays unchanged until the
/// ack of the next request.
void Ofi::on_ack(OfiLink& link, ConstSpan bytes) {
  const auto count = read_ack_count(bytes);
  if (!count) return;
  link.packets_acked = std::max(link.packets_acked, count->packets);
  if (link.packets_acked >= link.packets_at_request)
    link.unacked_bytes -= link.unacked_bytes_at_request;
  link.unacked_bytes_at_request = 0;
  if (link.probe_interval != 0) link.probe_interval = probe_interval_;
}

void Ofi::on_fin(OfiLink& link, ConstSpan bytes) {
  on_ack(link, bytes);
  link.got_fin = true;
  // An earlier failure to send was due to the peer's close, and proves no loss.
  link.is_gone = link.has_lost_packets;
  // If there is no space, the peer stops waiting by itself.
  if (closing_loses_packets(endpoint_.provider()))
    (void)send_frame(link, FrameKind::fin_ack, {}, {});
  fail(link, Error(ErrorClass::proc_aborted, "a process has closed its libfabric endpoint"));
}

/// Send fin to all peers with which packets were exchanged, so that none waits for an ack, and
/// answer their last requests until all have acknowledged the fin.
void Ofi::shut_down_links() {
  struct NullSink final : Sink {
    bool on_packet(ConstSpan) override { return true; }
  } null_sink;
  const base::Nanoseconds end = base::now_ns() + kFinTimeoutNs;
  // Read first: nothing must be sent to a peer whose fin has arrived.
  while (poll(null_sink) && base::now_ns() < end) {
    bool is_over = true;
    for (auto& [cookie, link] : links_) {
      if (!link->needs_fin()) continue;
      is_over = false;
      if (link->fin_sent) continue;
      auto attempt = send_ack_count(*link, FrameKind::fin);
      link->fin_sent = attempt && *attempt == Attempt::done;
      link->fin_acked = link->fin_sent && !closing_loses_packets(endpoint_.provider());
    }
    if (is_over) return;
  }
}

}  // namespace shim::transport
