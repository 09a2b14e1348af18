// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/output.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shim::p2p {

namespace {

// Most data packets sent to one peer in one round, so that a long message does not delay others.
constexpr int kDataPerRound = 32;

/// Send part of a message as a data packet. Items with holes are packed directly into the packet if
/// the transport has it in local memory.
base::Result<transport::Attempt> send_part(Peer& to, SendRequest& request, const wire::Data& header,
                                           std::uint64_t bytes) {
  transport::SendInPlace* const in_place = to.interfaces->send_in_place;
  if (in_place != nullptr && !request.data.is_one_run()) {
    std::span<std::byte> space;
    SHIM_TRY_ASSIGN(transport::Attempt attempt,
                    in_place->try_reserve(*to.link, wire::bytes_of(header), bytes, space));
    if (attempt == transport::Attempt::done) {
      request.data.copy_part(request.offset, space);
      in_place->publish(*to.link);
    }
    if (attempt != transport::Attempt::unsupported) return attempt;
  }
  return to.transport->try_send(*to.link, wire::bytes_of(header),
                                request.data.window(request.offset, bytes));
}

/// Return the length of the next data packet to this peer.
std::size_t long_packet_bytes(const Peer& to) {
  return to.interfaces->stream_limits == nullptr
             ? to.transport->max_packet_bytes()
             : to.interfaces->stream_limits->long_packet_bytes(*to.link);
}

}  // namespace

void Output::transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request) {
  if (to.failure) return;  // the failure has ended the peer's operations, including this request
  if (to.is_clear()) {
    auto sent = to.try_send(header,
                            carries_message(header) ? request->data.all() : transport::ConstSpan{});
    if (!sent) return collaborators_.failures.on_send_error(to, sent.error());
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

void Output::mark_busy(Peer& to) {
  if (to.queue.empty() && to.streams.empty()) return;
  if (to.link == nullptr) {
    collaborators_.routes.request_route(to);
  } else {
    if (!to.is_busy) busy_.push_back(&to);
    to.is_busy = true;
  }
}

void Output::on_sent(SendRequest& request) {
  if (!request.awaits_reply) collaborators_.operations.end(request, std::nullopt);
}

void Output::queue_control(Peer& to, std::vector<std::byte> bytes) {
  ++collaborators_.counts.control_sent;
  collaborators_.counts.control_bytes += bytes.size();
  QueuedOutput& queued = to.queue.emplace_back();
  queued.is_control = true;
  queued.control = std::move(bytes);
  push(to);
}

base::Result<transport::Attempt> Output::send_front(Peer& to) {
  QueuedOutput& front = to.queue.front();
  if (front.is_control) return send_control_part(to);
  transport::ConstSpan header(front.header.data(), front.header_bytes);
  SendRequest* request = front.request;
  SHIM_TRY_ASSIGN(
      transport::Attempt attempt,
      to.try_send(header, carries_message(header) ? request->data.all() : transport::ConstSpan{}));
  if (attempt != transport::Attempt::done) return attempt;
  to.queue.pop_front();
  if (request != nullptr) on_sent(*request);
  return attempt;
}

base::Result<transport::Attempt> Output::send_control_part(Peer& to) {
  QueuedOutput& front = to.queue.front();
  wire::Control header;
  header.world = collaborators_.self.world;
  header.rank = collaborators_.self.rank;
  header.total = front.control.size();
  header.offset = front.control_sent;
  transport::ConstSpan rest = transport::ConstSpan(front.control).subspan(front.control_sent);
  transport::ConstSpan part = rest.first(
      std::min(rest.size(), to.transport->max_packet_bytes() - sizeof(header)));
  SHIM_TRY_ASSIGN(
      transport::Attempt attempt,
      to.interfaces->setup_path == nullptr
          ? to.transport->try_send(*to.link, wire::bytes_of(header), part)
          : to.interfaces->setup_path->try_send_ahead(*to.link, wire::bytes_of(header), part));
  if (attempt != transport::Attempt::done) return attempt;
  front.control_sent += part.size();
  if (front.control_sent == front.control.size()) to.queue.pop_front();
  return attempt;
}

base::Result<transport::Attempt> Output::send_next_data(Peer& to) {
  SendRequest& request = to.streams.front();
  wire::Data header;
  header.receive = request.remote_receive;
  header.offset = request.offset;
  const std::uint64_t bytes = std::min(long_packet_bytes(to) - sizeof(header),
                                       request.end - request.offset);
  SHIM_TRY_ASSIGN(transport::Attempt attempt, send_part(to, request, header, bytes));
  if (attempt != transport::Attempt::done) return attempt;
  request.offset += bytes;
  if (request.offset == request.end) {
    collaborators_.operations.end(request, std::nullopt);
  } else {
    to.streams.splice(to.streams.end(), to.streams,
                      to.streams.begin());  // several streams take turns
  }
  return attempt;
}

/// Send from the peer's queue, then from its streams. Once a poll is due, the rest of the queue
/// waits for the next round even if the link has space: the receiver may have throttled us
/// meanwhile.
base::Result<int> Output::push_some(Peer& to) {
  int moved = 0;
  while (!to.queue.empty()) {
    const QueuedOutput& front = to.queue.front();
    const std::uint64_t bytes = front.request != nullptr && carries_message(front.header)
                                    ? front.request->data.bytes()
                                    : 0;
    SHIM_TRY_ASSIGN(transport::Attempt attempt, send_front(to));
    if (attempt != transport::Attempt::done) return moved;
    ++moved;
    if (collaborators_.transports.is_poll_due(bytes)) {
      collaborators_.transports.skip_none();
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

int Output::push(Peer& to) {
  if (to.link == nullptr) return 0;
  auto moved = push_some(to);
  if (!moved) {
    collaborators_.failures.on_send_error(to, moved.error());
    return 1;
  }
  mark_busy(to);
  return *moved;
}

int Output::push_all() {
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
