// SPDX-License-Identifier: BSD-3-Clause
// Completions and received frames.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

namespace {

constexpr int kCompletionsPerPoll = 64;

}  // namespace

/// Post all free receives, as far as the provider accepts them; the next poll continues.
Status Ofi::post_receives() {
  while (PendingOperation* receive = receives_.acquire()) {
    const std::size_t bytes = traits_.prefix_bytes + traits_.frame_bytes;
    auto code = ::fi_recv(endpoint_.ep(), receive->bytes, bytes, receives_.description,
                          FI_ADDR_UNSPEC, &receive->context);
    if (code == 0) continue;
    receives_.release(receive);
    if (is_transient(code)) return {};
    return library_.error(static_cast<int>(code), "fi_recv");
  }
  return {};
}

/// Return the sender's link; null if unauthenticated. A sender that knows this endpoint's cookie is
/// authenticated: if its address frame has not arrived, that frame is lost.
OfiLink* Ofi::sender_of(const Frame& frame, ConstSpan rest) {
  if (static_cast<FrameKind>(frame.kind) == FrameKind::address) {
    auto link = open(rest);
    return link ? static_cast<OfiLink*>(*link) : nullptr;
  }
  return &link_of(frame.from);
}

/// Return the frame at the front of a message; nullopt, counted, if it is unauthenticated.
std::optional<Frame> Ofi::frame_of(ConstSpan message) {
  Frame frame{};
  if (message.size() >= sizeof frame) std::memcpy(&frame, message.data(), sizeof frame);
  if (message.size() >= sizeof frame && frame.to == cookie_) return frame;
  ++counts_.packets_refused;
  return std::nullopt;
}

/// Handle the message in a completed receive.
void Ofi::handle_message(ConstSpan message, Sink& sink) {
  const std::optional<Frame> of_message = frame_of(message);
  if (!of_message) return;
  const Frame& frame = *of_message;
  const ConstSpan rest = message.subspan(sizeof frame);
  if (traits_.keeps_order) [[likely]]
    return handle_frame(frame, rest, sink);
  OfiLink& link = link_of(frame.from);
  const auto kind = static_cast<FrameKind>(frame.kind);
  if (is_reset(kind)) return on_reset(link, kind);  // the reset may explain missing frames
  if (link.is_missing_frames) return on_missing_frames(link, kind);
  link.order.add(frame.number, message, [&](ConstSpan in_turn) {
    Frame next{};
    std::memcpy(&next, in_turn.data(), sizeof next);
    handle_frame(next, in_turn.subspan(sizeof next), sink);
  });
}

void Ofi::handle_frame(const Frame& frame, ConstSpan rest, Sink& sink) {
  if (fatal_error_) [[unlikely]]
    return;  // an earlier frame of the same message has ended a read
  OfiLink* link = sender_of(frame, rest);
  if (!link) {
    ++counts_.packets_refused;
    return;
  }
  const auto kind = static_cast<FrameKind>(frame.kind);
  if (frame.number != link->frames_received) [[unlikely]]
    return on_missing_frames(*link, kind);
  ++link->frames_received;
  link->request_refusals = {};
  switch (kind) {
    case FrameKind::packet:
      return handle_packet(*link, rest, true, sink);
    case FrameKind::fragment:
      return handle_packet(*link, rest, false, sink);
    case FrameKind::address:
      return;
    case FrameKind::ack_request:
      return on_ack_request(*link, rest);
    case FrameKind::ack:
      return on_ack(*link, rest);
    case FrameKind::fin:
      return on_fin(*link, rest);
    case FrameKind::fin_ack:
      link->fin_acked = true;
      return;
    case FrameKind::reset_lost:
    case FrameKind::reset_send_failed:
      return on_reset(*link, kind);
    case FrameKind::matched:
      break;
  }
  ++counts_.packets_refused;
}

void Ofi::handle_packet(OfiLink& link, ConstSpan rest, bool is_last, Sink& sink) {
  if (!is_last || !link.fragments.empty()) [[unlikely]] {
    link.fragments.insert(link.fragments.end(), rest.begin(), rest.end());
    if (!is_last) return;
  }
  ++counts_.packets_received;
  if (link.fin_sent) return;
  ++link.packets_received;
  if (link.fragments.empty()) [[likely]] {
    sink.on_packet(rest);
    return;
  }
  const Bytes whole = std::exchange(link.fragments, {});
  sink.on_packet(whole);
}

/// Return the packet in a provider-matched message, and its sender's link; null if unauthenticated.
/// A sender that knows this endpoint's cookie is authenticated, even if its address frame, which is
/// not matched, is still in flight.
ConstSpan Ofi::matched_packet(ConstSpan message, OfiLink*& link) {
  const std::optional<Frame> frame = frame_of(message);
  if (!frame) return {};
  link = &link_of(frame->from);
  link->request_refusals = {};
  ++counts_.packets_received;
  ++link->packets_received;
  return message.subspan(sizeof *frame);
}

