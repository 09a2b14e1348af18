// SPDX-License-Identifier: BSD-3-Clause
// Process is the object that holds all state of a process with a session. The modules that it uses
// have no global state, so one program can hold several Process objects, as tests do.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/node_hardware.hpp"
#include "shim/bootstrap/node_segment.hpp"
#include "shim/coll/scratch_pool.hpp"
#include "shim/p2p/engines.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/address_book.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/group_cache.hpp"
#include "shim/sessions/network_address.hpp"
#include "shim/sessions/process_sets.hpp"
#include "shim/sessions/session.hpp"
#include "shim/sessions/vci.hpp"
#include "shim/transport/net/net.hpp"
#include "shim/transport/shm/coll_segment.hpp"
#include "shim/transport/shm/shm_rendezvous.hpp"
#include "shim/transport/transport.hpp"

namespace shim::bootstrap {
class LaunchedProcesses;
}

namespace shim::sessions {

class Creations;
class Consensuses;

/// Counts the incarnations of an OS process. Its Process objects exist one after another, so
/// relaxed accesses suffice.
struct ProcessHistory {
  std::atomic<std::uint32_t> started{0};  ///< incarnations that had an address for other nodes
  /// Number of incarnations, from the first on, whose key the launcher has (publish_address).
  std::atomic<std::uint32_t> published{0};
  /// World ranks on this node that had a session by the end of an earlier Process. Written by one
  /// Process, read by the next.
  std::set<std::uint32_t> seen_ranks;
  /// Extended ids that this OS process has made. A peer may still have communicators of an earlier
  /// incarnation, so no incarnation makes an id again. Any thread adds to it.
  std::atomic<std::uint64_t> extended_ids{0};
};

/// Factories makes the parts of a Process; tests replace them. Each is called at most once, on
/// demand.
struct Factories {
  std::function<base::Result<std::unique_ptr<bootstrap::Bootstrap>>(const base::Settings&)>
      bootstrap;
  /// Used if a provider is named. Runs on a separate thread when the first message to or from
  /// another node is due (or as `fabric_opens` selects).
  std::function<base::Result<std::unique_ptr<transport::Transport>>(const base::Settings&)> fabric;
  std::size_t fabric_packet_bytes = 0;  ///< minimum capacity of a fabric packet
  std::string segment_directory = "/dev/shm";
  int log_descriptor = 2;
  /// Shared by all successive Process objects of one OS process, so that peers can order their
  /// addresses.
  std::shared_ptr<ProcessHistory> history = std::make_shared<ProcessHistory>();
  /// State that the launcher's client keeps until the OS process exits; null until needed.
  std::shared_ptr<std::unique_ptr<bootstrap::ProcessLifetime>> lifetime =
      std::make_shared<std::unique_ptr<bootstrap::ProcessLifetime>>();
  /// Launch environment, read once: later changes of the environment have no effect. Null in tests.
  std::shared_ptr<const bootstrap::LaunchEnv> launch_env;
  /// Time (ns) after which a creation fails if its missing members are stuck all that time
  /// (creation_stuck_members.cpp). Tests shorten it.
  base::Nanoseconds stuck_after = 30'000'000'000;
  bool nodes_share_machine = false;  ///< simulated nodes of a test share this machine
  /// Listener for the phases of starts and creations; outlives all Process objects. Null: none.
  base::PhaseListener* phases = nullptr;
  /// Passed to the engines for reports of blocked calls; references outlive all Process objects.
  p2p::WaitReports reports = {};
  /// Return the production factories: open_bootstrap and transport/ofi. One set serves all Process
  /// objects of an OS process.
  static Factories standard();
};

/// Created by the first session, destroyed after the last session and communicator (shared_ptr).
/// Destruction flushes sent messages, closes transports, and detaches from the node segment and the
/// launcher. Only PMIx stays initialized (see Factories).
class Process : public std::enable_shared_from_this<Process>, private p2p::Router {
 public:
  /// Start a Process. Local: needs no other process.
  static base::Result<std::shared_ptr<Process>> start(const base::Settings& settings,
                                                      Factories factories);
  ~Process() override;

  /// Detach from the node so that no shared memory stays behind, and do nothing else; for a program
  /// that ends with sessions open.
  void leave_at_once();
  /// Ensure that no shared memory stays behind, and do nothing else; for a program that an error
  /// terminates. For its peers the process dies when it ends.
  void release_shared_memory();

