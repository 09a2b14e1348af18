// SPDX-License-Identifier: BSD-3-Clause
// Implements control messages: of any length, between processes that may share no communicator.
#include <algorithm>
#include <mutex>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Core::queue_control(Peer& to, std::vector<std::byte> bytes) {
  ++counts.control_sent;
  counts.control_bytes += bytes.size();
  QueuedOutput& queued = to.queue.emplace_back();
  queued.is_control = true;
  queued.control = std::move(bytes);
  push(to);
}

base::Result<transport::Attempt> Core::send_control_part(Peer& to) {
  QueuedOutput& front = to.queue.front();
  wire::Control header;
  header.world = spec.self.world;
  header.rank = spec.self.rank;
  header.total = front.control.size();
  header.offset = front.control_sent;
  transport::ConstSpan rest = transport::ConstSpan(front.control).subspan(front.control_sent);
  transport::ConstSpan part = rest.first(
      std::min(rest.size(), to.transport->max_packet_bytes() - sizeof(header)));
  SHIM_TRY_ASSIGN(transport::Attempt attempt,
                  to.transport->try_send_ahead(*to.link, wire::bytes_of(header), part));
  if (attempt != transport::Attempt::done) return attempt;
  front.control_sent += part.size();
  if (front.control_sent == front.control.size()) to.queue.pop_front();
  return attempt;
}

void Core::on_control(const wire::Control& header, transport::ConstSpan payload) {
  base::ProcessId sender{header.world, header.rank};
  std::vector<std::byte>& part = peer(sender).control_part;
  if (header.offset == 0)
    part.clear();  // discard the unfinished message of an earlier incarnation of the sender
  if (header.offset != part.size() || header.total < header.offset ||
      header.total - header.offset < payload.size()) {
    ++counts.stale_dropped;
    return;
  }
  part.insert(part.end(), payload.begin(), payload.end());
  if (part.size() == header.total) inbox_.push_back({sender, std::exchange(part, {})});
}

void Core::handle_control() {
  for (;;) {
    // one thread at a time, so that the messages of a sender are handled one by one and in order
    std::unique_lock handling(handler_lock_, std::try_to_lock);
    if (!handling.owns_lock()) return;
    for (;;) {
      Guard guard = enter();
      if (inbox_.empty() || handler_ == nullptr) break;
      ControlMessage message = std::move(inbox_.front());
      inbox_.pop_front();
      std::shared_ptr<const ControlHandler> handler = handler_;
      guard.unlock();
      (*handler)(message.from, message.bytes);
    }
    handling.unlock();
    // check again: a thread that queued a message before the release could not acquire the lock,
    // and left the message to this thread
    Guard guard = enter();
    if (inbox_.empty() || handler_ == nullptr) return;
  }
}

void Core::set_control_handler(ControlHandler handler) {
  {
    Guard guard = enter();
    handler_ = handler ? std::make_shared<const ControlHandler>(std::move(handler)) : nullptr;
  }
  handler_lock_.wait_for_others();
}

}  // namespace shim::p2p
