// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/transports.hpp"

namespace shim::p2p {

const transport::OptionalInterfaces& Transports::add(transport::Transport& transport) {
  const auto known = std::ranges::find(polled_, &transport, &Polled::transport);
  if (known != polled_.end()) return interfaces_[static_cast<std::size_t>(known - polled_.begin())];
  const transport::OptionalInterfaces& added = interfaces_.emplace_back(transport);
  polled_.push_back({&transport});
  return added;
}

transport::Matcher* Transports::matcher() const {
  for (const Polled& polled : polled_) {
    if (transport::Matcher* found = polled.transport->matcher()) return found;
  }
  return nullptr;
}

void Transports::probe_losses() const {
  for (const transport::OptionalInterfaces& interfaces : interfaces_)
    if (interfaces.loss_detector != nullptr) interfaces.loss_detector->probe_losses();
}

bool Transports::any_lost_packets() const {
  return std::ranges::any_of(interfaces_, [](const transport::OptionalInterfaces& interfaces) {
    return interfaces.loss_detector != nullptr && interfaces.loss_detector->any_lost_packets();
  });
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
