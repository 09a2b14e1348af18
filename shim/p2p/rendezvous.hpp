// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous transfers long messages: the receiver reads them, or requests data packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "shim/base/log.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/services.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class Rendezvous final : public ReadQueue, public LongSends, public LongReceives {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    bool single_copy;      ///< read long messages from the sender's memory if possible
    const base::Log* log;  ///< may be null
    IdTable<SendRequest>& send_ids;
    PacketOutput& output;
    RouteRequests& routes;
    OperationEnder& operations;
    PeerFailures& failures;
    CopySharing& sharing;
    const CoreLoad& load;
    Engine::Counts& counts;
  };
  explicit Rendezvous(const Collaborators& collaborators) : collaborators_(collaborators) {}

  // --- at the sender
  wire::ReadyToSend announce(SendRequest& request) override;
  void on_clear_to_send(const wire::ClearToSend& header);
  void forget(SendRequest& request) override;

  // --- at the receiver
  void begin(ReceiveRequest& request, const MessageInfo& info, Peer& from) override;
  bool has_reads() const { return !reads_.empty(); }
  /// Return the number of messages that have made progress.
  int read_some();
  void read_now(ReceiveRequest& waiting) override;
  void on_data(const wire::Data& header, transport::ConstSpan payload);
  // See transport::Sink.
  std::optional<transport::Placement> place(transport::ConstSpan beginning, std::size_t bytes);
  void on_placed(transport::ConstSpan header, std::size_t payload_bytes);
  void forget(ReceiveRequest& request) override;

 private:
  bool sends_long() const { return long_sends_ != 0; }
  bool may_be_streamed(const SendRequest& request) const;
  bool is_streamed(const ReceiveRequest& request) const;
  transport::RemoteMemory offer(SendRequest& request);
  bool may_read(const ReceiveRequest& request) const;
  bool may_read_on(const ReceiveRequest& request) const;
  bool read_chunk(ReceiveRequest& request);
  base::Result<transport::Attempt> read_on(ReceiveRequest& request);
  bool read_offered(ReceiveRequest& request);
  bool end_if_read(ReceiveRequest& request);
  bool give_up_reading(ReceiveRequest& request, const base::Error* why);
  void request_data(ReceiveRequest& request);
  ReceiveRequest* receiver_of(const wire::Data& header, std::size_t payload_bytes);
  void record_received_bytes(ReceiveRequest& request, std::size_t bytes);
  void end_long(ReceiveRequest& request);

  const Collaborators collaborators_;

  IdTable<ReceiveRequest> receive_ids_;
  RequestList<ReceiveRequest, Streaming> reads_;
  std::size_t long_sends_ = 0;  ///< announced and not ended
};

}  // namespace shim::p2p
