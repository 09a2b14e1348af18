// SPDX-License-Identifier: BSD-3-Clause
// ControlInbox receives control messages: of any length, between processes that may share no
// communicator.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "shim/p2p/engine_lock.hpp"
#include "shim/p2p/handler_lock.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/peer.hpp"
#include "shim/p2p/wire.hpp"

namespace shim::p2p {

/// The handler runs without the engine's lock, in one thread at a time, in order of arrival.
class ControlInbox {
 public:
  explicit ControlInbox(EngineLock& lock) : lock_(lock) {}

  // --- under the engine's lock
  /// Add a packet of the sender; false if it continues no message.
  bool add(Peer& sender, const wire::Control& header, transport::ConstSpan payload);
  /// True if no whole message waits, whether or not there is a handler.
  bool is_empty() const { return messages_.empty(); }
  /// True if the handler must be called.
  bool has_work() const { return !messages_.empty() && handler_ != nullptr; }

  // --- without the engine's lock
  /// Call the handler for all messages, unless another thread does.
  void handle();
  /// Set the handler; null removes it. No thread but the caller is in the earlier one on return.
  void set_handler(ControlHandler handler);

 private:
  struct Message {
    base::ProcessId from;
    std::vector<std::byte> bytes;
  };

  EngineLock& lock_;
  std::deque<Message> messages_;
  std::shared_ptr<const ControlHandler> handler_;
  HandlerLock handler_lock_;
};

}  // namespace shim::p2p
