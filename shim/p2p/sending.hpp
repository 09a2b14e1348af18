// SPDX-License-Identifier: BSD-3-Clause
// Sending sends messages: short ones at once as one packet, others by a request.
//
// A sender that never waits must see in time that its receiver throttles it. It therefore polls
// after a number of bytes (Transports::is_poll_due), and announces all messages while it is
// throttled (unexpected_messages.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "shim/p2p/eager_limits.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class Sending final {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    base::ProcessId self;
    const EagerLimits& limits;
    Transports& transports;
    IdTable<SendRequest>& send_ids;
    PacketOutput& output;
    LongSends& long_sends;
    TransportPolling& polling;
    Engine::Counts& counts;
  };
  explicit Sending(const Collaborators& collaborators)
      : collaborators_(collaborators), origin_(wire::SenderNumber::of(collaborators.self)) {}

  // --- fast path: true if the message has left as one packet. If false, the caller must use the
  // slow path, which handles all other cases. Inlined (sending_fast_path.hpp) unless by a request.
  bool send_at_once(Context& context, const types::ConstBuffer& data, int rank, int tag,
                    Plane plane);
  /// Send at once, and set inline_sent for a later cancellation.
  bool send_at_once(Context& context, const types::ConstBuffer& data, int rank, int tag,
                    InlineSent& inline_sent);
  [[gnu::hot]] bool send_at_once(SendRequest& request);

  // --- slow path
  /// Send the message of a request, or queue it.
  /// @param to not failed, and with a link
  void start(SendRequest& request, Peer& to);
  void on_finished(const wire::Finished& header);
  /// Follow the receiver's request to throttle, or not to throttle any more.
  void on_flow(Peer& to, wire::PacketType kind);
  void end(SendRequest& request, std::optional<base::Error> error, bool cancelled);
  /// Remove a send from all lists, and do not complete it.
  void abandon(SendRequest& request);

  // --- requests
  template <typename... Arguments>
  [[gnu::always_inline]] SendRequest* make(Arguments&&... arguments) {
    return requests_.make(std::forward<Arguments>(arguments)...);
  }
  void free(SendRequest& request) { requests_.release(&request); }
  /// See Engine::request_of.
  Request* request_of(Core* core, Context& context, const InlineSent& inline_sent);
  /// Count a send that its owner has released before it is complete.
  void count_released() { ++released_; }
  /// True if sends are in progress that no owner waits for.
  bool has_released() const { return released_ != 0; }

 private:
  Peer* peer_for_fast_path(Context& context, int rank, std::uint64_t bytes) const;
  wire::Eager header_for(wire::PacketType kind, const Context& context, int rank, int tag,
                         Plane plane, std::uint64_t bytes) const;
  template <typename Header>
  bool try_eager(Peer& to, const Header& header, transport::ConstSpan data);
  template <typename Header>
  bool try_eager(Peer& to, const Header& header, const types::ConstBuffer& data);
  template <typename Header>
  bool try_eager_packed(Peer& to, const Header& header, const types::ConstBuffer& data);
  void count_eager_send(std::uint64_t bytes);
  void poll_after_sends();
  bool send_over_provider(Context& context, const types::ConstBuffer& data, int rank, int tag,
                          Plane plane, std::uint64_t number);
  bool send_over_provider(SendRequest& request);
  void number(SendRequest& request, Peer& to);
  void announce_queued(Peer& to);
  void unlink(SendRequest& request);

  const Collaborators collaborators_;
  const wire::SenderNumber origin_;      ///< this process
  std::uint64_t messages_numbered_ = 0;  ///< number of the last message
  std::uint64_t released_ = 0;           ///< released sends that only the engine completes
  Pool<SendRequest> requests_;
};

}  // namespace shim::p2p
