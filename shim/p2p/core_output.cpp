// SPDX-License-Identifier: BSD-3-Clause
// Implements output: passes packets to links, and queues the packets that a link cannot accept yet.
// Packets of a queue leave in order. Data packets are not queued: they carry their offset in the
// message, so packets of later messages may overtake them.
#include "shim/p2p/core.hpp"
#include "shim/transport/matching.hpp"

namespace shim::p2p {

namespace {

// Most data packets sent to one peer in one round, so that a long message does not delay others.
constexpr int kDataPerRound = 32;

/// True if the packet carries a whole message.
bool carries_message(transport::ConstSpan header) {
  auto kind = static_cast<wire::PacketType>(header[0]);
  return kind == wire::PacketType::eager || kind == wire::PacketType::eager_synchronous ||
         kind == wire::PacketType::eager_numbered;
}

/// True if the receiver matches the packet with a receive.
bool is_matched(transport::ConstSpan header) {
  return carries_message(header) ||
         static_cast<wire::PacketType>(header[0]) == wire::PacketType::ready_to_send;
}

}  // namespace

/// Return the matcher that sends this message past the peer's queues; null if none does.
transport::Matcher* Core::matcher_for(const Peer& to, const wire::Eager& message) const {
  transport::Matcher* matcher = to.transport->matcher();
  return matcher != nullptr && matcher->takes(message.context, message.source) ? matcher : nullptr;
}

/// Try to send a packet over the peer's link; over the matcher if the provider matches the packet.
base::Result<transport::Attempt> Core::send_packet(Peer& to, transport::ConstSpan header,
                                                   transport::ConstSpan payload) {
  if (to.may_match_in_provider && is_matched(header)) [[unlikely]] {
    const auto message = *wire::read<wire::Eager>(header);  // all matched headers begin with one
    if (transport::Matcher* matcher = matcher_for(to, message))
      return matcher->try_send(*to.link, {message.context, message.source, message.tag}, header,
                               payload);
  }
  return to.transport->try_send(*to.link, header, payload);
}

void Core::transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request) {
  if (to.failure) return;  // the failure has ended the peer's operations, including this request
  if (to.is_clear()) {
    auto sent = send_packet(to, header,
                            carries_message(header) ? request->data.all() : transport::ConstSpan{});
    if (!sent) return liveness.on_send_error(to, sent.error());
    if (*sent == transport::Attempt::done) {
      if (request != nullptr) on_sent(*request);
      return;
    }
  }
  QueuedOutput& queued = to.queue.emplace_back();
  std::memcpy(queued.header.data(), header.data(), header.size());
  queued.header_bytes = header.size();
  queued.request = request;
  mark_busy(to);
}

void Core::mark_busy(Peer& to) {
  if (to.queue.empty() && to.streams.empty()) return;
  if (to.link == nullptr) {
    request_route(to);
  } else {
    if (!to.is_busy) busy_.push_back(&to);
    to.is_busy = true;
  }
}

void Core::request_route(Peer& to) {
  if (!to.needs_route) unrouted_.push_back(&to);
  to.needs_route = true;
}

base::Result<transport::Attempt> Core::send_front(Peer& to) {
  QueuedOutput& front = to.queue.front();
  if (front.is_control) return send_control_part(to);
  transport::ConstSpan header(front.header.data(), front.header_bytes);
  SendRequest* request = front.request;
  SHIM_TRY_ASSIGN(
      transport::Attempt attempt,
      send_packet(to, header,
                  carries_message(header) ? request->data.all() : transport::ConstSpan{}));
  if (attempt != transport::Attempt::done) return attempt;
  to.queue.pop_front();
  if (request != nullptr) on_sent(*request);
  return attempt;
}

/// Send part of a message as a data packet. Items with holes are packed directly into the packet if
/// the transport has it in local memory.
base::Result<transport::Attempt> Core::send_part(Peer& to, SendRequest& request,
                                                 const wire::Data& header, std::uint64_t bytes) {
  if (!request.data.is_one_run()) {
    std::span<std::byte> space;
    SHIM_TRY_ASSIGN(transport::Attempt attempt,
                    to.transport->try_reserve(*to.link, wire::bytes_of(header), bytes, space));
    if (attempt == transport::Attempt::done) {
      request.data.copy_part(request.offset, space);
      to.transport->publish(*to.link);
    }
    if (attempt != transport::Attempt::unsupported) return attempt;
  }
  return to.transport->try_send(*to.link, wire::bytes_of(header),
                                request.data.window(request.offset, bytes));
}

base::Result<transport::Attempt> Core::send_next_data(Peer& to) {
  SendRequest& request = to.streams.front();
  wire::Data header;
  header.receive = request.remote_receive;
  header.offset = request.offset;
  const std::uint64_t bytes = std::min(to.transport->long_packet_bytes(*to.link) - sizeof(header),
                                       request.end - request.offset);
  SHIM_TRY_ASSIGN(transport::Attempt attempt, send_part(to, request, header, bytes));
  if (attempt != transport::Attempt::done) return attempt;
  request.offset += bytes;
  if (request.offset == request.end) {
    end(request, std::nullopt);
  } else {
    to.streams.splice(to.streams.end(), to.streams,
                      to.streams.begin());  // several streams take turns
  }
  return attempt;
}

/// Send from the peer's queue, then from its streams. Once a poll is due, the rest of the queue
/// waits for the next round even if the link has space: the receiver may have throttled us
/// meanwhile.
base::Result<int> Core::push_some(Peer& to) {
  int moved = 0;
  while (!to.queue.empty()) {
    const QueuedOutput& front = to.queue.front();
    const std::uint64_t bytes = front.request != nullptr && carries_message(front.header)
                                    ? front.request->data.bytes()
                                    : 0;
    SHIM_TRY_ASSIGN(transport::Attempt attempt, send_front(to));
    if (attempt != transport::Attempt::done) return moved;
    ++moved;
    if (is_poll_due(bytes)) {
      transports_.skip_none();
      return moved;
    }
  }
  for (int i = 0; i < kDataPerRound && !to.streams.empty(); ++i) {
    SHIM_TRY_ASSIGN(transport::Attempt attempt, send_next_data(to));
    if (attempt != transport::Attempt::done) break;
    ++moved;
  }
  return moved;
}

int Core::push(Peer& to) {
  if (to.link == nullptr) return 0;
  auto moved = push_some(to);
  if (!moved) {
    liveness.on_send_error(to, moved.error());
    return 1;
  }
  mark_busy(to);
  return *moved;
}

bool Core::deliver_to_self(Peer& self) {
  const int pushed = push(self);
  const base::Result<int> handled = self.transport->poll(*this);
  return handled && (*handled != 0 || pushed != 0);
}

int Core::push_all() {
  int moved = 0;
  std::vector<Peer*> peers = std::move(busy_);
  busy_.clear();
  for (Peer* to : peers) {
    to->is_busy = false;
    moved += push(*to);
  }
  return moved;
}

}  // namespace shim::p2p
