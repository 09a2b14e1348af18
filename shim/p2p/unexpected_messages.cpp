// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/unexpected_messages.hpp"

#include <algorithm>
#include <utility>

namespace shim::p2p {

StoredMessage* UnexpectedMessages::keep(const MessageInfo& info, Plane plane) {
  StoredMessage* message = messages_.make(info, plane);
  ++counts_.unexpected;
  bytes_ += message->memory();
  counts_.unexpected_bytes_most = std::max(counts_.unexpected_bytes_most, bytes_);
  if (bytes_ > limit_) [[unlikely]] {
    if (const auto from = info.origin.process()) throttle(peers_.at(*from));
  }
  return message;
}

void UnexpectedMessages::free(StoredMessage& message) {
  bytes_ -= message.memory();
  messages_.release(&message);
  // half the limit, because at the limit each message would throttle and release its sender
  if (!throttled_.empty() && bytes_ <= limit_ / 2) [[unlikely]]
    unthrottle_all();
}

void UnexpectedMessages::throttle(Peer& from) {
  if (std::exchange(from.is_throttled, true)) return;
  ++counts_.throttled;
  throttled_.push_back(&from);
  send_flow_control(from, wire::PacketType::throttle);
}

void UnexpectedMessages::unthrottle_all() {
  for (Peer* from : std::exchange(throttled_, {})) {
    from->is_throttled = false;
    send_flow_control(*from, wire::PacketType::unthrottle);
  }
}

void UnexpectedMessages::send_flow_control(Peer& to, wire::PacketType what) {
  wire::Flow flow;
  flow.kind = what;
  flow.world = self_.world;
  flow.rank = self_.rank;
  output_.transmit(to, flow);
}

}  // namespace shim::p2p
