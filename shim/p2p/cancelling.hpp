// SPDX-License-Identifier: BSD-3-Clause
// Cancelling implements MPI_Cancel of sends (MPI-4.1 §3.8.4).
//
// The receiver drops the message if no receive has matched it. A send that was complete because its
// data had left is incomplete again until the receiver has answered.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/p2p/context_table.hpp"
#include "shim/p2p/peers.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"
#include "shim/p2p/unexpected_messages.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class Cancelling {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    base::ProcessId self;
    Router* router;
    bool may_match_in_provider;
    Transports& transports;
    ContextTable& contexts;
    Peers& peers;
    IdTable<SendRequest>& send_ids;
    UnexpectedMessages& unexpected;
    PacketOutput& output;
    OperationEnder& operations;
    SelfDelivery& delivery;
  };
  explicit Cancelling(const Collaborators& collaborators) : collaborators_(collaborators) {}

  // --- at the sender
  void cancel(SendRequest& request);
  void on_cancelled_reply(const wire::Cancelled& header);
  /// Complete cancel requests whose receiver receives no packets any more; the messages stay sent.
  void complete_abandoned();

  // --- at the receiver
  void on_cancel(const wire::Cancel& header);
  /// True if cancel requests wait until the provider has returned its messages.
  bool has_deferred() const { return !deferred_.empty(); }
  /// Answer the deferred requests whose drain is complete.
  void reply_to_deferred();

 private:
  /// A cancel request, and the drain that returns the message if the provider has it.
  struct Deferred {
    wire::Cancel wanted;
    std::uint64_t drain;
  };
  void complete_cancel_to_self(SendRequest& request);
  StoredMessage* take_unmatched(base::ContextId id, const wire::Cancel& wanted);
  void reply(const wire::Cancel& wanted);
  bool defer(const wire::Cancel& wanted);

  const Collaborators collaborators_;
  std::vector<Deferred> deferred_;
};

}  // namespace shim::p2p
