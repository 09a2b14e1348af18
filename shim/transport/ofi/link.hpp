// SPDX-License-Identifier: BSD-3-Clause
// OfiLink is a peer over libfabric, with its protocol state.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/transport/ofi/buffers.hpp"
#include "shim/transport/ofi/frame_order.hpp"
#include "shim/transport/ofi/wire.hpp"

namespace shim::transport {

/// How long the provider has refused operations of a kind. Counts refusals as well: by the clock
/// alone a process that computed meanwhile would seem to have retried.
struct Refusals {
  /// Record a refusal; true if there have been many for this long.
  bool add(base::Nanoseconds long_enough) {
    constexpr int kMany = 1000;
    const base::Nanoseconds now = base::now_ns();
    if (now - last > long_enough / 10) *this = {.since = now};
    last = now;
    return ++count > kMany && now - since > long_enough;
  }

  int count = 0;
  base::Nanoseconds since = 0, last = 0;
};

/// A peer, identified by its cookie; in the address vector from the first send on.
///
/// Size: a record that sending, receiving and acknowledging share, so it has more data members than
/// a class that owns its state.
struct OfiLink final : Link {
  explicit OfiLink(OfiAddress peer) : to(std::move(peer)) {}
  OfiAddress to;  ///< only the cookie, until its address frame arrives
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::optional<base::Error> failure;  ///< why nothing can be sent any more
  bool is_gone = false;                ///< waits for this peer must fail
  /// Packets in either direction were lost though both processes live, as a frame of the peer
  /// reports.
  bool has_lost_packets = false;
  bool reset_sent = false;            ///< the provider has accepted the reset frame
  bool is_missing_frames = false;     ///< the loss: frames of the peer that will never arrive
  bool address_sent = false;          ///< the peer has this process's address
  std::uint32_t frames_sent = 0;      ///< without frames that the peer's provider matches
  std::uint32_t frames_received = 0;  ///< from the peer, in the order of their numbers
  std::size_t in_flight = 0;          ///< incomplete or unsent sends to the peer
  /// Fragments of an accepted packet that the provider has not accepted yet.
  std::deque<PendingOperation*> unsent;
  Bytes fragments;                     ///< received part of a packet from the peer
  FrameOrder order;                    ///< of the peer's frames, if the provider keeps none
  std::uint32_t gap_at = 0;            ///< number of the missing frame …
  base::Nanoseconds gap_since = 0;     ///< … and since when; 0: none
  std::uint64_t packets_received = 0;  ///< from the peer
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_acked = 0;       ///< seen by the peer
  std::uint64_t packets_at_request = 0;  ///< number sent at the last ack request
  base::Nanoseconds requested_at = 0;
  /// Period of probes by a waiting process, and of repeated resets; 0: no need seen yet.
  base::Nanoseconds probe_interval = 0;
  /// Bytes of provider-matched messages that the peer may not have received.
  std::size_t unacked_bytes = 0;
  std::size_t unacked_bytes_at_request = 0;  ///< of these, covered by the last ack request
  std::uint64_t peer_packets_sent = 0;       ///< by the peer, at its last ack request …
  std::uint64_t packets_at_stall = 0;        ///< … of which only these had arrived …
  base::Nanoseconds stalled_since = 0;       ///< … since then; 0: all arrived
  Refusals request_refusals, ack_refusals;   ///< by the provider
  bool wants_ack = false;                    ///< this process owes the peer an ack or a reset
  std::uint64_t drain_before_ack = 0;        ///< drains to be completed before the ack is sent
  /// Number of drains after which the provider distinguishes the peer's messages from others'.
  std::optional<std::uint64_t> recognised_at_drain;
  bool got_fin = false;    ///< the peer has sent fin
  bool fin_sent = false;   ///< to the peer
  bool fin_acked = false;  ///< the peer has received fin, or will

  /// True if no packet is in flight, or it will never arrive.
  bool is_acked() const { return packets_sent == packets_acked || failure; }
  /// True if the peer would wait for this process, or this process for the peer.
  bool needs_fin() const {
    return (packets_sent > 0 || packets_received > 0) && !failure && !fin_acked;
  }
};

}  // namespace shim::transport
