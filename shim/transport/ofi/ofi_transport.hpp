// SPDX-License-Identifier: BSD-3-Clause
// Ofi is the Transport over one libfabric endpoint.
//
// ofi_transport_send.cpp and ofi_transport_receive.cpp move frames; ofi_transport_read.cpp reads
// remote memory; ofi_transport_acks.cpp tracks arrival; ofi.cpp is the rest.
#pragma once

#include <rdma/fi_eq.h>

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/base/descriptor.hpp"
#include "shim/transport/fabric.hpp"
#include "shim/transport/failure_detector.hpp"
#include "shim/transport/fork_mark.hpp"
#include "shim/transport/loss_detector.hpp"
#include "shim/transport/ofi/buffers.hpp"
#include "shim/transport/ofi/endpoint.hpp"
#include "shim/transport/ofi/link.hpp"
#include "shim/transport/ofi/matcher.hpp"
#include "shim/transport/ofi/region_marker.hpp"
#include "shim/transport/registered_reads.hpp"

namespace shim::transport {

/// A packet or cancellation that arrived outside poll, kept for the next poll.
struct HeldPacket {
  Bytes packet;
  MatchedReceive* receive = nullptr;  ///< that matched; null: none
  bool is_cancelled = false;          ///< the receive was cancelled; no packet
};

/// Sends packets through one endpoint of libfabric.
///
/// Size: the interface of a transport, and one group of functions for each source: sending,
/// receiving, reading, acknowledging. Each group posts operations to the endpoint and handles their
/// completions, which arrive in one queue and may be handled inside a call of another group.
class Ofi final : public Transport,
                  private RegisteredReads,
                  private FailureDetector,
                  private LossDetector,
                  private Fabric {
 public:
  Ofi(OfiLibrary library, Endpoint endpoint, std::uint64_t cookie,
      base::Nanoseconds probe_interval);
  ~Ofi() override;

  std::string_view name() const override { return "ofi"; }
  Reach reach() const override { return Reach::other_nodes; }
  std::size_t max_packet_bytes() const override { return ofi_packet_bytes(); }
  Bytes address() const override;
  base::Result<Link*> open(ConstSpan address) override;
  [[gnu::hot]] base::Result<Attempt> try_send(Link& link, ConstSpan header,
                                              ConstSpan payload) override;
  [[gnu::hot]] base::Result<int> poll(Sink& sink) override;
  bool is_flushed() const override;
  const Counts& counts() const override { return counts_; }
  RegisteredReads* registered_reads() override { return this; }
  FailureDetector* failure_detector() override { return this; }
  LossDetector* loss_detector() override { return this; }
  Fabric* fabric() override { return this; }
  Matcher* matcher() override { return matcher_.get(); }
  bool may_match() const override { return matcher_ != nullptr; }

  /// Register the buffers with the provider, and post receives.
  base::Status begin();
  /// Keep the marker of the endpoint's shared memory as long as the endpoint.
  void set_marker(RegionMarker marker) { marker_ = std::move(marker); }
  /// Keep the numbers of closed standard streams occupied while the provider may open sockets,
  /// which any send or poll may do.
  void set_streams(std::unique_ptr<base::StandardStreamsHeld> streams) {
    streams_ = std::move(streams);
  }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  friend class OfiOffered;
  friend class OfiRead;
  friend class OfiMatcher;

  // --- RegisteredReads
  std::unique_ptr<MemoryRegistration> offer(Link& link, ConstSpan memory) override;
  std::unique_ptr<Read> begin_read(Link& link, const RemoteMemory& from,
                                   std::span<std::byte> into) override;
  // --- FailureDetector
  bool is_gone(const Link& link) const override;
  std::string_view gone_reason(const Link& link) const override;
  ShutdownNotice shutdown_notice(const Link& link) const override;
  // --- LossDetector
  bool has_lost_packets(const Link& link) const override;
  bool any_lost_packets() const override { return has_losses_; }
  void probe_losses() override { checks_losses_ = true; }
  // --- Fabric
  void expect(Link& link) override;
  std::string_view warning() const override { return warning_; }

  // --- ofi.cpp
  [[gnu::hot]] base::Status check() const;
  /// Check whether the endpoint has failed, which may happen in each call of a sink: the owner may
  /// end a read there (wait_for_read).
  base::Status check_endpoint() const {
    if (fatal_error_) [[unlikely]]
      return fatal_error_->clone();
    return {};
  }
  [[gnu::hot]] OfiLink& link_of(std::uint64_t cookie);
  base::Error failure(int code) const;
  void fail(OfiLink& link, base::Error why);
  void reset_link(OfiLink& link, base::Error why);

  // --- ofi_transport_send.cpp
  base::Result<Attempt> send_address(OfiLink& link);
  base::Result<Attempt> insert(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> prepare_send(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> prepare_link(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> try_send_as(FrameKind kind, std::uint64_t bits, OfiLink& link,
                                                 ConstSpan header, ConstSpan payload);
  [[gnu::hot]] base::Result<Attempt> send_frame(OfiLink& link, FrameKind kind, ConstSpan header,
                                                ConstSpan payload, std::uint64_t bits = 0);
  [[gnu::hot]] base::Result<Attempt> inject(OfiLink& link, const MatchCriteria& match,
                                            std::size_t bytes);
  base::Result<Attempt> send_copy(OfiLink& link, const MatchCriteria& match, FrameKind kind,
                                  ConstSpan header, ConstSpan payload);
  base::Result<Attempt> send_fragments(OfiLink& link, ConstSpan header, ConstSpan payload);
  [[gnu::hot]] std::size_t write_frame(std::byte* into, OfiLink& link, FrameKind kind,
                                       ConstSpan header, ConstSpan payload) const;
  bool has_space(const OfiLink& link, std::size_t sends) const;
  PendingOperation* acquire_send(OfiLink& link);
  void release(PendingOperation* send);
  base::Result<Attempt> post(OfiLink& link, PendingOperation& send);
  [[gnu::hot]] base::Result<Attempt> result_of_post(OfiLink& link, ssize_t code);
  base::Result<Attempt> send_unsent(OfiLink& link);
  void send_all_unsent();

  // --- ofi_transport_receive.cpp
  [[gnu::hot]] base::Status post_receives();
  bool is_time_to_post() const { return receives_.available() >= least_posted_; }
  [[gnu::hot]] std::optional<Frame> frame_of(ConstSpan message);
  [[gnu::hot]] void handle_message(ConstSpan message, Sink& sink);
  [[gnu::hot]] void handle_frame(const Frame& frame, ConstSpan rest, Sink& sink);
  [[gnu::hot]] void handle_packet(OfiLink& link, ConstSpan rest, bool is_last, Sink& sink);
  ConstSpan matched_packet(ConstSpan message, OfiLink*& link);
  [[gnu::hot]] void deliver_held(Sink& sink);
  [[gnu::hot]] OfiLink* sender_of(const Frame& frame, ConstSpan rest);
  [[gnu::hot]] void complete(const fi_cq_msg_entry& entry, fi_addr_t sender, Sink& sink);
  base::Status handle_error(Sink& sink);
  [[gnu::hot]] base::Result<bool> refill(Sink& sink);
  [[gnu::hot]] base::Result<bool> read_completions(int most, Sink& sink);

  // --- ofi_transport_read.cpp
  void complete_read(PendingOperation& operation, int code);
  void wait_for_read(OfiRead& read);

  // --- ofi_transport_acks.cpp
  base::Result<Attempt> send_ack_count(OfiLink& link, FrameKind kind);
  base::Result<Attempt> request_ack(OfiLink& link);
  void request_acks();
  void probe_for_losses();
  void check_for_gaps();
  void on_ack_request(OfiLink& link, ConstSpan bytes);
  bool queue_ack(OfiLink& link);
  bool try_request_ack(OfiLink& link);
  void send_queued_acks();
  bool has_missing_packets(OfiLink& link) const;
  bool try_send_ack(OfiLink& link);
  void on_ack(OfiLink& link, ConstSpan bytes);
  void on_reset(OfiLink& link, FrameKind kind);
  void on_missing_frames(OfiLink& link, FrameKind before);
  void record_missing_packets(OfiLink& link);
  void record_loss(OfiLink& link, const char* direction);
  void on_fin(OfiLink& link, ConstSpan bytes);
  void shut_down_links();

  std::unique_ptr<base::StandardStreamsHeld> streams_;
  RegionMarker marker_;
  OfiLibrary library_;
  Endpoint endpoint_;
  const Traits traits_;
  const std::string warning_;
  std::uint64_t cookie_;
  const base::Nanoseconds probe_interval_;
  Buffers sends_;
  std::unique_ptr<std::byte[]> injected_;  ///< one frame, during its injection
  Buffers receives_;
  const std::size_t least_posted_;  ///< receives posted at a time
  Buffers reads_;
  std::unordered_map<std::uint64_t, std::unique_ptr<OfiLink>> links_;  ///< by the peer's cookie
  std::size_t unsent_ = 0;                                             ///< in all links
  bool has_losses_ = false;
  base::Nanoseconds last_gap_check_ = 0;
  std::vector<OfiLink*> ack_queue_;  ///< peers that requested an ack
  struct {
    fi_cq_msg_entry entries[16];
    fi_addr_t senders[16];  ///< of messages, if receives name them
    int next = 0, end = 0;
  } batch_;  ///< completions read and not yet handled; a member, for nested wait_for_read calls
  std::deque<HeldPacket> held_;
  std::unique_ptr<OfiMatcher> matcher_;
  std::optional<base::Error> fatal_error_;  ///< why the endpoint is unusable
  mutable bool is_flushing_ = false;        ///< is_flushed was called and returned false
  bool checks_losses_ = false;              ///< a caller has waited for long
  ForkMark fork_mark_;
  Counts counts_;
};

/// True if the operation that returned this code may succeed later: queues are full, or memory is
/// short.
bool is_transient(ssize_t code);

}  // namespace shim::transport
