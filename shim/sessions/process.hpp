// SPDX-License-Identifier: BSD-3-Clause
// Process is the object that holds all state of a process with a session. The modules that it uses
// have no global state, so one program can hold several Process objects, as tests do.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "shim/base/log.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/coll/scratch_pool.hpp"
#include "shim/coll/tuning.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/context_ids.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/factories.hpp"
#include "shim/sessions/group_cache.hpp"
#include "shim/sessions/node_memory.hpp"
#include "shim/sessions/peer_addresses.hpp"
#include "shim/sessions/process_sets.hpp"
#include "shim/sessions/session_threads.hpp"
#include "shim/sessions/vcis.hpp"

namespace shim::sessions {

class Creations;
class Consensuses;

/// Created by the first session, destroyed after the last session and communicator (shared_ptr).
/// Destruction flushes sent messages, closes transports, and detaches from the node segment and the
/// launcher. Only PMIx stays initialized (see Factories).
///
/// Size: Process owns its parts and orders their start and end, so it has one member for each part;
/// each part has its own state.
class Process : public std::enable_shared_from_this<Process>, private p2p::Router {
 public:
  /// Start a Process. Local: needs no other process.
  static base::Result<std::shared_ptr<Process>> start(const base::Settings& settings,
                                                      Factories factories);
  ~Process() override;

  const base::Settings& settings() const { return settings_; }
  const base::Log& log() const { return log_; }
  bootstrap::Bootstrap& bootstrap() const { return *bootstrap_; }
  base::ProcessId self() const { return {0, bootstrap_->job().rank}; }

  // --- parts
  NodeMemory& node() const { return *node_; }
  PeerAddresses& peers() const { return *peers_; }
  ContextIds& context_ids() const { return *context_ids_; }
  Vcis& vcis() const { return *vcis_; }
  SessionThreads& threads() { return threads_; }
  const SessionThreads& threads() const { return threads_; }
  /// Return the engine of VCI 0, which serves creations and all communicators that span nodes.
  p2p::Engine& engine() const { return vcis_->engine(0); }
  const coll::ScratchPoolPtr& scratch() const { return scratch_; }
  const coll::AlgorithmTable& coll_table() const { return *coll_table_; }
  Creations& creations() { return *creations_; }
  Consensuses& consensuses() { return *consensuses_; }
  ProcessSets& sets() { return *sets_; }
  GroupCache& groups() { return groups_; }

  // --- creations
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
  /// Return the trace operation for a creation, for phase listeners.
  base::TracedOperation new_creation(std::string_view tag, const Group& group) const {
    return {factories_.phases, base::OperationKind::communicator, tag, group.size()};
  }
  base::Nanoseconds stuck_after() const { return factories_.stuck_after; }
  /// True if the launcher has exited, so that it can no longer end this job; waits for other
  /// processes then fail. Logs the exit once.
  bool has_lost_launcher();

 private:
  Process() = default;
  base::Status set_up(Factories factories);
  base::Status open_launcher(const base::TracedOperation& start);
  base::Status attach_to_node(const base::TracedOperation& start);
  base::Status start_engines();
  void log_start() const;
  base::Result<p2p::Route> route_to(base::ProcessId process) override;
  bool receives_packets(base::ProcessId process) override {
    return !node_->is_local(process) || node_->has_session(process);
  }
  bool is_alive(base::ProcessId process) override {
    return !has_lost_launcher() && node_->is_running(process);
  }
  std::string describe(base::ProcessId process) override;
  bool has_died(base::ProcessId process) override { return node_->has_died(process); }

  // in the order of construction; destroyed in reverse
  base::Settings settings_;
  base::Log log_;
  Factories factories_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  std::unique_ptr<ProcessSets> sets_;
  std::unique_ptr<NodeMemory> node_;
  std::unique_ptr<Vcis> vcis_;
  std::unique_ptr<PeerAddresses> peers_;
  std::unique_ptr<ContextIds> context_ids_;
  SessionThreads threads_;
  GroupCache groups_;
  coll::ScratchPoolPtr scratch_ = std::make_shared<coll::ScratchPool>();
  coll::AlgorithmTablePtr coll_table_;
  std::unique_ptr<Creations> creations_;
  std::unique_ptr<Consensuses> consensuses_;
  std::atomic<bool> lost_launcher_{false};  ///< to log it once; pairs with nothing
};

/// Publish that this OS process exits, after its last Process. Processes that found it through the
/// launcher then stop waiting for its next session. Errors: the launcher's.
base::Status publish_exit(const base::Settings& settings, const Factories& factories);

}  // namespace shim::sessions
