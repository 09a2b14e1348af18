// SPDX-License-Identifier: BSD-3-Clause
// Links finds the routes to peers, and opens links to them.
#pragma once

#include <vector>

#include "shim/base/log.hpp"
#include "shim/p2p/eager_limits.hpp"
#include "shim/p2p/peers.hpp"
#include "shim/p2p/progress_work.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock, in `guard` if there is one; it is released while the router
/// runs.
class Links final : public RouteRequests {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    Router* router;
    const base::Log* log;  ///< may be null
    const EagerLimits& limits;
    Transports& transports;
    Peers& peers;
    PacketOutput& output;
    PeerFailures& failures;
    Engine::Counts& counts;
  };
  explicit Links(const Collaborators& collaborators) : collaborators_(collaborators) {}

  /// Open the link to a peer that has none. Errors: the router's, the transport's.
  base::Status open(Peer& to, Guard& guard);
  base::Status open(Peer& to, const Route& route);
  /// Return a peer that can be sent to now, or the error.
  base::Result<Peer*> usable_peer(Context& context, int rank, Guard& guard);
  void request_route(Peer& to) override;
  bool has_requests() const { return !requested_.empty(); }
  /// Open the links that were requested.
  void open_requested(Guard& guard);

 private:
  const Collaborators collaborators_;
  std::vector<Peer*> requested_;  ///< peers whose route a round must find
};

}  // namespace shim::p2p
