// SPDX-License-Identifier: BSD-3-Clause
// PeerAddresses connects a process to other nodes: its own address, and the addresses and
// incarnations of other processes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "shim/base/ids.hpp"
#include "shim/base/log.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/address_book.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/factories.hpp"
#include "shim/sessions/network_address.hpp"
#include "shim/sessions/node_memory.hpp"
#include "shim/transport/net/net.hpp"

namespace shim::sessions {

/// Thread-safe. Ignores addresses of local processes, which are reached through the segment.
class PeerAddresses {
 public:
  /// References outlive this object.
  struct Spec {
    const base::Settings& settings;
    const base::Log& log;
    const Factories& factories;
    bootstrap::Bootstrap& bootstrap;
    NodeMemory& node;
    p2p::Engine& engine;  ///< of VCI 0
  };
  explicit PeerAddresses(const Spec& spec);
  ~PeerAddresses();
  PeerAddresses(const PeerAddresses&) = delete;
  PeerAddresses& operator=(const PeerAddresses&) = delete;

  // --- this process
  /// Return the transport to other nodes, opened and accepting from now on. Local. Errors: other
  /// (no network).
  base::Result<transport::Net*> network();
  /// Open network() and publish this process's address at the launcher. `during` reports the phase.
  /// If network() fails, publish the reason, so that peers need not wait. Errors: those of
  /// network() and of the launcher.
  base::Status publish(const base::TracedOperation& during);
  /// Publish the address and begin the fence of FenceScope::first_of_nodes, if this process is
  /// first on its node. each_alone: see CreationContext. Errors: those of publish().
  base::Status begin_early_fence(const base::TracedOperation& start, bool each_alone);
  /// Publish the end of this incarnation, if its address was published. Call before the network
  /// closes: a peer that can no longer connect then finds this key.
  void publish_end();
  /// Wait until no other thread opens the fabric: MPI_Init of other libraries changes the
  /// environment, which that thread reads.
  void finish_opening();
  /// Return the address for processes of other nodes. Errors: those of network().
  base::Result<NetworkAddress> own_address();
  /// Return the incarnation of own_address(), also before the address exists: the number of earlier
  /// incarnations that had an address for other nodes.
  std::uint32_t own_incarnation() const { return incarnation_; }

  // --- other processes
  /// Record the address of a process on another node, received in an exchange. The newest
  /// incarnation wins; operations with an older one fail.
  void record_address(base::ProcessId process, std::uint32_t incarnation,
                      std::span<const std::byte> address);
  /// Record that the process published its address in this incarnation.
  void record_published(base::ProcessId process, std::uint32_t incarnation);
  bool has_published(base::ProcessId process, std::uint32_t incarnation) const;
  /// Record an address that the launcher returned. Errors: other (invalid, or no address).
  base::Status record_looked_up(base::ProcessId process, const PublishedAddress& found);
  /// Record the incarnation of an address that is already in the node's address table
  /// (node/address_table.hpp), which the node's processes share.
  void record_incarnation(base::ProcessId process, std::uint32_t incarnation);
  /// True if the other processes of the node find this address in the node's address table.
  bool node_has_address(base::ProcessId process, std::uint32_t incarnation) const {
    return book_.node_has_address(process, incarnation);
  }
  /// Return the newest incarnation whose address this node knows, and record it as the one in use
  /// (record_incarnation).
  std::optional<std::uint32_t> known_incarnation(base::ProcessId process);
  /// Return the route to a process of another node. Errors: those of network() and
  /// AddressBook::find.
  base::Result<p2p::Route> route_to(base::ProcessId process);
  /// True if a process of another node no longer answers at its known incarnation's address: it
  /// finalized or died.
  bool is_out_of_reach(base::ProcessId process);
  /// True if a connection shows that a process of another node is still in its known incarnation.
  bool has_live_connection(base::ProcessId process);
  /// Return a lookup of a process's address at the launcher; known: the incarnation of an address
  /// that the caller already has.
  AddressLookup look_up(base::ProcessId process, std::optional<std::uint32_t> known = std::nullopt);
  /// Return the number of processes without a known address that were looked up at the launcher.
  std::uint64_t looked_up_count() const { return lookup_counter_.count(); }

 private:
  transport::FabricResult open_fabric();
  void end_former_incarnation(base::ProcessId process);
  transport::Presence presence_of(base::ProcessId process);

  const Spec spec_;
  const std::uint32_t incarnation_;
  AddressBook book_;
  LookupCounter lookup_counter_;
  /// guards creation of network_, is_published_, has_published_reason_, others_published_
  mutable std::mutex mutex_;
  std::unique_ptr<transport::Net> network_;  ///< null until the first message to another node
  bool is_published_ = false;
  bool has_published_reason_ = false;  ///< instead of an address
  /// Last published incarnation of each process.
  std::unordered_map<base::ProcessId, std::uint32_t> others_published_;
  /// Result ignored: the fence only prefetches addresses.
  std::unique_ptr<bootstrap::Pending<bootstrap::Done>> early_fence_;
};

}  // namespace shim::sessions
