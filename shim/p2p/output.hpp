// SPDX-License-Identifier: BSD-3-Clause
// Output passes packets to links, and queues the packets that a link cannot accept yet.
//
// Packets of a queue leave in order. Data packets are not queued: they carry their offset in the
// message, so packets of later messages may overtake them.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class Output final : public PacketOutput {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    base::ProcessId self;
    Transports& transports;
    RouteRequests& routes;
    OperationEnder& operations;
    PeerFailures& failures;
    Engine::Counts& counts;
  };
  explicit Output(const Collaborators& collaborators) : collaborators_(collaborators) {}

  /// True if packets or long messages wait for space in a link.
  bool has_waiting() const { return !busy_.empty(); }
  /// Send what is queued for a peer as far as there is space; return the number of packets.
  int push(Peer& to);
  int push_all();
  void queue_control(Peer& to, std::vector<std::byte> bytes);
  void push_data(Peer& to) override { push(to); }
  void resume(Peer& to) override { mark_busy(to); }

 private:
  void transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request) override;
  void mark_busy(Peer& to);
  void on_sent(SendRequest& request);
  base::Result<transport::Attempt> send_front(Peer& to);
  base::Result<transport::Attempt> send_control_part(Peer& to);
  base::Result<transport::Attempt> send_next_data(Peer& to);
  base::Result<int> push_some(Peer& to);

  const Collaborators collaborators_;
  std::vector<Peer*> busy_;  ///< peers with a link for which packets or long messages wait
};

}  // namespace shim::p2p
