// SPDX-License-Identifier: BSD-3-Clause
// Peer is the state kept for one other process: link, output queue, operations.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "shim/p2p/requests.hpp"
#include "shim/p2p/wire.hpp"
#include "shim/transport/optional_interfaces.hpp"

namespace shim::p2p {

/// A packet or control message for which the link had no space. Sent strictly in order, because
/// matching depends on the order.
struct QueuedOutput {
  std::array<std::byte, wire::kMaxHeader> header;
  std::size_t header_bytes = 0;
  SendRequest* request = nullptr;  ///< request whose data is the payload; null if none
  std::vector<std::byte> control;  ///< a whole control message, split into packets as it is sent
  std::uint64_t control_sent = 0;
  bool is_control = false;

  /// True for a notice about collectives that fail (docs/decisions/0002, 0012).
  bool is_notice() const;
};

/// True if the packet carries a whole message.
bool carries_message(transport::ConstSpan header);

/// State of one other process.
///
/// Size: a record that all parts of an engine share, so it has more data members than a class that
/// owns its state (docs/decisions/0058-parts-of-the-engine.md).
struct Peer {
  explicit Peer(base::ProcessId process_id) : process(process_id) {}

  base::ProcessId process;
  transport::Transport* transport = nullptr;
  transport::Link* link = nullptr;  ///< null before the route is known and after a failure
  transport::ReceiveInPlace* receive_in_place = nullptr;  ///< of the transport; null without link
  std::uint64_t eager_end = 0;  ///< messages shorter than this are sent in one packet; 0: none are
  /// messages shorter than this may take the fast path: eager_end, or 0 if a provider may match
  std::uint64_t fast_end = 0;
  bool may_match_in_provider = false;  ///< its transport has a matcher, or may get one
  bool can_read = true;       ///< false once the transport cannot read this process's memory
  bool can_write = true;      ///< false once the two processes cannot share the copying
  bool throttles_us = false;  ///< it has throttled us: it has too many unexpected messages
  bool is_throttled = false;  ///< we have throttled it: we have too many unexpected messages
  bool is_busy = false;       ///< in the engine's list of peers for which output waits
  bool needs_route = false;   ///< in the engine's list of peers without a route
  /// of the transport; null before the first link
  const transport::OptionalInterfaces* interfaces = nullptr;
  const transport::Link* last_link = nullptr;  ///< the link that failed
  std::optional<base::Error> failure;
  /// messages between us were lost; one may have matched a receive from any source
  bool has_lost_packets = false;

  /// a list, because an empty one needs no memory and most stay empty
  std::list<QueuedOutput> queue;
  RequestList<SendRequest, OfPeer> unfinished;  ///< sends begun and not complete
  RequestList<SendRequest, Streaming> streams;  ///< unfinished sends that send data packets
  /// receives matched with long messages of this process
  RequestList<ReceiveRequest, OfPeer> incoming;
  /// receives posted to the peer's transport
  RequestList<ReceiveRequest, OfPeer> provider_receives;
  /// incoming receive that both processes copy, or the next one to be
  ReceiveRequest* shared = nullptr;
  std::vector<std::byte> control_part;  ///< a control message that has arrived in part

  void set_link(transport::Transport& over, const transport::OptionalInterfaces& of_transport,
                transport::Link& to_process) {
    transport = &over;
    interfaces = &of_transport;
    link = &to_process;
    receive_in_place = of_transport.receive_in_place;
  }
  /// Record that the link has failed.
  void drop_link() {
    last_link = std::exchange(link, nullptr);
    receive_in_place = nullptr;
  }
  /// True if a packet may be passed to the link without overtaking another one.
  bool is_clear() const { return link != nullptr && queue.empty(); }
  /// Try to send a packet over the link; over its matcher if a provider matches the packet.
  [[gnu::hot]] base::Result<transport::Attempt> try_send(transport::ConstSpan header,
                                                         transport::ConstSpan payload);
  /// True if only notices are queued for this peer, and no answer that it waits for.
  bool has_only_notices() const;
};

}  // namespace shim::p2p
