// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/vci.hpp"

#include <utility>

#include "shim/transport/self/self.hpp"

namespace shim::sessions {

base::Result<std::unique_ptr<Vci>> Vci::make(Parts parts) {
  std::unique_ptr<Vci> vci(new Vci(parts));
  if (vci->area_) {
    SHIM_TRY_ASSIGN(vci->shm_, transport::make_shm(*vci->area_, parts.shm));
    parts.engine.transports.push_back(vci->shm_.get());
  }
  vci->self_ = transport::make_self();
  parts.engine.transports.push_back(vci->self_.get());
  parts.engine.router = vci.get();
  vci->engine_ = std::make_unique<p2p::Engine>(std::move(parts.engine));
  return vci;
}

/// Return a route: local processes have equal addresses in all VCIs.
base::Result<p2p::Route> Vci::route_to(base::ProcessId process) {
  if (process == own_) return p2p::Route{self_.get(), self_->address()};
  SHIM_TRY_ASSIGN(p2p::Route route, of_process_.route_to(process));
  route.transport = shm_.get();
  return route;
}

}  // namespace shim::sessions
