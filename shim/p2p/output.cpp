// SPDX-License-Identifier: BSD-3-Clause
// Packets on their way out. What finds no room waits in its peer's queue; nothing overtakes the queue but data packets, which
// carry their place in the message.
#include "shim/p2p/core.hpp"
#include "shim/transport/matching.hpp"

namespace shim::p2p {

namespace {

// Data packets given to one peer in one round, so that a long message does not keep others waiting.
constexpr int kDataPerRound = 32;

bool brings_message(transport::ConstSpan header) {
  auto kind = static_cast<wire::Kind>(header[0]);
  return kind == wire::Kind::eager || kind == wire::Kind::eager_synchronous || kind == wire::Kind::eager_numbered;
}

bool is_matched(transport::ConstSpan header) {
  return brings_message(header) || static_cast<wire::Kind>(header[0]) == wire::Kind::ready_to_send;
}

}  // namespace

/// A packet to a link that takes it or not. One that is matched below goes its own way.
base::Result<transport::Attempt> Core::give(Peer& to, transport::ConstSpan header, transport::ConstSpan payload) {
  if (matches_below_ && is_matched(header)) [[unlikely]] {
    const auto message = *wire::read<wire::Eager>(header);  // which is what it begins with
    if (transport::Matcher* matcher = matcher_for(to, message))
      return matcher->try_send(*to.link, {message.context, message.source, message.tag}, header, payload);
  }
  return to.transport->try_send(*to.link, header, payload);
}

void Core::transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request) {
  if (to.failure) return;  // what belonged to it has ended with it
  if (to.is_clear()) {
    auto sent = give(to, header, brings_message(header) ? request->data.all() : transport::ConstSpan{});
    if (!sent) return on_send_error(to, sent.error());
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
    want_route(to);
  } else {
    if (!to.is_busy) busy_.push_back(&to);
    to.is_busy = true;
  }
}

void Core::want_route(Peer& to) {
  if (!to.needs_route) unrouted_.push_back(&to);
  to.needs_route = true;
}

base::Result<transport::Attempt> Core::send_front(Peer& to) {
  QueuedOutput& front = to.queue.front();
  if (front.is_control) return send_control_part(to);
  transport::ConstSpan header(front.header.data(), front.header_bytes);
  SendRequest* request = front.request;
  SHIM_TRY_ASSIGN(transport::Attempt attempt,
                  give(to, header, brings_message(header) ? request->data.all() : transport::ConstSpan{}));
  if (attempt != transport::Attempt::done) return attempt;
  to.queue.pop_front();
  if (request != nullptr) on_sent(*request);
  return attempt;
}

/// What has holes is packed straight into the packet, where the transport has that in memory.
base::Result<transport::Attempt> Core::send_part(Peer& to, SendRequest& request, const wire::Data& header, std::uint64_t bytes) {
  if (!request.data.is_one_run()) {
    std::span<std::byte> place;
    SHIM_TRY_ASSIGN(transport::Attempt attempt, to.transport->try_reserve(*to.link, wire::bytes_of(header), bytes, place));
    if (attempt == transport::Attempt::done) {
      request.data.copy_part(request.offset, place);
      to.transport->publish(*to.link);
    }
    if (attempt != transport::Attempt::unsupported) return attempt;
  }
  return to.transport->try_send(*to.link, wire::bytes_of(header), request.data.window(request.offset, bytes));
}

base::Result<transport::Attempt> Core::send_next_data(Peer& to) {
  SendRequest& request = to.streams.front();
  wire::Data header;
  header.receive = request.remote_receive;
  header.offset = request.offset;
  const std::uint64_t bytes = std::min(to.transport->long_packet_bytes(*to.link) - sizeof(header), request.end - request.offset);
  SHIM_TRY_ASSIGN(transport::Attempt attempt, send_part(to, request, header, bytes));
  if (attempt != transport::Attempt::done) return attempt;
  request.offset += bytes;
  if (request.offset == request.end) {
    end(request, std::nullopt);
  } else {
    to.streams.splice(to.streams.end(), to.streams, to.streams.begin());  // several streams take turns
  }
  return attempt;
}

/// The rest of a queue waits for the next round, however much its receiver takes in: it may have asked us to hold back meanwhile.
base::Result<int> Core::push_some(Peer& to) {
  int moved = 0;
  while (!to.queue.empty()) {
    const QueuedOutput& front = to.queue.front();
    const std::uint64_t bytes = front.request != nullptr && brings_message(front.header) ? front.request->data.bytes() : 0;
    SHIM_TRY_ASSIGN(transport::Attempt attempt, send_front(to));
    if (attempt != transport::Attempt::done) return moved;
    ++moved;
    if (is_time_to_look(bytes)) {
      skip_no_transport();
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
    on_send_error(to, moved.error());
    return 1;
  }
  mark_busy(to);
  return *moved;
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
