// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection, as bytes and frames; it knows neither who calls nor what frames mean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "shim/base/clock.hpp"
#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/frame.hpp"

namespace shim::transport {

/// What is to be sent: frames one after the other, of which the first bytes may have left.
class FrameQueue {
 public:
  void add(ContactFrame kind, ConstSpan first, ConstSpan second = {});
  bool is_empty() const { return sent_ == bytes_.size(); }
  std::size_t waiting() const { return bytes_.size() - sent_; }
  ConstSpan rest() const { return ConstSpan(bytes_).subspan(sent_); }
  void took(std::size_t bytes);
  void clear();

 private:
  Bytes bytes_;
  std::size_t sent_ = 0;
};

class Connection {
 public:
  /// calling: connect(2) goes on. greeting: our hello is on its way. open: frames go both ways. stranger: somebody has called us
  /// and has not said the right word yet.
  enum class State : std::uint8_t { calling, greeting, open, stranger };

  /// Begins to call; never waits. Errors: other.
  static base::Result<Connection> call(const IpAddress& address, std::uint16_t port);
  /// One that listen(2) has brought.
  static Connection accepted(base::Descriptor socket) { return {std::move(socket), State::stranger}; }

  int descriptor() const { return socket_.get(); }
  State state() const { return state_; }
  void enter(State state);
  base::Nanoseconds in_state_since() const { return since_; }

  /// Why connect(2) has failed; nothing where it has not.
  std::optional<base::Error> call_failure() const;
  /// Sends what there is room for. Errors: other (the connection is broken).
  base::Status send(FrameQueue& frames);
  /// Has the other machine got all that was sent?
  bool is_delivered() const;

  /// Takes bytes that have come, and hands each whole frame to `take`, which answers false to stop for good. Answers false at the
  /// connection's end. Errors: other (broken, or bytes that are no frames).
  base::Result<bool> receive(const std::function<bool(ContactFrame, ConstSpan)>& take);

 private:
  Connection(base::Descriptor socket, State state);
  base::Result<bool> take_frames(const std::function<bool(ContactFrame, ConstSpan)>& take);

  base::Descriptor socket_;
  State state_;
  base::Nanoseconds since_;
  Bytes in_;  ///< a frame of which not all has come
};

}  // namespace shim::transport
