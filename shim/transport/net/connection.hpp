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

class Connection {
 public:
  /// calling: connect(2) goes on. greeting: our hello is on its way. open: frames go both ways. closing: we have said that we send no
  /// more, and read what comes until the other closes. stranger: somebody has called us and has not said the right word yet.
  enum class State : std::uint8_t { calling, greeting, open, closing, stranger };

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
  /// Says that nothing more will be sent.
  void say_end();
  /// Has the other machine got all that was sent?
  bool is_delivered() const;

  /// Takes bytes that have come, and hands each whole frame to `take`, which answers false to stop for good. Answers false at the
  /// connection's end. Errors: other (broken, or bytes that are no frames).
  base::Result<bool> receive(const std::function<bool(const ReceivedFrame&)>& take);

 private:
  Connection(base::Descriptor socket, State state);
  base::Result<bool> take_frames(const std::function<bool(const ReceivedFrame&)>& take);

  base::Descriptor socket_;
  State state_;
  base::Nanoseconds since_;
  FrameReader reader_;
};

}  // namespace shim::transport
