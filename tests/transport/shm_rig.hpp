// SPDX-License-Identifier: BSD-3-Clause
// ShmProcess is the shared-memory transport of one process, for tests.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/transport/send_in_place.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/node/anonymous_area.hpp"

namespace shim::transport::testing {

using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

inline std::shared_ptr<AnonymousSegment> make_segment(std::uint32_t slots,
                                                      const ShmSettings& settings = {},
                                                      std::size_t cell_pool_bytes = 0) {
  return std::make_shared<AnonymousSegment>(slots, shm_slot_bytes(slots), shm_pair_bytes(settings),
                                            0, cell_pool_bytes);
}

/// The transport of one process.
struct ShmProcess {
  ShmProcess(std::shared_ptr<AnonymousSegment> segment, std::uint32_t slot,
             const ShmSettings& used = {})
      : settings(used), area(std::move(segment), slot), transport(*make_shm(area, settings)) {}
  Link& link_to(std::uint32_t slot) { return **transport->open(shm_address(slot, settings)); }
  /// Send a packet; wait for free space and for the peer.
  void send(Link& link, ConstSpan packet, const base::Deadline& deadline) {
    while (*transport->try_send(link, packet.first(8), packet.subspan(8)) != Attempt::done)
      wait_for_space(deadline);
  }
  /// As send(), but produce the payload in place if the transport supports it.
  void send_in_place(Link& link, ConstSpan packet, const base::Deadline& deadline) {
    const ConstSpan header = packet.first(8), payload = packet.subspan(8);
    std::span<std::byte> place;
    Attempt attempt;
    while ((attempt = *transport->send_in_place()->try_reserve(link, header, payload.size(),
                                                               place)) == Attempt::again)
      wait_for_space(deadline);
    if (attempt == Attempt::unsupported) return send(link, packet, deadline);
    std::ranges::copy(payload, place.begin());
    transport->send_in_place()->publish(link);
  }
  static void wait_for_space(const base::Deadline& deadline) {
    sched_yield();
    if (deadline.passed()) std::_Exit(9);
  }
  ShmSettings settings;
  AnonymousArea area;
  std::unique_ptr<Transport> transport;
};

}  // namespace shim::transport::testing