  const base::Settings& settings() const { return settings_; }
  const base::Log& log() const { return log_; }
  bootstrap::Bootstrap& bootstrap() { return *bootstrap_; }
  const bootstrap::NodeLocation& location() const { return location_; }
  /// Return the engine of VCI 0, which serves creations and all communicators that span nodes.
  p2p::Engine& engine() { return *engine_; }
  const coll::ScratchPoolPtr& scratch() const { return scratch_; }
  Creations& creations() { return *creations_; }
  Consensuses& consensuses() { return *consensuses_; }
  ProcessSets& sets() { return *sets_; }
  GroupCache& groups() { return groups_; }
  base::ProcessId self() const { return {0, bootstrap_->job().rank}; }

  // --- VCIs, numbered from 0
  std::uint32_t vci_count() const { return vci_count_; }
  /// Return the VCI for communicators made from a session that this thread opens. Threads get VCIs
  /// round-robin.
  std::uint32_t vci_of(std::thread::id thread);
  /// Make a VCI usable. Local. Cannot fail for lack of shared memory once another process of the
  /// node has opened the VCI. Errors: no_space.
  base::Status open_vci(std::uint32_t vci);
  /// Check that shared memory has space for a VCI's messages, then open the VCI. For the process
  /// that chooses the VCI of a communicator; the other members call open_vci. Errors: no_space.
  base::Status open_vci_if_space(std::uint32_t vci);
  /// Return the engine of an open VCI.
  p2p::Engine& engine(std::uint32_t vci) { return vci == 0 ? *engine_ : extra_vci(vci)->engine(); }
  /// Return the area on which local processes blocked in this open VCI sleep.
  base::SharedArea& area(std::uint32_t vci) {
    return vci == 0 ? *segment_ : *extra_vci(vci)->area();
  }
  /// Return the engines of all open VCIs.
  std::vector<p2p::Engine*> engines();
  /// Poll each VCI once, except VCIs that other threads poll. Errors: those of Engine::progress.
  base::Status progress() { return all_engines_->progress(); }
  const std::shared_ptr<p2p::Engines>& all_engines() const { return all_engines_; }

  /// Return the next context base, never used twice while messages for it may be in flight. A
  /// caller that makes no context of it passes it to skip_base.
  std::uint32_t take_context_base();
  /// Declare that no context of this base will be made, in any VCI.
  void skip_base(std::uint32_t base);
  base::ExtendedId make_extended_id();

  /// Allow other threads to call while a thread blocks.
  void allow_several_threads() { has_several_threads_.store(true, std::memory_order_relaxed); }
  /// Register a new session. Allow several threads if it has MPI_THREAD_MULTIPLE, or if it and the
  /// first session may have different threads: different threads opened them, or one of them has
  /// MPI_THREAD_SERIALIZED.
  void register_session(ThreadLevel level, std::thread::id opener);
  bool has_several_threads() const { return has_several_threads_.load(std::memory_order_relaxed); }

  /// Return the strategy with which node leaders exchange addresses, from the setting `exchange`.
  const ExchangeStrategy& exchange_strategy() const {
    return exchange_strategy_named(settings_.exchange);
  }
  /// Return the inputs from which the roles of a group's members in a creation are computed.
  CreationContext creation_context() const {
    return {bootstrap_->node_map(), uses_fabric_only(), exchange_strategy().shape};
  }
  /// True if every process counts as its own node (transport=fabric).
  bool uses_fabric_only() const { return settings_.transport == "fabric"; }
  /// Return the transport to other nodes, opened and accepting from now on. Local. Errors: other
  /// (no network).
  base::Result<transport::Net*> network();
  /// Open network() and publish this process's address at the launcher. `during` reports the phase.
  /// Errors: those of network() and of the launcher.
  base::Status publish_address(const base::TracedOperation& during);
  /// Wait until no other thread opens the fabric: MPI_Init of other libraries changes the
  /// environment, which that thread reads.
  void finish_opening();
  /// Return the address for processes of other nodes. Errors: those of network().
  base::Result<NetworkAddress> own_address();
  /// Return the incarnation of own_address(), also before the address exists.
  std::uint32_t own_incarnation() const { return incarnation_; }
  /// Record the address of a process on another node, received in an exchange. The newest
  /// incarnation wins; operations with an older one fail.
  void record_address(base::ProcessId process, std::uint32_t incarnation,
                      std::span<const std::byte> address);
  /// Record that the process published its address in this incarnation.
  void record_published(base::ProcessId process, std::uint32_t incarnation);
  bool has_published(base::ProcessId process, std::uint32_t incarnation) const;
  /// Record an address that the launcher returned. Errors: other (invalid address).
  base::Status record_looked_up_address(base::ProcessId process, const NetworkAddress& found);
  /// Record the incarnation of an address that is already in the node's address table
  /// (bootstrap/address_table.hpp), which the node's processes share.
  void record_incarnation(base::ProcessId process, std::uint32_t incarnation);
  /// True if the other processes of the node find this address in the node's address table.
  bool node_knows(base::ProcessId process, std::uint32_t incarnation) const {
    return addresses_.is_in_table(process, incarnation);
  }
  /// Return the newest incarnation whose address this node knows, and record it as the one in use
  /// (record_incarnation).
  std::optional<std::uint32_t> known_incarnation(base::ProcessId process);

