// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/eager_limits.hpp"

#include <algorithm>

namespace shim::p2p {

namespace {

/// Return the shortest message length in bytes that is not sent in one packet.
std::uint64_t eager_end_of(const transport::Transport& transport, const base::Settings& settings) {
  const bool leaves_node = transport.reach() == transport::Reach::other_nodes;
  std::uint64_t wanted = leaves_node ? settings.eager_fabric : settings.eager_shm;
  std::uint64_t possible = transport.max_packet_bytes() -
                           std::min(transport.max_packet_bytes(), wire::kMaxHeader);
  return std::min(wanted, possible) + 1;
}

}  // namespace

EagerLimits::EagerLimits(const base::Settings& settings)
    : settings_(settings), may_match_in_provider_(settings.matching == "provider") {}

void EagerLimits::set(Peer& to) const {
  to.eager_end = to.throttles_us ? 0 : eager_end_of(*to.transport, settings_);
  to.may_match_in_provider = may_match_in_provider_ && to.transport->may_match();
  to.fast_end = to.may_match_in_provider ? 0 : to.eager_end;
}

}  // namespace shim::p2p
