// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/peer_addresses.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "shim/sessions/liveness_probe.hpp"
#include "shim/transport/fabric.hpp"
#include "shim/transport/net/address.hpp"

namespace shim::sessions {

PeerAddresses::PeerAddresses(const Spec& spec)
    : spec_(spec), incarnation_(spec.factories.history->started.load(std::memory_order_relaxed)) {
  if (auto table = spec.node.address_table()) book_.use(*std::move(table));
}

PeerAddresses::~PeerAddresses() = default;

transport::FabricResult PeerAddresses::open_fabric() {
  const base::Settings& settings = spec_.settings;
  const base::TracedOperation opening(spec_.factories.phases, base::OperationKind::fabric);
  opening.begin(base::Phase::fabric);
  auto opened = spec_.factories.fabric(settings);
  spec_.log.write_if_wanted(base::LogLevel::info, [&] {
    return "libfabric provider " + settings.provider +
           (opened ? " opened: " + std::string((*opened)->name())
                   : " cannot be opened: " + opened.error().text());
  });
  if (opened) opening.end_all();
  if (opened && settings.matching == "provider" && !(*opened)->may_match())
    spec_.log.write(base::LogLevel::warn,
                    "libfabric provider " + settings.provider +
                        " cannot match messages on this system (INTERSESSION_MATCHING); "
                        "Intersession matches them");
  const transport::Fabric* fabric = opened ? (*opened)->fabric() : nullptr;
  if (fabric != nullptr && !fabric->warning().empty() &&
      spec_.node.location().slot_of(spec_.bootstrap.job().rank) == 0)  // once per node
    spec_.log.write(base::LogLevel::warn, std::string(fabric->warning()));
  return opened;
}

base::Result<transport::Net*> PeerAddresses::network() {
  std::lock_guard guard(mutex_);
  if (network_) return network_.get();
  const base::Settings& settings = spec_.settings;
  transport::NetSettings net{.interface = settings.interface};
  if (!settings.provider.empty()) {
    net.open_fabric = [this] { return open_fabric(); };
    net.max_packet_bytes = spec_.factories.fabric_packet_bytes;
    net.may_match = settings.matching == "provider";
  }
  SHIM_TRY_ASSIGN(network_, transport::make_net(std::move(net)));
  spec_.factories.history->started.store(incarnation_ + 1, std::memory_order_relaxed);
  if (settings.fabric_opens == "creation") network_->open_fabric_early();
  spec_.engine.add_transport(*network_);
  spec_.log.write_if_wanted(base::LogLevel::info,
                            [] { return std::string("accepts connections from other nodes"); });
  return network_.get();
}

base::Status PeerAddresses::publish(const base::TracedOperation& during) {
  auto opened = network();
  std::lock_guard guard(mutex_);
  if (!opened) {
    // so that peers do not wait for an address; fails if an earlier incarnation has done it
    if (!std::exchange(has_published_reason_, true))
      static_cast<void>(spec_.bootstrap.publish(address_key(incarnation_),
                                                reason_without_address(opened.error().text())));
    return std::move(opened).error();
  }
  transport::Net* const network = *opened;
  if (is_published_) return {};
  during.begin(base::Phase::publish);
  // peers look up incarnations one by one, so there must be no gap
  auto& published = spec_.factories.history->published;
  for (std::uint32_t incarnation = published.load(std::memory_order_relaxed);
       incarnation < incarnation_; ++incarnation)
    SHIM_TRY(spec_.bootstrap.publish(address_key(incarnation), no_address()));
  SHIM_TRY(spec_.bootstrap.publish(address_key(incarnation_), network->address()));
  published.store(incarnation_ + 1, std::memory_order_relaxed);
  during.end(base::Phase::publish);
  is_published_ = true;
  return {};
}

/// At most once per OS process, because peers cannot know how often this process re-initializes.
base::Status PeerAddresses::begin_early_fence(const base::TracedOperation& start, bool each_alone) {
  const auto& nodes = spec_.bootstrap.node_map();
  const auto is_first = [&](std::uint32_t rank) {
    return each_alone || nodes.local_rank(rank) == 0;
  };
  if (incarnation_ > 0 || !is_first(spec_.bootstrap.job().rank)) return {};
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
    if (is_first(rank)) firsts.push_back(rank);
  if (firsts.size() < 2) return {};
  if (auto published = publish(start); !published)  // a creation over several nodes will fail
    spec_.log.write(base::LogLevel::info, published.error().text());
  SHIM_TRY_ASSIGN(early_fence_, spec_.bootstrap.fence(firsts));
  return {};
}

void PeerAddresses::publish_end() {
  if (!is_published_ || spec_.bootstrap.has_lost_launcher()) return;
  auto published = spec_.bootstrap.publish(end_key(incarnation_), presence_value());
  if (!published)
    spec_.log.write(base::LogLevel::info,
                    "peers may treat this process as dead: " + published.error().text());
}

void PeerAddresses::finish_opening() {
  transport::Net* network = nullptr;
  {
    std::lock_guard guard(mutex_);
    network = network_.get();
  }
  if (network) network->wait_for_fabric();
}

base::Result<NetworkAddress> PeerAddresses::own_address() {
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  return NetworkAddress{incarnation_, network->address()};
}

void PeerAddresses::record_address(base::ProcessId process, std::uint32_t incarnation,
                                   std::span<const std::byte> address) {
  if (!spec_.node.is_local(process) && book_.record(process, incarnation, address))
    end_former_incarnation(process);
}

base::Status PeerAddresses::record_looked_up(base::ProcessId process,
                                             const PublishedAddress& found) {
  const auto& [incarnation, bytes] = found.address;
  if (found.kind == PublishedAddress::Kind::reason)
    return base::Error(base::ErrorClass::other,
                       "process " + std::to_string(process.rank) +
                           " cannot communicate with other nodes: " + found.reason);
  if (!transport::TcpAddress::from_bytes(bytes))
    return base::Error(base::ErrorClass::other,
                       "the launcher returned an invalid address for process " +
                           std::to_string(process.rank) + " (" + std::to_string(bytes.size()) +
                           " bytes: corrupt, or of another Intersession version)");
  record_published(process, incarnation);
  record_address(process, incarnation, bytes);
  return {};
}

void PeerAddresses::record_published(base::ProcessId process, std::uint32_t incarnation) {
  std::lock_guard guard(mutex_);
  const auto [at, is_new] = others_published_.try_emplace(process, incarnation);
  if (!is_new) at->second = std::max(at->second, incarnation);  // a delayed answer may be old
}

bool PeerAddresses::has_published(base::ProcessId process, std::uint32_t incarnation) const {
  std::lock_guard guard(mutex_);
  const auto at = others_published_.find(process);
  return at != others_published_.end() && at->second == incarnation;
}

void PeerAddresses::record_incarnation(base::ProcessId process, std::uint32_t incarnation) {
  if (!spec_.node.is_local(process) && book_.record_incarnation(process, incarnation))
    end_former_incarnation(process);
}

std::optional<std::uint32_t> PeerAddresses::known_incarnation(base::ProcessId process) {
  const auto incarnation = book_.incarnation_of(process);
  if (incarnation) record_incarnation(process, *incarnation);
  return incarnation;
}

void PeerAddresses::end_former_incarnation(base::ProcessId process) {
  spec_.engine.reset_peer(process, base::Error(base::ErrorClass::proc_aborted,
                                               "process " + std::to_string(process.rank) +
                                                   " has finalized and re-initialized; "
                                                   "communicators created before that can no "
                                                   "longer reach it"));
}

base::Result<p2p::Route> PeerAddresses::route_to(base::ProcessId process) {
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  SHIM_TRY_ASSIGN(NetworkAddress address, book_.find(process));
  return p2p::Route{network, std::move(address.bytes)};
}

transport::Presence PeerAddresses::presence_of(base::ProcessId process) {
  if (process == base::ProcessId{0, spec_.bootstrap.job().rank} || spec_.node.is_local(process) ||
      !known_incarnation(process))
    return transport::Presence::unknown;
  const auto route = route_to(process);
  if (!route) return transport::Presence::unknown;
  const auto presence = spec_.engine.presence_at(*route);
  return presence ? *presence : transport::Presence::unknown;
}

bool PeerAddresses::is_out_of_reach(base::ProcessId process) {
  const auto presence = presence_of(process);
  const auto& nodes = spec_.bootstrap.node_map();
  const bool is_close = spec_.factories.nodes_share_machine ||
                        nodes.node_of(process.rank) == nodes.node_of(spec_.bootstrap.job().rank);
  return presence == transport::Presence::gone ||
         (is_close && presence == transport::Presence::gone_if_local);
}

bool PeerAddresses::has_live_connection(base::ProcessId process) {
  return presence_of(process) == transport::Presence::present;
}

AddressLookup PeerAddresses::look_up(base::ProcessId process, std::optional<std::uint32_t> known) {
  return {spec_.bootstrap, process.rank, own_incarnation(), known,
          known ? nullptr : &lookup_counter_};
}

}  // namespace shim::sessions
