// SPDX-License-Identifier: BSD-3-Clause
// A peer over libfabric, and what is known of it.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/transport/ofi/buffers.hpp"
#include "shim/transport/ofi/in_order.hpp"
#include "shim/transport/ofi/wire.hpp"

namespace shim::transport {

/// How long the provider has taken nothing of a kind. By the clock alone a process that has computed meanwhile would seem to have tried.
struct Refusals {
  /// One more; answers whether there have been many for so long.
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

/// A peer. Known by its cookie; in the address table from the first send on.
struct OfiLink final : Link {
  explicit OfiLink(OfiAddress peer) : to(std::move(peer)) {}
  OfiAddress to;  ///< only its cookie, where frames have overtaken the one that says it
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::optional<base::Error> failure;  ///< why nothing can be sent any more
  bool is_gone = false;        ///< who waits for it shall not wait any longer
  bool has_lost = false;       ///< packets of the one or the other have been lost, though both live: what says so has come from it
  bool is_told = false;        ///< the provider has taken what tells it that
  bool misses_frames = false;  ///< it was the peer's that have not come, and they never will
  bool is_introduced = false;  ///< the peer has our address
  std::uint32_t frames_sent = 0;   ///< without those that its provider matches
  std::uint32_t frames_taken = 0;  ///< of the peer's, in the order of their numbers
  std::size_t under_way = 0;      ///< sends to it that are not complete, or have not begun
  std::deque<Operation*> unsent;  ///< parts of a packet that was taken, which the provider has not taken yet
  Bytes parts;                    ///< of a packet of the peer's, of which not all has come
  InOrder order;                  ///< of the peer's frames, where the provider keeps none
  std::uint32_t gap_at = 0;         ///< the frame that others wait for, there, …
  base::Nanoseconds gap_since = 0;  ///< … and since when; 0: none
  std::uint64_t packets_seen = 0;  ///< of the peer's
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_confirmed = 0;  ///< the peer has seen these
  std::uint64_t packets_asked = 0;      ///< and has been asked about these
  base::Nanoseconds asked_at = 0;
  base::Nanoseconds patience = 0;       ///< who waits asks again, or tells again, after so long; 0: nobody has seen that there is anything
  std::size_t in_doubt = 0;        ///< bytes of messages for its provider to match which it may not have seen
  std::size_t in_doubt_asked = 0;  ///< about which it has been asked
  std::uint64_t packets_announced = 0;      ///< of the peer's, when it asked about them …
  std::uint64_t packets_missing_since = 0;  ///< … of which only so many had come …
  base::Nanoseconds missed_since = 0;       ///< … then; 0: all
  Refusals asks, answers;  ///< that have found no room
  bool is_asking = false;     ///< for a receipt it has not got, or is to hear that packets are lost
  std::uint64_t asked_sweep = 0;  ///< which gathers what had come when it asked
  std::optional<std::uint64_t> recognised;  ///< the provider tells its messages from others' since it had swept so often
  bool has_left = false;      ///< it has said bye
  bool has_said_bye = false;  ///< we have, to it
  bool bye_is_heard = false;  ///< and it has heard it, or will

  /// Nothing is on its way any more, or never will arrive.
  bool is_settled() const { return packets_sent == packets_confirmed || failure; }
  /// Would the peer wait for us, or we for it?
  bool needs_goodbye() const { return (packets_sent > 0 || packets_seen > 0) && !failure && !bye_is_heard; }
};

}  // namespace shim::transport
