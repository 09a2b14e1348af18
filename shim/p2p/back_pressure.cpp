// SPDX-License-Identifier: BSD-3-Clause
// Messages that nobody has asked for take memory of ours, as many as others choose to send. From a limit on, whoever sends another one is
// told to hold back: it announces all its messages then, and their data stays with it until they are wanted, as that of long ones does.
// Announcements go on to be matched in their order, so that nothing waits behind what is held back; and MPI-4.1 §3.4 lets a standard
// send wait for its receive. Beyond the limit comes what was under way already: what the connection holds, and what its sender sends
// until it looks (core.hpp).
#include <algorithm>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

Message* Core::keep(const Arrival& arrival, Plane plane) {
  Message* message = messages_.make(arrival, plane);
  ++counts.unexpected;
  unexpected_bytes_ += message->memory();
  counts.unexpected_bytes_most = std::max(counts.unexpected_bytes_most, unexpected_bytes_);
  if (unexpected_bytes_ > spec.settings.unexpected_bytes) [[unlikely]] {
    if (const auto from = arrival.origin.process()) hold_back(peer(*from));
  }
  return message;
}

void Core::free_message(Message& message) {
  unexpected_bytes_ -= message.memory();
  messages_.give_back(&message);
  // not at the limit itself, or each message would be held back and let go
  if (!held_back_.empty() && unexpected_bytes_ <= spec.settings.unexpected_bytes / 2) [[unlikely]] let_go_ahead();
}

void Core::hold_back(Peer& from) {
  if (std::exchange(from.is_held_back, true)) return;
  ++counts.held_back;
  held_back_.push_back(&from);
  tell(from, wire::Kind::hold_back);
}

void Core::let_go_ahead() {
  for (Peer* from : std::exchange(held_back_, {})) {
    from->is_held_back = false;
    tell(*from, wire::Kind::go_ahead);
  }
}

void Core::tell(Peer& from, wire::Kind what) {
  wire::Flow flow;
  flow.kind = what;
  flow.world = spec.self.world;
  flow.rank = spec.self.rank;
  transmit(from, flow);
}

void Core::on_flow(const wire::Flow& header) {
  Peer& to = peer(base::ProcessId{header.world, header.rank});
  to.holds_us_back = header.kind == wire::Kind::hold_back;
  if (to.link == nullptr) return;
  set_eager_end(to);
  if (to.holds_us_back) announce_queued(to);
}

/// What waits for room has not left yet. One that is asked back already goes as its sender has named it then.
void Core::announce_queued(Peer& to) {
  for (QueuedOutput& queued : to.queue) {
    SendRequest* request = queued.request;
    if (request == nullptr || request->given_up || request->header.kind == wire::Kind::ready_to_send) continue;
    const wire::ReadyToSend header = announcement(*request);
    std::memcpy(queued.header.data(), &header, sizeof header);
    queued.header_bytes = sizeof header;
  }
}

}  // namespace shim::p2p