  /// Return the trace operation for a creation, for phase listeners.
  base::TracedOperation new_creation(std::string_view tag, const Group& group) const {
    return {factories_.phases, base::OperationKind::communicator, tag, group.size()};
  }

  /// Recount the processes that share this process's cores, and pass the result to the engines.
  /// Processes that have not attached are estimated; once all have been counted, does nothing.
  void update_oversubscription();

  /// Return the hardware this process is bound to, one entry per kind, largest kind first. The
  /// topology is discovered once per node (bootstrap/node_hardware.hpp), the binding at each call.
  /// Local. Errors: other (no hwloc, or hwloc finds nothing).
  base::Result<std::vector<bootstrap::HardwareResource>> hardware();

  /// Null if no other process of the job is on this node.
  transport::ShmCollSegments* coll_segments() { return coll_segments_.get(); }
  /// Return the slots of local processes in the node segment.
  std::vector<std::uint32_t> slots_of(const p2p::Members& members) const;
  std::uint32_t slot_of(base::ProcessId process) const {
    return bootstrap_->node_map().local_rank(process.rank);
  }
  /// Null if no other process of the job is on this node.
  transport::ShmRendezvousTable* rendezvous_table() { return rendezvous_table_.get(); }
  /// True if all of these world-0 processes are on this node and in its segment.
  bool has_on_node(const p2p::Members& members) const;

  /// True if the process is on this node.
  bool is_local(base::ProcessId process) const;
  /// True if the local process has a session now.
  bool has_session(base::ProcessId process) const;
  /// True if a process of this job and node has separate shared memory, as in a container. Takes
  /// milliseconds.
  bool sees_other_shared_memory() const {
    return segment_ && segment_->other_segment().has_value();
  }
  const std::string& shared_memory_folder() const { return factories_.segment_directory; }
  /// True if the local process had a session and has none now.
  bool has_finalized(base::ProcessId process) const;
  base::Nanoseconds stuck_after() const { return factories_.stuck_after; }
  /// True if the launcher has exited, so that it can no longer end this job; waits for other
  /// processes then fail. Logs the exit once.
  bool has_lost_launcher();
  /// False if the process is known to have ended. Processes of other nodes count as running.
  bool is_running(base::ProcessId process) const;
  /// True if a local process ended or died without a slot in the node segment. False if the
  /// operating system cannot tell (bootstrap/launched_processes.hpp). Needs several calls to be
  /// certain.
  bool ended_before_attaching(base::ProcessId process);
  /// True if a process of another node no longer answers at its known incarnation's address: it
  /// finalized or died.
  bool is_out_of_reach(base::ProcessId process);
  /// True if a connection shows that a process of another node is still in its known incarnation.
  bool has_live_connection(base::ProcessId process);
  /// Return a lookup of a process's address at the launcher; known: the incarnation of an address
  /// that the caller already has.
  AddressLookup look_up_address(base::ProcessId process,
                                std::optional<std::uint32_t> known = std::nullopt);
  /// Return the number of processes without a known address that were looked up at the launcher.
  std::uint64_t looked_up_count() const { return lookup_counter_.count(); }

