// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/lane.hpp"

#include <utility>

#include "shim/transport/self/self.hpp"

namespace shim::sessions {

base::Result<std::unique_ptr<Lane>> Lane::make(Parts parts) {
  std::unique_ptr<Lane> lane(new Lane(parts));
  if (lane->area_) {
    SHIM_TRY_ASSIGN(lane->shm_, transport::make_shm(*lane->area_, parts.shm));
    parts.engine.transports.push_back(lane->shm_.get());
  }
  lane->self_ = transport::make_self();
  parts.engine.transports.push_back(lane->self_.get());
  parts.engine.router = lane.get();
  lane->engine_ = std::make_unique<p2p::Engine>(std::move(parts.engine));
  return lane;
}

/// A process of the node has the same address in all lanes.
base::Result<p2p::Route> Lane::route_to(base::ProcessId process) {
  if (process == own_) return p2p::Route{self_.get(), self_->address()};
  SHIM_TRY_ASSIGN(p2p::Route route, of_process_.route_to(process));
  route.transport = shm_.get();
  return route;
}

}  // namespace shim::sessions
