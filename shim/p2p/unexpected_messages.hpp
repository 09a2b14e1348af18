// SPDX-License-Identifier: BSD-3-Clause
// UnexpectedMessages stores messages until a receive matches them, and limits their memory.
//
// Above the limit, each process that sends another message is throttled: it announces all its
// messages, and their data stays with it until a receive matches. Announcements are matched in
// order, so nothing waits behind throttled messages; MPI-4.1 §3.4 lets a standard send wait for its
// receive. Messages in flight may exceed the limit: those in the connection, and those sent before
// the sender's next poll (Transports::is_poll_due).
#pragma once

#include <cstdint>
#include <vector>

#include "shim/p2p/peers.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/requests.hpp"
#include "shim/p2p/services.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class UnexpectedMessages {
 public:
  /// @param limit bytes; all references must outlive this object
  UnexpectedMessages(base::ProcessId self, std::uint64_t limit, Peers& peers, PacketOutput& output,
                     Engine::Counts& counts)
      : self_(self), limit_(limit), peers_(peers), output_(output), counts_(counts) {}

  /// Store a message. If the messages use too much memory, throttle its sender.
  StoredMessage* keep(const MessageInfo& info, Plane plane);
  /// Free a message that keep() returned. Release the senders once there is space again.
  void free(StoredMessage& message);

 private:
  void throttle(Peer& from);
  void unthrottle_all();
  void send_flow_control(Peer& to, wire::PacketType what);

  const base::ProcessId self_;
  const std::uint64_t limit_;
  Peers& peers_;
  PacketOutput& output_;
  Engine::Counts& counts_;
  Pool<StoredMessage> messages_;
  std::uint64_t bytes_ = 0;       ///< memory of the messages
  std::vector<Peer*> throttled_;  ///< including failed ones
};

}  // namespace shim::p2p
