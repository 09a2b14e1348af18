// SPDX-License-Identifier: BSD-3-Clause
// Implements flow control: limits the memory of unexpected messages.
//
// Above the limit, each process that sends another message is throttled: it announces all its
// messages, and their data stays with it until a receive matches. Announcements are matched in
// order, so nothing waits behind throttled messages; MPI-4.1 §3.4 lets a standard send wait for its
// receive. Messages in flight may exceed the limit: those in the connection, and those sent before
// the sender's next poll (core.hpp).
#include <algorithm>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

StoredMessage* Core::keep_unexpected(const MessageInfo& info, Plane plane) {
  StoredMessage* message = messages_.make(info, plane);
  ++counts.unexpected;
  unexpected_bytes_ += message->memory();
  counts.unexpected_bytes_most = std::max(counts.unexpected_bytes_most, unexpected_bytes_);
  if (unexpected_bytes_ > spec.settings.unexpected_bytes) [[unlikely]] {
    if (const auto from = info.origin.process()) throttle(peer(*from));
  }
  return message;
}

void Core::free_message(StoredMessage& message) {
  unexpected_bytes_ -= message.memory();
  messages_.release(&message);
  // half the limit, because at the limit each message would throttle and release its sender
  if (!throttled_peers_.empty() && unexpected_bytes_ <= spec.settings.unexpected_bytes / 2)
      [[unlikely]]
    unthrottle_all();
}

void Core::throttle(Peer& from) {
  if (std::exchange(from.is_throttled, true)) return;
  ++counts.throttled;
  throttled_peers_.push_back(&from);
  send_flow_control(from, wire::PacketType::throttle);
}

void Core::unthrottle_all() {
  for (Peer* from : std::exchange(throttled_peers_, {})) {
    from->is_throttled = false;
    send_flow_control(*from, wire::PacketType::unthrottle);
  }
}

void Core::send_flow_control(Peer& from, wire::PacketType what) {
  wire::Flow flow;
  flow.kind = what;
  flow.world = spec.self.world;
  flow.rank = spec.self.rank;
  transmit(from, flow);
}

void Core::on_flow(const wire::Flow& header) {
  Peer& to = peer(base::ProcessId{header.world, header.rank});
  to.throttles_us = header.kind == wire::PacketType::throttle;
  if (to.link == nullptr) return;
  set_eager_end(to);
  if (to.throttles_us) announce_queued(to);
}

/// Turn queued messages into announcements. A message whose cancellation has been requested keeps
/// the kind and number by which that request identifies it.
void Core::announce_queued(Peer& to) {
  for (QueuedOutput& queued : to.queue) {
    SendRequest* request = queued.request;
    if (request == nullptr || request->cancel_requested ||
        request->header.kind == wire::PacketType::ready_to_send)
      continue;
    const wire::ReadyToSend header = announcement(*request);
    std::memcpy(queued.header.data(), &header, sizeof header);
    queued.header_bytes = sizeof header;
  }
}

}  // namespace shim::p2p
