// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/transports.hpp"

namespace shim::p2p {

void Transports::add(transport::Transport& transport) {
  const bool is_known = std::ranges::any_of(
      polled_, [&](const Polled& known) { return known.transport == &transport; });
  if (!is_known) polled_.push_back({&transport});
}

transport::Matcher* Transports::matcher() const {
  for (const Polled& polled : polled_) {
    if (transport::Matcher* found = polled.transport->matcher()) return found;
  }
  return nullptr;
}

void Transports::probe_losses() const {
  for (const Polled& polled : polled_) polled.transport->probe_losses();
}

bool Transports::any_lost_packets() const {
  return std::ranges::any_of(
      polled_, [](const Polled& polled) { return polled.transport->any_lost_packets(); });
}

bool Transports::are_flushed() const {
  return std::ranges::all_of(polled_,
                             [](const Polled& polled) { return polled.transport->is_flushed(); });
}

std::vector<Engine::TransportCounts> Transports::counts() const {
  std::vector<Engine::TransportCounts> all;
  for (const Polled& polled : polled_)
    all.push_back({polled.transport->name(), polled.transport->counts()});
  return all;
}

}  // namespace shim::p2p
