// SPDX-License-Identifier: BSD-3-Clause
// One other process, as long as we have to do with it: the way to it, what waits to be sent, what is under way.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <vector>

#include "shim/p2p/requests.hpp"
#include "shim/p2p/wire.hpp"

namespace shim::p2p {

/// A packet, or a control message, that found no room on the link. Sent strictly in order, because matching depends on it.
struct QueuedOutput {
  std::array<std::byte, wire::kLongestHeader> header;
  std::size_t header_bytes = 0;
  SendRequest* request = nullptr;    ///< whose data is the payload; null where there is none
  std::vector<std::byte> control;    ///< a whole control message, cut into packets as it goes
  std::uint64_t control_sent = 0;
  bool is_control = false;
};

struct Peer {
  explicit Peer(base::ProcessId process_id) : process(process_id) {}

  base::ProcessId process;
  transport::Transport* transport = nullptr;
  transport::Link* link = nullptr;   ///< null before the route is known and after a failure
  const transport::Link* last_link = nullptr;  ///< the one that failed
  std::uint64_t eager_end = 0;       ///< messages shorter than this are sent in one packet; 0: none are
  bool can_read = true;              ///< false once the transport has said that it cannot read this process's memory
  bool can_write = true;             ///< false once it has turned out that the two cannot share the copying
  bool holds_us_back = false;        ///< it has more than it wants of what it has not asked for …
  bool is_held_back = false;         ///< … and so have we of what it has sent: it has been told
  bool is_busy = false;              ///< in the engine's list of peers with something to send
  bool needs_route = false;          ///< in the engine's list of peers to find a route to
  std::optional<base::Error> failure;
  bool has_lost = false;             ///< messages were lost between us, of which one may have been for a receive from any process

  std::list<QueuedOutput> queue;                      ///< a list: most are empty for ever, and that takes no memory
  RequestList<SendRequest, OfPeer> unfinished;        ///< sends begun and not complete
  RequestList<SendRequest, Streaming> streams;        ///< those of them that send data packets
  RequestList<ReceiveRequest, OfPeer> incoming;       ///< receives matched with long messages of this process
  RequestList<ReceiveRequest, OfPeer> below;          ///< receives of this process's messages that its transport has
  ReceiveRequest* shared = nullptr;                   ///< the one of them that both copy, or that may be next
  std::vector<std::byte> control_part;                ///< a control message of which not all has come

  /// May a packet be given to the link without overtaking another?
  bool is_clear() const { return link != nullptr && queue.empty(); }
};

}  // namespace shim::p2p