/// Deliver held packets before any later ones.
void Ofi::deliver_held(Sink& sink) {
  while (!held_.empty()) {
    const HeldPacket held = std::move(held_.front());
    held_.pop_front();
    if (held.is_cancelled)
      sink.on_cancelled(*held.receive);
    else if (held.receive)
      sink.on_matched(*held.receive, held.packet);
    else
      sink.on_packet(held.packet);
  }
}

void Ofi::complete(const fi_cq_msg_entry& entry, fi_addr_t sender, Sink& sink) {
  PendingOperation* operation = operation_of(entry.op_context);
  if (operation->read) return complete_read(*operation, 0);
  if (operation->link) {
    release(operation);
    return;
  }
  if (operation->match.is_matched) return matcher_->complete(*operation, entry.len, sender, sink);
  // Data no longer than the prefix belongs to the provider (fi_getinfo(3), FI_MSG_PREFIX).
  if (entry.len > traits_.prefix_bytes || traits_.prefix_bytes == 0)
    handle_message(ConstSpan(operation->bytes, entry.len).subspan(traits_.prefix_bytes), sink);
  receives_.release(operation);
}

/// Handle one failed operation. Operation and error belong to one link.
Status Ofi::handle_error(Sink& sink) {
  fi_cq_err_entry entry{};
  auto code = ::fi_cq_readerr(endpoint_.cq(), &entry, 0);
  if (code == -FI_EAGAIN) return {};
  if (code < 0) return library_.error(static_cast<int>(code), "fi_cq_readerr");
  if (entry.err == FI_EOVERRUN) return library_.error(entry.err, "the completion queue");
  if (!entry.op_context) return {};  // injected: the next ack request detects it
  PendingOperation* operation = operation_of(entry.op_context);
  if (operation->read) {
    complete_read(*operation, entry.err);
  } else if (OfiLink* link = operation->link) {
    release(operation);
    reset_link(*link, failure(entry.err));
  } else if (operation->match.is_matched) {
    matcher_->fail(*operation, entry.err, sink);
  } else {  // a receive: unauthenticated (too long), or truncated by a dying peer
    ++counts_.packets_refused;
    receives_.release(operation);
  }
  return {};
}

/// Read the next completions; false if there are none. Errors not of an operation end the endpoint.
Result<bool> Ofi::refill(Sink& sink) {
  const bool names_senders = traits_.match_bits && traits_.match_bits->names_sender();
  auto count = names_senders
                   ? ::fi_cq_readfrom(endpoint_.cq(), batch_.entries, std::size(batch_.entries),
                                      batch_.senders)
                   : ::fi_cq_read(endpoint_.cq(), batch_.entries, std::size(batch_.entries));
  if (count == 0 || count == -FI_EAGAIN) return false;
  Status status;
  if (count == -FI_EAVAIL)
    status = handle_error(sink);
  else if (count < 0)
    status = library_.error(static_cast<int>(count), "fi_cq_read");
  if (!status) fatal_error_ = std::move(status).error();
  SHIM_TRY(check_endpoint());
  batch_.next = 0;
  batch_.end = static_cast<int>(std::max<ssize_t>(count, 0));
  return true;
}

/// Read completions until there are none, or about `most`; return true if there are none left. An
/// incomplete batch is the last: another read costs as much, and if a peer has died tcp;ofi_rxm
/// would see the end of the connection before the failed packet, and then reconnect for ever.
Result<bool> Ofi::read_completions(int most, Sink& sink) {
  bool is_last = false;
  while (most > 0 && !is_last) {
    if (batch_.next == batch_.end) {
      SHIM_TRY_ASSIGN(const bool some, refill(sink));
      if (!some) return true;
      is_last = batch_.end < static_cast<int>(std::size(batch_.entries));
    }
    for (--most; batch_.next != batch_.end; --most) {
      const fi_cq_msg_entry entry = batch_.entries[batch_.next];
      const fi_addr_t sender = batch_.senders[batch_.next++];
      complete(entry, sender, sink);
      deliver_held(sink);
      SHIM_TRY(check_endpoint());
    }
    if (is_time_to_post()) SHIM_TRY(post_receives());
  }
  return is_last;
}

Result<int> Ofi::poll(Sink& sink) {
  SHIM_TRY(check());
  const std::uint64_t before = counts_.packets_received;
  if (unsent_ != 0) [[unlikely]]
    send_all_unsent();
  if (is_time_to_post()) [[unlikely]]
    SHIM_TRY(post_receives());  // an earlier poll could not
  if (matcher_) SHIM_TRY(matcher_->progress());
  const auto held = static_cast<int>(held_.size());
  deliver_held(sink);
  SHIM_TRY(check_endpoint());
  SHIM_TRY_ASSIGN(const bool is_all_read, read_completions(kCompletionsPerPoll, sink));
  if (!ack_queue_.empty() && (is_all_read || closing_loses_packets(endpoint_.provider())))
      [[unlikely]]
    send_queued_acks();
  // after reading, so that a received fin counts
  if (is_flushing_) [[unlikely]]
    request_acks();
  if (std::exchange(checks_losses_, false)) [[unlikely]] {
    probe_for_losses();
    check_for_gaps();
  }
  return static_cast<int>(counts_.packets_received - before) + held;
}

}  // namespace shim::transport
