// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/links.hpp"

#include <string>
#include <utility>

namespace shim::p2p {

base::Status Links::open(Peer& to, Guard& guard) {
  guard.unlock();
  auto route = collaborators_.router->route_to(to.process);
  guard.lock();
  if (!route) return std::move(route).error();
  // while the lock was released, the peer may have failed, or another thread may have opened a link
  if (to.failure) return to.failure->clone();
  if (to.link != nullptr) return {};
  return open(to, *route);
}

base::Status Links::open(Peer& to, const Route& route) {
  const transport::OptionalInterfaces& interfaces = collaborators_.transports.add(*route.transport);
  SHIM_TRY_ASSIGN(transport::Link * link, route.transport->open(route.address));
  to.set_link(*route.transport, interfaces, *link);
  if (collaborators_.log != nullptr)
    collaborators_.log->write_if_wanted(base::LogLevel::debug, [&] {
      return "opened a link to process " + std::to_string(to.process.rank) + " over " +
             std::string(route.transport->name());
    });
  collaborators_.limits.set(to);
  ++collaborators_.counts.peers_contacted;
  collaborators_.output.resume(to);
  return {};
}

base::Result<Peer*> Links::usable_peer(Context& context, int rank, Guard& guard) {
  Peer& found = collaborators_.peers.at(context, rank);
  if (found.failure) return found.failure->clone();
  if (found.link == nullptr) SHIM_TRY(open(found, guard));
  return &found;
}

void Links::request_route(Peer& to) {
  if (!to.needs_route) requested_.push_back(&to);
  to.needs_route = true;
}

void Links::open_requested(Guard& guard) {
  std::vector<Peer*> waiting = std::move(requested_);
  requested_.clear();
  for (Peer* to : waiting) {
    to->needs_route = false;
    if (to->failure) continue;
    const base::Status opened = open(*to, guard);
    if (opened) continue;
    // Not a warning if only notices are lost: a peer without the notice detects that this process
    // has left.
    const base::LogLevel level = to->has_only_notices() ? base::LogLevel::info
                                                        : base::LogLevel::warn;
    if (collaborators_.log != nullptr && collaborators_.log->wants(level))
      collaborators_.log->write(level, "cannot respond to process " +
                                           std::to_string(to->process.rank) + ": " +
                                           opened.error().text());
    collaborators_.failures.on_send_error(*to, opened.error());
  }
}

}  // namespace shim::p2p