 private:
  Process() = default;
  base::Status set_up(Factories factories);
  base::Status set_up_node();
  base::Status resolve_node_map();
  transport::FabricResult open_fabric();
  void set_up_engine();
  base::Status open_vcis_of_former_incarnation();
  bool flush();
  // acquire: pairs with the release in open_vci, so that the whole Vci is visible
  Vci* extra_vci(std::uint32_t vci) const {
    return extra_vcis_[vci - 1].load(std::memory_order_acquire);
  }
  base::Status begin_early_fence(const base::TracedOperation& start);
  bool is_oversubscribed() const;
  void end_former_incarnation(base::ProcessId process);
  void publish_end();
  void record_local_ranks_seen();
  transport::Presence presence_of(base::ProcessId process);
  base::Result<p2p::Route> route_to(base::ProcessId process) override;
  bool receives_packets(base::ProcessId process) override {
    return !is_local(process) || has_session(process);
  }
  bool is_alive(base::ProcessId process) override {
    return !has_lost_launcher() && is_running(process);
  }
  std::string describe(base::ProcessId process) override;
  bool has_died(base::ProcessId process) override {
    return is_local(process) && segment_->has_died(slot_of(process));
  }

  // in the order of construction; destroyed in reverse
  base::Settings settings_;
  base::Log log_;
  Factories factories_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  bootstrap::NodeLocation location_;
  std::unique_ptr<ProcessSets> sets_;
  /// Null if no other process of the job is on this node.
  std::unique_ptr<bootstrap::NodeSegment> segment_;
  /// Null without a segment, or if the launcher identifies no process.
  std::unique_ptr<bootstrap::LaunchedProcesses> launched_;
  std::unique_ptr<bootstrap::NodeHardware> hardware_;
  std::unique_ptr<transport::Transport> self_transport_, shm_transport_;
  std::unique_ptr<transport::ShmCollSegments> coll_segments_;
  std::unique_ptr<transport::ShmRendezvousTable> rendezvous_table_;
  LookupCounter lookup_counter_;
  std::unique_ptr<transport::Net> network_;  ///< null until the first message to another node
  /// guards creation of network_, published_, others_published_
  mutable std::mutex network_mutex_;
  bool published_ = false;
  std::atomic<bool> has_several_threads_{false};  ///< pairs with nothing
  struct FirstSession {
    std::thread::id opener;
    bool is_handed_on;  ///< its level lets other threads than the opener call
  };
  std::mutex first_session_mutex_;  ///< guards first_session_
  std::optional<FirstSession> first_session_;
  /// Last published incarnation of each process.
  std::unordered_map<base::ProcessId, std::uint32_t> others_published_;
  /// Result ignored: the fence only prefetches addresses.
  std::unique_ptr<bootstrap::Pending<bootstrap::Done>> early_fence_;
  /// Number of earlier incarnations that had an address for other nodes; set at the start.
  std::uint32_t incarnation_ = 0;
  AddressBook addresses_;
  GroupCache groups_;
  std::shared_ptr<p2p::Engines> all_engines_ = std::make_shared<p2p::Engines>();
  std::unique_ptr<p2p::Engine> engine_;
  static constexpr std::uint32_t kMaxVcis = bootstrap::kMaxVcis;
  static_assert(kMaxVcis <= p2p::Engines::kMost);
  std::uint32_t vci_count_ = 1;
  std::mutex vcis_mutex_;  ///< guards the creation of VCIs and the next two members
  std::array<std::thread::id, kMaxVcis> threads_of_vcis_;  ///< last thread that got each VCI
  std::uint32_t next_vci_ = 0;
  std::vector<std::unique_ptr<Vci>> vcis_;  ///< in order of creation
  std::array<std::atomic<Vci*>, kMaxVcis - 1> extra_vcis_{};
  coll::ScratchPoolPtr scratch_ = std::make_shared<coll::ScratchPool>();
  std::unique_ptr<Creations> creations_;
  std::unique_ptr<Consensuses> consensuses_;
  std::atomic<bool> oversubscription_is_known_{false};  ///< no recount needed; pairs with nothing
  std::atomic<bool> lost_launcher_{false};              ///< to log it once; pairs with nothing
  /// Used without a segment; a plain count, pairs with nothing.
  std::atomic<std::uint32_t> context_counter_{0};
  /// Context base without a context, part of the extended ids that this process makes. Unique for a
  /// process during the lifetime of its node segment, so it also distinguishes incarnations.
  std::uint32_t reserved_base_ = 0;
};

/// Publish that this OS process exits, after its last Process. Processes that found it through the
/// launcher then stop waiting for its next session. Errors: the launcher's.
base::Status publish_exit(const base::Settings& settings, const Factories& factories);

}  // namespace shim::sessions
