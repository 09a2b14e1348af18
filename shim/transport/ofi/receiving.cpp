// SPDX-License-Identifier: BSD-3-Clause
// Completions, and frames that have come.
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

/// As many as there are free buffers, as far as the provider takes them; the next poll goes on.
Status Ofi::post_receives() {
  while (Operation* receive = receives_.take()) {
    const std::size_t bytes = traits_.prefix_bytes + traits_.frame_bytes;
    auto code = ::fi_recv(endpoint_.ep(), receive->bytes, bytes, receives_.description, FI_ADDR_UNSPEC, &receive->context);
    if (code == 0) continue;
    receives_.give_back(receive);
    if (is_passing(code)) return {};
    return library_.error(static_cast<int>(code), "fi_recv");
  }
  return {};
}

/// Null for a stranger. Who knows our number is none: that its introduction has not come tells that this is lost.
OfiLink* Ofi::sender_of(const Frame& frame, ConstSpan rest) {
  if (static_cast<FrameKind>(frame.kind) == FrameKind::hello) {
    auto link = open(rest);
    return link ? static_cast<OfiLink*>(*link) : nullptr;
  }
  return &link_of(frame.from);
}

/// The frame at the front of a message; nothing, and that is counted, where it comes from a stranger.
std::optional<Frame> Ofi::frame_of(ConstSpan message) {
  Frame frame{};
  if (message.size() >= sizeof frame) std::memcpy(&frame, message.data(), sizeof frame);
  if (message.size() >= sizeof frame && frame.to == cookie_) return frame;
  ++counts_.packets_refused;
  return std::nullopt;
}

/// What a receive has brought.
void Ofi::take_message(ConstSpan message, Sink& sink) {
  const std::optional<Frame> of_message = frame_of(message);
  if (!of_message) return;
  const Frame& frame = *of_message;
  const ConstSpan rest = message.subspan(sizeof frame);
  if (traits_.keeps_order) [[likely]] return take_frame(frame, rest, sink);
  OfiLink& link = link_of(frame.from);
  const auto kind = static_cast<FrameKind>(frame.kind);
  if (tells_of_failure(kind)) return take_failure(link, kind);  // which may be why it would wait for ever
  if (link.misses_frames) return miss_frames(link, kind);
  link.order.add(frame.number, message, [&](ConstSpan in_turn) {
    Frame next{};
    std::memcpy(&next, in_turn.data(), sizeof next);
    take_frame(next, in_turn.subspan(sizeof next), sink);
  });
}

void Ofi::take_frame(const Frame& frame, ConstSpan rest, Sink& sink) {
  OfiLink* link = sender_of(frame, rest);
  if (!link) {
    ++counts_.packets_refused;
    return;
  }
  const auto kind = static_cast<FrameKind>(frame.kind);
  if (frame.number != link->frames_taken) [[unlikely]] return miss_frames(*link, kind);
  ++link->frames_taken;
  link->asks = {};
  switch (kind) {
    case FrameKind::packet: return take_packet(*link, rest, true, sink);
    case FrameKind::part: return take_packet(*link, rest, false, sink);
    case FrameKind::hello: return;
    case FrameKind::ask: return take_ask(*link, rest);
    case FrameKind::seen: return take_receipt(*link, rest);
    case FrameKind::bye: return take_bye(*link, rest);
    case FrameKind::bye_heard: link->bye_is_heard = true; return;
    case FrameKind::lost:
    case FrameKind::mute: return take_failure(*link, kind);
    case FrameKind::matched: break;
  }
  ++counts_.packets_refused;
}

void Ofi::take_packet(OfiLink& link, ConstSpan rest, bool is_last, Sink& sink) {
  if (!is_last || !link.parts.empty()) [[unlikely]] {
    link.parts.insert(link.parts.end(), rest.begin(), rest.end());
    if (!is_last) return;
  }
  ++counts_.packets_received;
  if (link.has_said_bye) return;
  ++link.packets_seen;
  if (link.parts.empty()) [[likely]] {
    sink.on_packet(rest);
    return;
  }
  const Bytes whole = std::exchange(link.parts, {});
  sink.on_packet(whole);
}

/// The packet in what the provider has matched, and who has sent it; no link where that is a stranger. Who knows our number is none, even
/// if its introduction, which is not matched, is still on its way.
ConstSpan Ofi::matched_packet(ConstSpan message, OfiLink*& link) {
  const std::optional<Frame> frame = frame_of(message);
  if (!frame) return {};
  link = &link_of(frame->from);
  link->asks = {};
  ++counts_.packets_received;
  ++link->packets_seen;
  return message.subspan(sizeof *frame);
}

