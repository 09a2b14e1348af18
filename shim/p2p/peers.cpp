// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/peers.hpp"

#include <algorithm>
#include <utility>

namespace shim::p2p {

Peer& Peers::at(base::ProcessId process) {
  std::unique_ptr<Peer>& found = by_process_[process];
  if (found == nullptr) found = std::make_unique<Peer>(process);
  return *found;
}

Peer& Peers::at(Context& context, int rank) {
  Peer*& found = context.peers.at(rank);
  if (found == nullptr) {
    Peer& member = at(context.spec.members->at(rank));
    // Not cached in a revoked context: the fast paths find peers in this table only, and must not
    // send there.
    if (context.is_revoked) return member;
    found = &member;
  }
  return *found;
}

void Peers::retire(Peer& failed) {
  const auto found = by_process_.find(failed.process);
  if (found == by_process_.end() || found->second.get() != &failed) return;
  retired_.push_back(std::move(found->second));
  by_process_.erase(found);
}

const base::Error* Peers::last_failure(base::ProcessId process) const {
  const auto last = std::find_if(retired_.rbegin(), retired_.rend(),
                                 [&](const auto& peer) { return peer->process == process; });
  return last == retired_.rend() ? nullptr : &*(*last)->failure;
}

}  // namespace shim::p2p
