// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection, as bytes and frames; it knows neither who calls nor what frames mean.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "shim/base/clock.hpp"
#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/frame.hpp"
#include "shim/transport/transport.hpp"

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
  [[gnu::hot]] base::Status send(FrameQueue& waiting, ContactFrame kind, ConstSpan first, ConstSpan second);
  /// Will the system take a frame with so many bytes as a whole, so that it arrives whatever this process does next?
  [[gnu::hot]] bool has_room(std::size_t bytes);
  /// Is the system's buffer long enough for such a frame, as far as is known?
  bool takes_whole(std::size_t bytes) const;
  /// The system's send buffer becomes as long as it may be, and stays so: by itself it grows only where lines are slow, and shrinks where
  /// the system has little memory (tcp(7), tcp_wmem). What has_room has said before is void.
  /// From now on what is sent may wait for as long as the other process does not read: it may compute for hours. That its machine is gone
  /// is then found out by the system's retransmissions alone (tcp(7), tcp_retries2).
  void carry_messages();
  /// Says that nothing more will be sent.
  void say_end();
  /// The other machine hears at once that what it sent has come; the system may put that off for 40 ms (tcp(7), TCP_QUICKACK).
  void acknowledge() const;
  /// Has the other machine got all that was sent?
  bool is_delivered() const;

  /// Who takes the frames that have come.
  class Taker {
   public:
    /// The frame's bytes are valid during the call. False to stop for good.
    virtual bool take(const ReceivedFrame& frame) = 0;

   protected:
    ~Taker() = default;
  };
  /// Takes bytes that have come, and hands each whole frame on. Payloads of long packets go where `places` says. Answers false at the
  /// connection's end. Errors: other (broken, or bytes that are no frames).
  /// @param room of kFrameRoom bytes, whose contents are of no use before and after
  [[gnu::hot]] base::Result<bool> receive(std::span<std::byte> room, Taker& taker, Sink& places);

 private:
  /// What one look at the socket has brought.
  enum class Came : std::uint8_t { some, all_there_is, end };

  Connection(base::Descriptor socket, State state);
  [[gnu::hot]] base::Result<Came> receive_frames(std::span<std::byte> room, Taker& taker, Sink& places);
  base::Result<Came> receive_placed(std::span<std::byte> room, Taker& taker, Sink& places);
  [[gnu::hot]] base::Result<bool> take_frames(ConstSpan bytes, Taker& taker, Sink& places);
  [[gnu::hot]] bool begin_placing(ConstSpan bytes, Sink& places);

  base::Descriptor socket_;
  State state_;
  base::Nanoseconds since_;
  std::size_t buffer_ = 0;  ///< bytes that the system takes, as far as is known
  std::size_t room_ = 0;    ///< and of these, free
  Bytes rest_;  ///< of what has come: the beginning of a frame; its head and the packet's header while a payload is being placed
  std::size_t placed_ = 0, to_place_ = 0;  ///< of a payload, and in all; 0: none is being placed
};

}  // namespace shim::transport
