// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/control_inbox.hpp"

#include <mutex>
#include <utility>

namespace shim::p2p {

bool ControlInbox::add(Peer& sender, const wire::Control& header, transport::ConstSpan payload) {
  std::vector<std::byte>& part = sender.control_part;
  if (header.offset == 0)
    part.clear();  // discard the unfinished message of an earlier incarnation of the sender
  if (header.offset != part.size() || header.total < header.offset ||
      header.total - header.offset < payload.size())
    return false;
  part.insert(part.end(), payload.begin(), payload.end());
  if (part.size() == header.total) messages_.push_back({sender.process, std::exchange(part, {})});
  return true;
}

void ControlInbox::handle() {
  for (;;) {
    // one thread at a time, so that the messages of a sender are handled one by one and in order
    std::unique_lock handling(handler_lock_, std::try_to_lock);
    if (!handling.owns_lock()) return;
    for (;;) {
      Guard guard = lock_.enter();
      if (!has_work()) break;
      Message message = std::move(messages_.front());
      messages_.pop_front();
      std::shared_ptr<const ControlHandler> handler = handler_;
      guard.unlock();
      (*handler)(message.from, message.bytes);
    }
    handling.unlock();
    // check again: a thread that queued a message before the release could not acquire the lock,
    // and left the message to this thread
    Guard guard = lock_.enter();
    if (!has_work()) return;
  }
}

void ControlInbox::set_handler(ControlHandler handler) {
  {
    Guard guard = lock_.enter();
    handler_ = handler ? std::make_shared<const ControlHandler>(std::move(handler)) : nullptr;
  }
  handler_lock_.wait_for_others();
}

}  // namespace shim::p2p
