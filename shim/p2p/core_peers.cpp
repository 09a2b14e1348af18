// SPDX-License-Identifier: BSD-3-Clause
// Implements peers: finds or creates them, and opens links to them.
#include <algorithm>
#include <string>

#include "shim/p2p/core.hpp"

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

base::Status Core::route(Peer& to, Guard& guard) {
  guard.unlock();
  auto route = spec.router->route_to(to.process);
  guard.lock();
  if (!route) return std::move(route).error();
  // while the lock was released, the peer may have failed, or another thread may have opened a link
  if (to.failure) return to.failure->clone();
  if (to.link != nullptr) return {};
  return open_link(to, *std::move(route));
}

base::Status Core::open_link(Peer& to, Route route) {
  add_transport(*route.transport);
  SHIM_TRY_ASSIGN(transport::Link * link, route.transport->open(route.address));
  to.transport = route.transport;
  to.link = link;
  if (spec.log != nullptr)
    spec.log->write_if_wanted(base::LogLevel::debug, [&] {
      return "opened a link to process " + std::to_string(to.process.rank) + " over " +
             std::string(route.transport->name());
    });
  set_eager_end(to);
  ++counts.peers_contacted;
  mark_busy(to);
  return {};
}

void Core::set_eager_end(Peer& to) {
  to.eager_end = to.throttles_us ? 0 : eager_end_of(*to.transport, spec.settings);
  to.may_match_in_provider = may_match_in_provider_ && to.transport->may_match();
  to.fast_end = to.may_match_in_provider ? 0 : to.eager_end;
}

base::Result<Peer*> Core::usable_peer(Context& context, int rank, Guard& guard) {
  Peer& found = peer(context, rank);
  if (found.failure) return found.failure->clone();
  if (found.link == nullptr) SHIM_TRY(route(found, guard));
  return &found;
}

void Core::route_waiting(Guard& guard) {
  std::vector<Peer*> waiting = std::move(unrouted_);
  unrouted_.clear();
  for (Peer* to : waiting) {
    to->needs_route = false;
    if (to->failure) continue;
    base::Status routed = route(*to, guard);
    if (!routed) {
      // Not a warning if only notices are lost: a peer without the notice detects that this process
      // has left.
      const base::LogLevel level = has_only_notices(*to) ? base::LogLevel::info
                                                         : base::LogLevel::warn;
      log(level, "cannot respond to process " + std::to_string(to->process.rank) + ": " +
                     routed.error().text());
      liveness.on_send_error(*to, routed.error());
    }
  }
}

void Core::complete_overdue() {
  cancelling.complete_abandoned();
  collective_failures.recheck_pending_notices();
}

/// Process the packets of members: after a failure notice, the data read from them may be invalid.
void Core::confirm_reads(Context& context) {
  context.has_unconfirmed_reads.store(false, std::memory_order_relaxed);
  base::Status status;
  poll_all(true, status);  // an error is left to the next round
}

}  // namespace shim::p2p
