// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection, as bytes and frames; it knows neither who calls nor what frames mean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

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
  base::Status send(FrameQueue& waiting);
  /// The same with a frame more, which goes straight from where it is if nothing else waits; what there is no room for waits then.
  base::Status send(FrameQueue& waiting, ContactFrame kind, ConstSpan first, ConstSpan second);
  /// Will the system take a frame with so many bytes as a whole, so that it arrives whatever this process does next?
  bool has_room(std::size_t bytes);
  /// From now on what is sent may wait for as long as the other process does not read: it may compute for hours. That its machine is gone
  /// is then found out by the system's retransmissions alone (tcp(7), tcp_retries2).
  void be_patient();
  /// Says that nothing more will be sent.
  void say_end();
  /// The other machine hears at once that what it sent has come; the system may put that off for 40 ms (tcp(7), TCP_QUICKACK).
  void acknowledge() const;
  /// Has the other machine got all that was sent?
  bool is_delivered() const;

  using Take = std::function<bool(const ReceivedFrame&)>;
  /// Takes bytes that have come, and hands each whole frame to `take`, which answers false to stop for good. Answers false at the
  /// connection's end. Errors: other (broken, or bytes that are no frames).
  /// @param room of kFrameRoom bytes, whose contents are of no use before and after
  base::Result<bool> receive(std::span<std::byte> room, const Take& take);

 private:
  Connection(base::Descriptor socket, State state);
  /// Answers the bytes of the frames that were taken; nothing to stop for good.
  base::Result<std::optional<std::size_t>> take_frames(ConstSpan bytes, const Take& take) const;

  base::Descriptor socket_;
  State state_;
  base::Nanoseconds since_;
  std::size_t room_ = 0;  ///< bytes that the system will take, as far as is known
  Bytes rest_;  ///< of what has come: the beginning of a frame
};

}  // namespace shim::transport
