// SPDX-License-Identifier: BSD-3-Clause
// Actions that the parts of an engine ask of it (docs/decisions/0058-parts-of-the-engine.md). The
// engine implements these interfaces; a test of one part implements those that the part needs.
//
// All functions are called under the engine's lock.
#pragma once

#include <optional>

#include "shim/base/error.hpp"
#include "shim/p2p/context.hpp"
#include "shim/p2p/peer.hpp"
#include "shim/p2p/requests.hpp"
#include "shim/p2p/wire.hpp"

namespace shim::p2p {

/// Sends packets.
class PacketOutput {
 public:
  /// Send a packet, or queue it; the request, if any, is notified when the packet has left.
  template <typename Header>
  void transmit(Peer& to, const Header& header, SendRequest* request = nullptr) {
    transmit_bytes(to, wire::bytes_of(header), request);
  }

  /// Send the data packets of the peer's long messages for which there is space.
  virtual void push_data(Peer& to) = 0;
  /// Send what is queued for a peer in the next rounds; its link has been opened.
  virtual void resume(Peer& to) = 0;

 protected:
  ~PacketOutput() = default;

 private:
  virtual void transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request) = 0;
};

/// Finds links to peers.
class RouteRequests {
 public:
  /// Find the link to a peer in the next round.
  virtual void request_route(Peer& to) = 0;

 protected:
  ~RouteRequests() = default;
};

/// Ends operations: removes them from all lists, and completes them.
class OperationEnder {
 public:
  virtual void end(SendRequest& request, std::optional<base::Error> error,
                   bool cancelled = false) = 0;
  virtual void end(ReceiveRequest& request, const MessageStatus& outcome,
                   std::optional<base::Error> error) = 0;

 protected:
  ~OperationEnder() = default;
};

/// Delivers packets to this process itself.
class SelfDelivery {
 public:
  /// Send the packets that are queued for this process, and receive those that have arrived; false
  /// if there are none, or receiving fails.
  virtual bool deliver_to_self(Peer& self) = 0;

 protected:
  ~SelfDelivery() = default;
};

/// Polls transports.
class TransportPolling {
 public:
  /// Poll all transports; return the number of packets.
  virtual int poll_all(base::Status& status) = 0;

 protected:
  ~TransportPolling() = default;
};

/// Sends long messages.
class LongSends {
 public:
  /// Return the announcement of a message whose data stays here until the receiver wants it.
  virtual wire::ReadyToSend announce(SendRequest& request) = 0;
  /// Remove an announced send that ends.
  virtual void forget(SendRequest& request) = 0;

 protected:
  ~LongSends() = default;
};

/// Receives long messages.
class LongReceives {
 public:
  /// Receive the message that this announcement has matched.
  virtual void begin(ReceiveRequest& request, const MessageInfo& info, Peer& from) = 0;
  /// Remove a receive that ends from all lists.
  virtual void forget(ReceiveRequest& request) = 0;

 protected:
  ~LongReceives() = default;
};

/// Refuses messages of communicators that have been revoked or freed.
class MessageRefusal {
 public:
  /// Refuse a message that arrives, or is queued.
  virtual void refuse(const MessageInfo& info) = 0;

 protected:
  ~MessageRefusal() = default;
};

/// Posts receives to a transport that matches.
class ProviderPosting {
 public:
  /// True if a message for such a receive may come from the provider. While the link to its source
  /// is unknown it may, and the link is requested.
  virtual bool may_match(Context& context, int source, Plane plane) = 0;
  /// Post a receive; false if it must be posted in our own queues.
  virtual bool start(ReceiveRequest& request) = 0;
  /// Add a receive that has been posted in our queues.
  virtual void add_posted(ReceiveRequest& request) = 0;
  virtual void remove_posted(ReceiveRequest& request) = 0;
  /// Stop the provider from using the buffer of a receive that has been posted to it.
  virtual void detach(ReceiveRequest& request) = 0;
  virtual void cancel(ReceiveRequest& request) = 0;
  /// For a probe that found nothing: true if the message may be in a transport that matches, which
  /// then hands it over.
  virtual bool drain_for_probe(Context& context, int source) = 0;

 protected:
  ~ProviderPosting() = default;
};

/// Receives, as provider matching uses them.
class ProviderReceives {
 public:
  /// Deliver the message that the provider has matched with a receive.
  virtual void deliver(ReceiveRequest& request, const MessageInfo& info, Context& context) = 0;
  /// Start a receive again that the provider has ended without a message.
  virtual base::Status restart(ReceiveRequest& request) = 0;

 protected:
  ~ProviderReceives() = default;
};

/// Gives up processes.
class PeerFailures {
 public:
  /// Handle a link's report that the process is gone: fail all that depends on it.
  virtual void fail_link(Peer& from, const base::Error& why) = 0;
  /// Handle the error with which a link rejected a packet.
  virtual void on_send_error(Peer& to, const base::Error& reason) = 0;

 protected:
  ~PeerFailures() = default;
};

/// The engine, as a check for process deaths uses it.
class LivenessActions : public TransportPolling {
 public:
  /// End operations of other parts that wait for nothing but such a check.
  virtual void complete_overdue() = 0;
  virtual base::Status open_link(Peer& to, Route route) = 0;

 protected:
  ~LivenessActions() = default;
};

/// States whether processes outnumber cores.
class CoreLoad {
 public:
  virtual bool is_oversubscribed() const = 0;

 protected:
  ~CoreLoad() = default;
};

/// Long messages that this process reads.
class ReadQueue {
 public:
  /// Read a message that has waited for the shared copy.
  virtual void read_now(ReceiveRequest& waiting) = 0;

 protected:
  ~ReadQueue() = default;
};

/// Receives long messages that their sender copies, too (shared_copies.hpp).
class CopySharing {
 public:
  enum class State : std::uint8_t { waits, moved, over };
  /// True if copying together is worth it. @param sends_long this process sends long messages, too
  virtual bool is_for_two(const ReceiveRequest& request, bool sends_long) const = 0;
  /// Return false if the two processes share no memory. Otherwise the request may be gone.
  virtual bool begin(ReceiveRequest& request) = 0;
  /// Copy one part, or check whether the sender has finished its parts. The request may be gone if
  /// data has moved.
  virtual State copy(ReceiveRequest& request) = 0;
  /// Cancel the reservation of the shared copy: the message that has it and all that wait for it
  /// are read alone.
  virtual void give_up(Peer& from) = 0;
  /// Release the shared copy of a receive that ends early.
  virtual void stop(ReceiveRequest& request) = 0;

 protected:
  ~CopySharing() = default;
};

/// Ends all collectives of a communicator, at all members.
class CollectiveEnder {
 public:
  virtual void end_collectives(Context& context, const base::Error& reason) = 0;

 protected:
  ~CollectiveEnder() = default;
};

/// Records failed members of communicators.
class FailedRanks {
 public:
  virtual void record_failed_rank(Context& context, int rank) = 0;
  /// Treat the failures as acknowledged; for a communicator that ends.
  virtual void drop_unacknowledged(Context& context) = 0;
  /// End receives whose message can no longer arrive; settle those that may still get one
  /// (Request::has_settled).
  virtual void end_unsatisfiable(Context& context) = 0;

 protected:
  ~FailedRanks() = default;
};

}  // namespace shim::p2p
