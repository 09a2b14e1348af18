// SPDX-License-Identifier: BSD-3-Clause
// Connection sends and receives frames over one TCP socket, without interpreting them.
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
  /// connecting: connect(2) is pending. handshaking: this process has sent its hello. open: frames
  /// go both ways. closing: this process sends no more, and reads until the peer closes.
  /// unauthenticated: accepted, and the peer has not proved that it knows the secret.
  enum class State : std::uint8_t { connecting, handshaking, open, closing, unauthenticated };

  /// Begin to connect; never blocks. Errors: other.
  static base::Result<Connection> connect(const IpAddress& address, std::uint16_t port);
  /// Wrap an accepted socket.
  static Connection accepted(base::Descriptor socket) {
    return {std::move(socket), State::unauthenticated};
  }

  int descriptor() const { return socket_.get(); }
  State state() const { return state_; }
  void set_state(State state);
  base::Nanoseconds in_state_since() const { return state_since_; }

  /// Return why connect(2) has failed; nullopt if it has not.
  std::optional<base::Error> connect_error() const;
  /// Send as much as the system accepts. Errors: other (the connection is broken).
  base::Status send(FrameQueue& waiting);
  /// Send a further frame, without copying it if nothing else waits; the part that the system does
  /// not accept is queued.
  [[gnu::hot]] base::Status send(FrameQueue& waiting, TcpFrameKind kind, ConstSpan first,
                                 ConstSpan second);
  /// True if the system's send buffer accepts this many bytes now, so that they arrive whatever
  /// this process does next. Reserves the space for the send that follows.
  [[gnu::hot]] bool has_space(std::size_t bytes);
  /// True if the system's send buffer is long enough for this frame, as far as known.
  bool fits_in_buffer(std::size_t bytes) const;
  /// Set the send buffer to its maximum, and disable the timeout of unacknowledged data. The system
  /// itself enlarges the buffer only on slow networks, and shrinks it if memory is short (tcp(7),
  /// tcp_wmem). Invalidates earlier results of has_space. From now on data may wait as long as the
  /// peer does not read, which may be hours if it computes. Only retransmissions then detect that
  /// its machine is gone (tcp(7), tcp_retries2).
  void prepare_for_messages();
  /// Announce that nothing more will be sent.
  void shutdown_send();
  /// Acknowledge received data at once; the system may delay that by 40 ms (tcp(7), TCP_QUICKACK).
  void acknowledge() const;
  /// True if the other machine has acknowledged all data.
  bool is_delivered() const;

  /// Receiver of arrived frames.
  class FrameHandler {
   public:
    /// The frame's bytes are valid during the call. Return false to stop for good.
    virtual bool on_frame(const ReceivedFrame& frame) = 0;

   protected:
    ~FrameHandler() = default;
  };
  /// Receive bytes and pass on each whole frame. Payloads of long packets are placed by `sink`.
  /// Return false at the end of the connection. Errors: other (broken, or invalid frames).
  /// @param scratch buffer of kFrameBufferBytes
  [[gnu::hot]] base::Result<bool> receive(std::span<std::byte> scratch, FrameHandler& handler,
                                          Sink& sink);

 private:
  /// Result of one read of the socket.
  enum class ReadResult : std::uint8_t { more, drained, end };

  Connection(base::Descriptor socket, State state);
  [[gnu::hot]] base::Result<ReadResult> receive_frames(std::span<std::byte> scratch,
                                                       FrameHandler& handler, Sink& sink);
  base::Result<ReadResult> receive_placed(std::span<std::byte> scratch, FrameHandler& handler,
                                          Sink& sink);
  [[gnu::hot]] base::Result<bool> handle_frames(ConstSpan bytes, FrameHandler& handler, Sink& sink);
  [[gnu::hot]] bool begin_placing(ConstSpan bytes, Sink& sink);

  base::Descriptor socket_;
  State state_;
  base::Nanoseconds state_since_;
  std::size_t buffer_ = 0;        ///< bytes of the system's send buffer, as far as known
  std::size_t buffer_space_ = 0;  ///< free bytes of it
  /// Received beginning of a frame; its head and the packet's header while a payload is placed.
  Bytes partial_;
  /// Of the payload being placed: bytes received so far, and all bytes; 0: none is being placed.
  std::size_t placed_bytes_ = 0, payload_bytes_ = 0;
};

}  // namespace shim::transport
