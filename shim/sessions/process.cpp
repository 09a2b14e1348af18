// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends the parts of a Process, and finds routes to other processes.
#include "shim/sessions/process.hpp"

#include <utility>

#include "shim/sessions/consensus.hpp"
#include "shim/sessions/creations.hpp"
#include "shim/sessions/liveness_probe.hpp"

namespace shim::sessions {

base::Result<std::shared_ptr<Process>> Process::start(const base::Settings& settings,
                                                      Factories factories) {
  std::shared_ptr<Process> process(new Process());
  process->settings_ = settings;
  SHIM_TRY_ASSIGN(process->coll_table_, coll::load_tuning(settings.coll_tuning));
  SHIM_TRY(process->set_up(std::move(factories)));
  return process;
}

base::Status Process::set_up(Factories factories) {
  factories_ = std::move(factories);
  log_ = base::Log(base::Log::level_of(settings_.log), {}, factories_.log_descriptor);
  const base::TracedOperation start(factories_.phases, base::OperationKind::session);
  SHIM_TRY(open_launcher(start));
  SHIM_TRY(attach_to_node(start));
  start.begin(base::Phase::engine);
  SHIM_TRY(start_engines());
  node_->set_ready();
  start.end(base::Phase::engine);
  if (exchange_strategy().fence == FenceScope::first_of_nodes)
    SHIM_TRY(peers_->begin_early_fence(start, uses_fabric_only()));
  vcis_->release_ownership();  // another thread may use the engines
  start.end_all();
  log_start();
  return {};
}

base::Status Process::open_launcher(const base::TracedOperation& start) {
  start.begin(base::Phase::launcher);
  SHIM_TRY_ASSIGN(bootstrap_, factories_.bootstrap(settings_));
  start.end_all();
  const auto& job = bootstrap_->job();
  const bootstrap::NodeLocation location = bootstrap_->location();
  log_.set_who(location.host + ":" + std::to_string(job.rank));
  if (const auto warning = bootstrap_->warning();
      warning && !factories_.history->has_warned.exchange(true, std::memory_order_relaxed))
    log_.write(base::LogLevel::warn, *warning);
  log_.write_if_wanted(base::LogLevel::info, [&] {
    return "found process " + std::to_string(job.rank) + " of " + std::to_string(job.size) +
           " in job " + job.world_name + " by " + std::string(bootstrap_->name()) + "; node has " +
           std::to_string(location.local_ranks.size()) + " of them, the job has " +
           std::to_string(location.node_count) + (location.node_count == 1 ? " node" : " nodes");
  });
  if (factories_.phases != nullptr)
    factories_.phases->set_process(job.rank, job.size, location.host);
  return {};
}

base::Status Process::attach_to_node(const base::TracedOperation& start) {
  sets_ = std::make_unique<ProcessSets>(settings_, *bootstrap_, log_);
  start.begin(base::Phase::node_segment);
  node_ = std::make_unique<NodeMemory>(settings_, factories_, *bootstrap_);
  SHIM_TRY(node_->attach());
  log_.write_if_wanted(base::LogLevel::debug, [this] {
    return node_->has_segment() ? "attached to the node's shared memory in " + node_->folder()
                                : std::string("uses no shared memory");
  });
  start.next(base::Phase::node_map);
  SHIM_TRY(node_->resolve_node_map());
  start.end_all();
  // without a segment, the bindings of other local processes are unknown
  if (node_->has_segment() || node_->location().local_ranks.size() == 1)
    sets_->use_hardware(node_->hardware());
  return {};
}

base::Status Process::start_engines() {
  vcis_ = std::make_unique<Vcis>(Vcis::Spec{.settings = settings_,
                                            .log = log_,
                                            .self = self(),
                                            .node = *node_,
                                            .router = *this,
                                            .reports = factories_.reports});
  vcis_->open_first();
  peers_ = std::make_unique<PeerAddresses>(PeerAddresses::Spec{.settings = settings_,
                                                               .log = log_,
                                                               .factories = factories_,
                                                               .bootstrap = *bootstrap_,
                                                               .node = *node_,
                                                               .engine = engine()});
  creations_ = std::make_unique<Creations>(*this);
  consensuses_ = std::make_unique<Consensuses>(*this);
  engine().set_control_handler([this](base::ProcessId from, std::span<const std::byte> bytes) {
    if (is_of_consensus(bytes))
      consensuses_->on_message(from, bytes);
    else
      creations_->on_control(from, bytes);
  });
  context_ids_ = std::make_unique<ContextIds>(self().rank, node_->context_counter(),
                                              factories_.history->extended_ids);
  return vcis_->begin(*context_ids_);
}

void Process::log_start() const {
  log_.write_if_wanted(base::LogLevel::info, [this] {
    return "started with VCI 0 of " + std::to_string(vcis_->count()) + "; transports " +
           std::string(node_->has_segment() ? "shm and self" : "self") + ", " +
           (node_->location().node_count == 1 ? "no other node"
            : settings_.provider.empty()      ? "TCP to other nodes"
                                         : "libfabric " + settings_.provider + " to other nodes") +
           "; exchange " + settings_.exchange + "; matching " + settings_.matching +
           (settings_.coll_tuning.empty() ? "" : "; collective tuning " + settings_.coll_tuning) +
           (node_->is_oversubscribed() ? "; processes outnumber cores: waiting threads do not spin"
                                       : "");
  });
}

Process::~Process() {
  const bool has_engines = vcis_ && vcis_->are_open();
  const base::TracedOperation end(has_engines ? factories_.phases : nullptr,
                                  base::OperationKind::end);
  if (creations_) creations_->close();
  if (has_engines)
    log_.write_if_wanted(base::LogLevel::info, [this] {
      const auto counts = engine().counts();
      return "ends its last session; VCI 0 sent " + std::to_string(counts.eager_sent) +
             " eager and " + std::to_string(counts.rendezvous_sent) + " rendezvous messages to " +
             std::to_string(counts.peers_contacted) + " processes";
    });
  end.begin(base::Phase::flush);
  if (has_engines && !vcis_->flush(settings_.ready_timeout))
    log_.write(base::LogLevel::warn,
               "the last session was finalized after " + std::to_string(settings_.ready_timeout) +
                   " s (INTERSESSION_READY_TIMEOUT) with unreceived sends, or unmatched receives "
                   "freed by MPI_Request_free; their data is lost");
  if (peers_) peers_->publish_end();
  // destroy members explicitly, in reverse order of construction, so that the phase covers them
  end.next(base::Phase::leave);
  if (has_engines) engine().set_control_handler({});
  consensuses_.reset();
  creations_.reset();
  context_ids_.reset();
  if (vcis_) vcis_->close();  // before the network, which VCI 0 uses
  peers_.reset();
  vcis_.reset();
  node_.reset();
  sets_.reset();
  bootstrap_.reset();
  end.end_all();
}

base::Status publish_exit(const base::Settings& settings, const Factories& factories) {
  // relaxed: the Process that wrote it has ended
  if (factories.history->published.load(std::memory_order_relaxed) == 0) return {};
  SHIM_TRY_ASSIGN(auto bootstrap, factories.bootstrap(settings));
  if (bootstrap->has_lost_launcher()) return {};
  return bootstrap->publish(exit_key(), presence_value());
}

bool Process::has_lost_launcher() {
  if (!bootstrap_->has_lost_launcher()) return false;
  if (!lost_launcher_.exchange(true, std::memory_order_relaxed))
    log_.write(base::LogLevel::error,
               "the launcher of this process has exited; operations that wait for "
               "other processes fail");
  return true;
}

std::string Process::describe(base::ProcessId process) {
  if (process.world != 0) return "process " + std::to_string(process.rank) + " of another world";
  const auto& nodes = bootstrap_->node_map();
  std::string text = "process " + std::to_string(process.rank) + ", node " +
                     nodes.host(nodes.node_of(process.rank));
  if (!node_->is_local(process)) return text;
  if (node_->has_died(process)) return text + ", has died";
  if (node_->has_session(process)) return text;
  return text +
         (node_->has_finalized(process) ? ", has finalized its last session" : ", has no session");
}

base::Result<p2p::Route> Process::route_to(base::ProcessId process) {
  if (process == self()) return vcis_->route_to_self();
  if (node_->is_local(process)) return vcis_->route_to_local(process);
  return peers_->route_to(process);
}

}  // namespace shim::sessions