/// Before anything that has come later.
void Ofi::hand_on_held(Sink& sink) {
  while (!held_.empty()) {
    const Held held = std::move(held_.front());
    held_.pop_front();
    if (held.is_withdrawn) sink.on_withdrawn(*held.receive);
    else if (held.receive) sink.on_matched(*held.receive, held.packet);
    else sink.on_packet(held.packet);
  }
}

void Ofi::complete(const fi_cq_msg_entry& entry, fi_addr_t sender, Sink& sink) {
  Operation* operation = operation_of(entry.op_context);
  if (operation->read) return end_read(*operation, 0);
  if (operation->link) {
    give_back(operation);
    return;
  }
  if (operation->match.is_matched) return matcher_->complete(*operation, entry.len, sender, sink);
  // What is no longer than the prefix is the provider's own (fi_getinfo(3), FI_MSG_PREFIX).
  if (entry.len > traits_.prefix_bytes || traits_.prefix_bytes == 0)
    take_message(ConstSpan(operation->bytes, entry.len).subspan(traits_.prefix_bytes), sink);
  receives_.give_back(operation);
}

/// One failed operation. It belongs to one link, and so does the error.
Status Ofi::take_error(Sink& sink) {
  fi_cq_err_entry entry{};
  auto code = ::fi_cq_readerr(endpoint_.cq(), &entry, 0);
  if (code == -FI_EAGAIN) return {};
  if (code < 0) return library_.error(static_cast<int>(code), "fi_cq_readerr");
  if (entry.err == FI_EOVERRUN) return library_.error(entry.err, "the completion queue");
  if (!entry.op_context) return {};  // of an injected frame: what asks for its receipt finds out
  Operation* operation = operation_of(entry.op_context);
  if (operation->read) {
    end_read(*operation, entry.err);
  } else if (OfiLink* link = operation->link) {
    give_back(operation);
    cut_off(*link, failure(entry.err));
  } else if (operation->match.is_matched) {
    matcher_->fail(*operation, entry.err, sink);
  } else {  // a receive: too long a message, from a stranger then, or one cut off by a dying peer
    ++counts_.packets_refused;
    receives_.give_back(operation);
  }
  return {};
}

/// Reads the next completions; false where there are none. Errors that are not one operation's are the endpoint's end.
Result<bool> Ofi::refill(Sink& sink) {
  const bool names_senders = traits_.match_bits && traits_.match_bits->names_sender();
  auto count = names_senders ? ::fi_cq_readfrom(endpoint_.cq(), batch_.entries, std::size(batch_.entries), batch_.senders)
                             : ::fi_cq_read(endpoint_.cq(), batch_.entries, std::size(batch_.entries));
  if (count == 0 || count == -FI_EAGAIN) return false;
  Status status;
  if (count == -FI_EAVAIL) status = take_error(sink);
  else if (count < 0) status = library_.error(static_cast<int>(count), "fi_cq_read");
  if (!status) {
    broken_ = std::move(status).error();
    return broken_->clone();
  }
  batch_.next = 0;
  batch_.end = static_cast<int>(std::max<ssize_t>(count, 0));
  return true;
}

/// Until there are no more, or about so many. A batch that is not full was the last: asking once more would cost as much, and where a
/// peer has died tcp;ofi_rxm would see its connection's end before the packet that fails for it, and then connect anew for ever.
/// Answers whether there are no more.
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
      hand_on_held(sink);
    }
    if (is_time_to_post()) SHIM_TRY(post_receives());
  }
  return is_last;
}

Result<int> Ofi::poll(Sink& sink) {
  SHIM_TRY(check());
  const std::uint64_t before = counts_.packets_received;
  if (unsent_ != 0) [[unlikely]] push_all();
  if (is_time_to_post()) [[unlikely]] SHIM_TRY(post_receives());  // an earlier poll could not
  if (matcher_) SHIM_TRY(matcher_->progress());
  const auto held = static_cast<int>(held_.size());
  hand_on_held(sink);
  SHIM_TRY_ASSIGN(const bool is_all_read, read_completions(kCompletionsPerPoll, sink));
  if (!asking_.empty() && (is_all_read || closing_loses_packets(endpoint_.provider()))) [[unlikely]] answer_asks();
  // after reading, so that a goodbye that has come counts
  if (is_flushing_) [[unlikely]] ask_for_receipts();
  if (std::exchange(is_in_doubt_, false)) [[unlikely]] {
    ask_of_losses();
    look_for_gaps();
  }
  return static_cast<int>(counts_.packets_received - before) + held;
}

}  // namespace shim::transport
