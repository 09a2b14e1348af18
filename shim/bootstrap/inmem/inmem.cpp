// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/inmem/inmem.hpp"

#include <algorithm>

#include "shim/bootstrap/inmem/backend.hpp"

namespace shim::bootstrap::inmem {

namespace {
World world_of(std::uint32_t nodes, const std::vector<std::uint32_t>& node_of) {
  std::vector<std::string> hosts;
  for (std::uint32_t node = 0; node < nodes; ++node) hosts.push_back("node" + std::to_string(node));
  World world;
  world.node_map = NodeMap(hosts, node_of);
  return world;
}
}  // namespace

World World::of(std::uint32_t nodes, std::uint32_t per_node) {
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t rank = 0; rank < nodes * per_node; ++rank) node_of.push_back(rank / per_node);
  return world_of(nodes, node_of);
}

World World::dealt(std::uint32_t nodes, std::uint32_t size) {
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t rank = 0; rank < size; ++rank) node_of.push_back(rank % nodes);
  return world_of(nodes, node_of);
}

std::shared_ptr<Launcher> Launcher::start(World world) {
  return std::shared_ptr<Launcher>(new Launcher(std::move(world)));
}

std::unique_ptr<Bootstrap> Launcher::open(std::uint32_t rank) {
  return std::make_unique<Backend>(shared_from_this(), rank);
}

void Launcher::set_faults(std::function<Fault(const LauncherCall&)> chooser) {
  std::lock_guard lock(mutex_);
  chooser_ = std::move(chooser);
}

void Launcher::set_named_sets(std::vector<NamedSet> sets) {
  std::lock_guard lock(mutex_);
  world_.named_sets = std::move(sets);
}

std::vector<Launcher::Abort> Launcher::aborts() const {
  std::lock_guard lock(mutex_);
  return aborts_;
}

Fault Launcher::fault_for(const LauncherCall& operation) const {
  std::lock_guard lock(mutex_);
  return chooser_ ? chooser_(operation) : Fault{};
}

std::uint64_t Launcher::enter_fence(std::uint32_t rank, const std::vector<std::uint32_t>& ranks) {
  std::lock_guard lock(mutex_);
  return ++fences_[ranks][rank];
}

bool Launcher::fence_is_done(const std::vector<std::uint32_t>& ranks, std::uint64_t number) const {
  std::lock_guard lock(mutex_);
  const auto& entered = fences_.at(ranks);
  return std::all_of(ranks.begin(), ranks.end(), [&](std::uint32_t rank) {
    auto found = entered.find(rank);
    return found != entered.end() && found->second >= number;
  });
}

}  // namespace shim::bootstrap::inmem
