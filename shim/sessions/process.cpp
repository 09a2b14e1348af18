// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends a Process, opens its VCIs and its network on demand, and finds routes to other
// processes.
#include "shim/sessions/process.hpp"

#include <algorithm>
#include <functional>

#include "shim/bootstrap/launched_processes.hpp"
#include "shim/bootstrap/numa.hpp"
#include "shim/bootstrap/resolve_node_map.hpp"
#include "shim/bootstrap/segment_vci.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/consensus.hpp"
#include "shim/sessions/creation.hpp"
#include "shim/sessions/liveness_probe.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/self/self.hpp"
#include "shim/transport/shm/shm.hpp"

namespace shim::sessions {
namespace {

transport::ShmSettings shm_settings(const base::Settings& settings, const bootstrap::Job& job) {
  return {.ring_bytes = settings.ring_bytes,
          .single_copy = settings.single_copy,
          .cookie = std::hash<std::string>()(job.world_name)};
}

}  // namespace

base::Result<std::shared_ptr<Process>> Process::start(const base::Settings& settings,
                                                      Factories factories) {
  std::shared_ptr<Process> process(new Process());
  process->settings_ = settings;
  SHIM_TRY(process->set_up(std::move(factories)));
  return process;
}

base::Status Process::set_up(Factories factories) {
  factories_ = std::move(factories);
  incarnation_ = factories_.history->started.load(std::memory_order_relaxed);
  log_ = base::Log(base::Log::level_of(settings_.log), {}, factories_.log_descriptor);
  const base::TracedOperation start(factories_.phases, base::OperationKind::session);
  start.begin(base::Phase::launcher);
  SHIM_TRY_ASSIGN(bootstrap_, factories_.bootstrap(settings_));
  start.end_all();
  const auto& job = bootstrap_->job();
  location_ = bootstrap_->location();
  log_.set_who(location_.host + ":" + std::to_string(job.rank));
  if (const auto warning = bootstrap_->warning(); warning && incarnation_ == 0)
    log_.write(base::LogLevel::warn, *warning);
  log_.write_if_wanted(base::LogLevel::info, [&] {
    return "found process " + std::to_string(job.rank) + " of " + std::to_string(job.size) +
           " in job " + job.world_name + " by " + std::string(bootstrap_->name()) + "; node has " +
           std::to_string(location_.local_ranks.size()) + " of them, the job has " +
           std::to_string(location_.node_count) + (location_.node_count == 1 ? " node" : " nodes");
  });
  if (factories_.phases != nullptr)
    factories_.phases->set_process(job.rank, job.size, location_.host);
  sets_ = std::make_unique<ProcessSets>(settings_, *bootstrap_, log_);
  start.begin(base::Phase::node_segment);
  SHIM_TRY(set_up_node());
  log_.write_if_wanted(base::LogLevel::debug, [this] {
    return segment_ ? "attached to the node's shared memory in " + factories_.segment_directory
                    : std::string("uses no shared memory");
  });
  start.next(base::Phase::node_map);
  SHIM_TRY(resolve_node_map());
  start.end_all();
  hardware_ = std::make_unique<bootstrap::NodeHardware>(segment_.get(),
                                                        bootstrap::CoreSet::of_this_process());
  // without a segment, the bindings of other local processes are unknown
  if (segment_ || location_.local_ranks.size() == 1) sets_->use_hardware(*hardware_);
  start.begin(base::Phase::engine);
  set_up_engine();
  SHIM_TRY(open_vcis_of_former_incarnation());
  if (segment_) segment_->set_ready();  // from here on other processes may write to this one
  start.end(base::Phase::engine);
  if (exchange_strategy().fence == FenceScope::first_of_nodes) SHIM_TRY(begin_early_fence(start));
  for (p2p::Engine* engine : engines())
    engine->release_ownership();  // another thread may use the engine
  start.end_all();
  log_.write_if_wanted(base::LogLevel::info, [this] {
    return "started with VCI 0 of " + std::to_string(vci_count_) + "; transports " +
           std::string(shm_transport_ ? "shm and self" : "self") + ", " +
           (location_.node_count == 1    ? "no other node"
            : settings_.provider.empty() ? "TCP to other nodes"
                                         : "libfabric " + settings_.provider + " to other nodes") +
           "; exchange " + settings_.exchange + "; matching " + settings_.matching +
           (is_oversubscribed() ? "; processes outnumber cores: waiting threads do not spin" : "");
  });
  return {};
}

/// Begin the fence of FenceScope::first_of_nodes. Does so at most once per OS process, because
/// peers cannot know how often this process re-initializes.
base::Status Process::begin_early_fence(const base::TracedOperation& start) {
  const auto& nodes = bootstrap_->node_map();
  const auto is_first = [&](std::uint32_t rank) {
    return uses_fabric_only() || nodes.local_rank(rank) == 0;
  };
  if (incarnation_ > 0 || !is_first(self().rank)) return {};
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
    if (is_first(rank)) firsts.push_back(rank);
  if (firsts.size() < 2) return {};
  SHIM_TRY(publish_address(start));
  SHIM_TRY_ASSIGN(early_fence_, bootstrap_->fence(firsts));
  return {};
}

void Process::set_up_engine() {
  self_transport_ = transport::make_self();
  p2p::EngineSpec spec{.settings = settings_,
                       .log = &log_,
                       .self = self(),
                       .router = this,
                       .engines = all_engines_,
                       .reports = factories_.reports};
  if (shm_transport_) spec.transports.push_back(shm_transport_.get());
  spec.transports.push_back(self_transport_.get());
  spec.is_oversubscribed = is_oversubscribed();
  engine_ = std::make_unique<p2p::Engine>(std::move(spec));
  creations_ = std::make_unique<Creations>(*this);
  consensuses_ = std::make_unique<Consensuses>(*this);
  engine_->set_control_handler([this](base::ProcessId from, std::span<const std::byte> bytes) {
    if (is_of_consensus(bytes))
      consensuses_->on_message(from, bytes);
    else
      creations_->on_control(from, bytes);
  });
  if (segment_) {
    // acquire: pairs with the release in take_context_base of this process's earlier incarnation
    engine_->set_first_base(segment_->context_counter().load(std::memory_order_acquire) + 1);
  }
  reserved_base_ = take_context_base();
  skip_base(reserved_base_);
}

void Process::register_session(ThreadLevel level, std::thread::id opener) {
  if (level == ThreadLevel::multiple) allow_several_threads();
  const bool is_handed_on = level >= ThreadLevel::serialized;
  std::lock_guard guard(first_session_mutex_);
  if (!first_session_)
    first_session_ = {opener, is_handed_on};
  else if (is_handed_on || first_session_->is_handed_on || opener != first_session_->opener)
    allow_several_threads();
}

std::uint32_t Process::vci_of(std::thread::id thread) {
  std::lock_guard guard(vcis_mutex_);
  const auto end = threads_of_vcis_.begin() + vci_count_;
  if (const auto known = std::find(threads_of_vcis_.begin(), end, thread); known != end)
    return static_cast<std::uint32_t>(known - threads_of_vcis_.begin());
  const std::uint32_t vci = next_vci_++ % vci_count_;
  threads_of_vcis_[vci] = thread;
  return vci;
}

base::Status Process::open_vci(std::uint32_t vci) {
  if (vci == 0 || extra_vci(vci) != nullptr) return {};
  std::lock_guard guard(vcis_mutex_);
  auto& slot = extra_vcis_[vci - 1];
  if (slot.load(std::memory_order_relaxed) != nullptr) return {};
  Vci::Parts parts{.engine = {.settings = settings_,
                              .log = &log_,
                              .self = self(),
                              .is_oversubscribed = is_oversubscribed(),
                              .engines = all_engines_,
                              .reports = factories_.reports},
                   .of_process = *this,
                   .area = nullptr,
                   .shm = shm_settings(settings_, bootstrap_->job())};
  if (segment_) {
    SHIM_TRY(segment_->open_vci(vci));
    parts.area = std::make_unique<bootstrap::SegmentVci>(*segment_, vci);
  }
  SHIM_TRY_ASSIGN(std::unique_ptr<Vci> made, Vci::make(std::move(parts)));
  made->engine().set_first_base(reserved_base_);
  made->engine().release_ownership();  // another thread may use the engine
  vcis_.push_back(std::move(made));
  // release: pairs with the acquire in extra_vci
  slot.store(vcis_.back().get(), std::memory_order_release);
  return {};
}

base::Status Process::open_vci_if_space(std::uint32_t vci) {
  if (vci > 0 && extra_vci(vci) == nullptr && segment_)
    SHIM_TRY(segment_->check_space_for_vci(vci));
  return open_vci(vci);
}

/// Open the VCIs that earlier incarnations opened: local processes may have sent data there that
/// only this process can receive. If shared memory lacks space for a VCI, no process has used it.
base::Status Process::open_vcis_of_former_incarnation() {
  for (std::uint32_t vci = 1; segment_ && vci < std::min(segment_->vcis_in_use(), vci_count_);
       ++vci) {
    auto opened = open_vci(vci);
    if (!opened && opened.error().error_class() != base::ErrorClass::no_space) return opened;
  }
  return {};
}

std::vector<p2p::Engine*> Process::engines() {
  std::vector<p2p::Engine*> all{engine_.get()};
  for (std::uint32_t vci = 1; vci < vci_count_; ++vci)
    if (Vci* open = extra_vci(vci)) all.push_back(&open->engine());
  return all;
}

void Process::skip_base(std::uint32_t base) {
  for (p2p::Engine* engine : engines()) engine->skip_base(base);
}

transport::FabricResult Process::open_fabric() {
  const base::TracedOperation opening(factories_.phases, base::OperationKind::fabric);
  opening.begin(base::Phase::fabric);
  auto opened = factories_.fabric(settings_);
  log_.write_if_wanted(base::LogLevel::info, [&] {
    return "libfabric provider " + settings_.provider +
           (opened ? " opened: " + std::string((*opened)->name())
                   : " cannot be opened: " + opened.error().text());
  });
  if (opened) opening.end_all();
  if (opened && settings_.matching == "provider" && !(*opened)->may_match())
    log_.write(base::LogLevel::warn,
               "libfabric provider " + settings_.provider +
                   " cannot match messages on this system (INTERSESSION_MATCHING); "
                   "Intersession matches them");
  if (opened && !(*opened)->warning().empty() &&
      location_.slot_of(bootstrap_->job().rank) == 0)  // once per node
    log_.write(base::LogLevel::warn, std::string((*opened)->warning()));
  return opened;
}

base::Status Process::set_up_node() {
  transport::remove_stale_fabric_memory();
  const auto& job = bootstrap_->job();
  const auto slots = static_cast<std::uint32_t>(location_.local_ranks.size());
  const bool has_other_nodes = location_.node_count > 1;
  vci_count_ = static_cast<std::uint32_t>(settings_.vcis);
  if (slots < 2 || uses_fabric_only()) {
    bootstrap::remove_unused_segments(factories_.segment_directory);  // attaching does this, too
    return {};
  }
  const auto shm = shm_settings(settings_, job);
  bootstrap::SegmentSpec spec{
      .job = job.world_name,
      .node = location_.local_ranks.front(),
      .slots = slots,
      .own_slot = location_.slot_of(job.rank),
      .world_rank = job.rank,
      .job_size = has_other_nodes ? job.size : 0,
      .node_map_bytes = has_other_nodes
                            ? bootstrap::NodeMap::max_bytes(job.size, location_.node_count)
                            : 0,
      .slot_bytes = transport::shm_slot_bytes(slots),
      .store_bytes = transport::ShmCollSegments::store_bytes() +
                     transport::ShmRendezvousTable::store_bytes(slots),
      .pair_bytes = transport::shm_pair_bytes(shm),
      .cell_pool_bytes = settings_.cell_pool_bytes,
      .directory = factories_.segment_directory,
      .cores = bootstrap::CoreSet::of_this_process(),
      .numa_node = bootstrap::current_numa_node()};
  spec.vcis = vci_count_ = bootstrap::NodeSegment::vcis_that_fit(spec, vci_count_);
  SHIM_TRY_ASSIGN(segment_, bootstrap::NodeSegment::attach(spec, settings_.ready_timeout));
  SHIM_TRY_ASSIGN(shm_transport_, transport::make_shm(*segment_, shm));
  coll_segments_ = std::make_unique<transport::ShmCollSegments>(*segment_);
  rendezvous_table_ = std::make_unique<transport::ShmRendezvousTable>(
      *segment_, transport::ShmCollSegments::store_bytes());
  addresses_.use(segment_->address_table());
  if (auto identity = bootstrap_->launch_identity())
    launched_ = std::make_unique<bootstrap::LaunchedProcesses>(*std::move(identity));
  return {};
}

/// Resolve the node map. On one node, computing it is as fast as reading it from the segment.
base::Status Process::resolve_node_map() {
  if (segment_ && location_.node_count > 1)
    return bootstrap::resolve_node_map(*bootstrap_, *segment_);
  return bootstrap::resolve_node_map(*bootstrap_);
}

bool Process::is_oversubscribed() const {
  if (segment_) return segment_->processes_per_core() > 1;
  const auto own = bootstrap::CoreSet::of_this_process();
  bootstrap::CoreDemand demand(own);
  demand.add(own);
  for (std::size_t others = location_.local_ranks.size() - 1; others > 0; --others)
    demand.add_unknown();  // the launcher provides only the number
  return demand.per_core() > 1;
}

base::Result<std::vector<bootstrap::HardwareResource>> Process::hardware() {
  SHIM_TRY_ASSIGN(const bootstrap::HardwareMap* map, hardware_->map());
  return map->resources_of(bootstrap::CoreSet::of_first_thread());
}

void Process::update_oversubscription() {
  if (oversubscription_is_known_.load(std::memory_order_relaxed)) return;
  const bool is_known = segment_ && segment_->has_seen_all();  // read before the count
  const bool is_oversubscribed = this->is_oversubscribed();
  for (p2p::Engine* engine : engines()) engine->set_oversubscribed(is_oversubscribed);
  oversubscription_is_known_.store(is_known, std::memory_order_relaxed);
}

/// Flush all VCIs until none has pending messages: a wait in one VCI also polls the others.
bool Process::flush() {
  const auto deadline = base::Deadline::from_setting(settings_.ready_timeout);
  const auto all = engines();
  const auto is_quiet = [](p2p::Engine* engine) { return engine->is_quiet(); };
  bool is_in_time = true;
  do {
    for (p2p::Engine* engine : all) is_in_time = engine->flush_all(deadline) && is_in_time;
  } while (is_in_time && !std::ranges::all_of(all, is_quiet));
  return is_in_time;
}

Process::~Process() {
  const base::TracedOperation end(engine_ ? factories_.phases : nullptr, base::OperationKind::end);
  if (creations_) creations_->close();
  if (engine_)
    log_.write_if_wanted(base::LogLevel::info, [this] {
      const auto counts = engine_->counts();
      return "ends its last session; VCI 0 sent " + std::to_string(counts.eager_sent) +
             " eager and " + std::to_string(counts.rendezvous_sent) + " rendezvous messages to " +
             std::to_string(counts.peers_contacted) + " processes";
    });
  end.begin(base::Phase::flush);
  if (engine_ && !flush())
    log_.write(base::LogLevel::warn,
               "the last session was finalized after " + std::to_string(settings_.ready_timeout) +
                   " s (INTERSESSION_READY_TIMEOUT) with unreceived sends, or unmatched receives "
                   "freed by MPI_Request_free; their data is lost");
  publish_end();
  // destroy members explicitly, in reverse order of construction, so that the phase covers them
  end.next(base::Phase::leave);
  if (engine_) engine_->set_control_handler({});
  consensuses_.reset();
  creations_.reset();
  vcis_.clear();
  engine_.reset();
  network_.reset();
  rendezvous_table_.reset();
  coll_segments_.reset();
  shm_transport_.reset();
  self_transport_.reset();
  hardware_.reset();
  record_local_ranks_seen();
  segment_.reset();
  sets_.reset();
  bootstrap_.reset();
  end.end_all();
}

/// Record the local ranks that had a session, for has_finalized() in the next Process: the last
/// process with a session removes the segment, and with it the slots that show this.
void Process::record_local_ranks_seen() {
  for (std::uint32_t slot = 0; segment_ && slot < segment_->slot_count(); ++slot)
    if (segment_->was_ready(slot))
      factories_.history->seen_ranks.insert(location_.local_ranks[slot]);
}

/// Publish the end of this incarnation before the network closes: a peer that can no longer connect
/// then finds this key.
void Process::publish_end() {
  if (!published_ || bootstrap_->has_lost_launcher()) return;
  auto said = bootstrap_->publish(end_key(incarnation_), presence_value());
  if (!said)
    log_.write(base::LogLevel::info,
               "peers may treat this process as dead: " + said.error().text());
}

base::Status publish_exit(const base::Settings& settings, const Factories& factories) {
  // relaxed: the Process that wrote it has ended
  if (factories.history->published.load(std::memory_order_relaxed) == 0) return {};
  SHIM_TRY_ASSIGN(auto bootstrap, factories.bootstrap(settings));
  if (bootstrap->has_lost_launcher()) return {};
  return bootstrap->publish(exit_key(), presence_value());
}

void Process::leave_at_once() {
  if (segment_) segment_->leave_at_once();
}

void Process::release_shared_memory() {
  if (segment_) segment_->release_file();
}

std::uint32_t Process::take_context_base() {
  auto& counter = segment_ ? segment_->context_counter() : context_counter_;
  // release: pairs with the acquire in set_up of this process's next incarnation
  return counter.fetch_add(1, std::memory_order_release) + 1;
}

base::ExtendedId Process::make_extended_id() {
  return {.leader = std::uint64_t{self().rank} << 32 | reserved_base_,
          // relaxed: a plain count, pairs with nothing
          .counter = factories_.history->extended_ids.fetch_add(1, std::memory_order_relaxed)};
}

base::Result<transport::Net*> Process::network() {
  std::lock_guard guard(network_mutex_);
  if (network_) return network_.get();
  transport::NetSettings spec{.interface = settings_.interface};
  if (!settings_.provider.empty()) {
    spec.open_fabric = [this] { return open_fabric(); };
    spec.max_packet_bytes = factories_.fabric_packet_bytes;
    spec.may_match = settings_.matching == "provider";
  }
  SHIM_TRY_ASSIGN(network_, transport::make_net(std::move(spec)));
  factories_.history->started.store(incarnation_ + 1, std::memory_order_relaxed);
  if (settings_.fabric_opens == "creation") network_->open_fabric_early();
  engine_->add_transport(*network_);
  log_.write_if_wanted(base::LogLevel::info,
                       [] { return std::string("accepts connections from other nodes"); });
  return network_.get();
}

base::Status Process::publish_address(const base::TracedOperation& during) {
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  std::lock_guard guard(network_mutex_);
  if (published_) return {};
  during.begin(base::Phase::publish);
  // peers look up incarnations one by one, so there must be no gap
  auto& published = factories_.history->published;
  for (std::uint32_t incarnation = published.load(std::memory_order_relaxed);
       incarnation < incarnation_; ++incarnation)
    SHIM_TRY(bootstrap_->publish(address_key(incarnation), no_address()));
  SHIM_TRY(bootstrap_->publish(address_key(incarnation_), network->address()));
  published.store(incarnation_ + 1, std::memory_order_relaxed);
  during.end(base::Phase::publish);
  published_ = true;
  return {};
}

void Process::finish_opening() {
  transport::Net* network = nullptr;
  {
    std::lock_guard guard(network_mutex_);
    network = network_.get();
  }
  if (network) network->wait_for_fabric();
}

base::Result<NetworkAddress> Process::own_address() {
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  return NetworkAddress{incarnation_, network->address()};
}

/// Ignore addresses of local processes, which are reached through the segment.
void Process::record_address(base::ProcessId process, std::uint32_t incarnation,
                             std::span<const std::byte> address) {
  if (!is_local(process) && addresses_.record(process, incarnation, address))
    end_former_incarnation(process);
}

base::Status Process::record_looked_up_address(base::ProcessId process,
                                               const NetworkAddress& found) {
  if (!transport::TcpAddress::from_bytes(found.bytes))
    return base::Error(base::ErrorClass::other,
                       "the launcher returned an invalid address for process " +
                           std::to_string(process.rank) + " (" +
                           std::to_string(found.bytes.size()) +
                           " bytes: corrupt, or of another Intersession version)");
  record_published(process, found.incarnation);
  record_address(process, found.incarnation, found.bytes);
  return {};
}

void Process::record_published(base::ProcessId process, std::uint32_t incarnation) {
  std::lock_guard guard(network_mutex_);
  const auto [at, is_new] = others_published_.try_emplace(process, incarnation);
  if (!is_new) at->second = std::max(at->second, incarnation);  // a delayed answer may be old
}

bool Process::has_published(base::ProcessId process, std::uint32_t incarnation) const {
  std::lock_guard guard(network_mutex_);
  const auto at = others_published_.find(process);
  return at != others_published_.end() && at->second == incarnation;
}

void Process::record_incarnation(base::ProcessId process, std::uint32_t incarnation) {
  if (!is_local(process) && addresses_.record_incarnation(process, incarnation))
    end_former_incarnation(process);
}

std::optional<std::uint32_t> Process::known_incarnation(base::ProcessId process) {
  const auto incarnation = addresses_.incarnation_of(process);
  if (incarnation) record_incarnation(process, *incarnation);
  return incarnation;
}

void Process::end_former_incarnation(base::ProcessId process) {
  engine_->reset_peer(process, base::Error(base::ErrorClass::proc_aborted,
                                           "process " + std::to_string(process.rank) +
                                               " has finalized and re-initialized; communicators "
                                               "created before that can no longer reach it"));
}

std::vector<std::uint32_t> Process::slots_of(const p2p::Members& members) const {
  std::vector<std::uint32_t> slots;
  for (int rank = 0; rank < members.size(); ++rank) slots.push_back(slot_of(members.at(rank)));
  return slots;
}

bool Process::is_local(base::ProcessId process) const {
  const auto& nodes = bootstrap_->node_map();
  return segment_ && process.world == 0 &&
         nodes.node_of(process.rank) == nodes.node_of(self().rank);
}

bool Process::has_on_node(const p2p::Members& members) const {
  if (!segment_) return false;
  if (location_.node_count == 1) return true;
  for (int rank = 0; rank < members.size(); ++rank)
    if (!is_local(members.at(rank))) return false;
  return true;
}

bool Process::has_session(base::ProcessId process) const {
  return segment_->is_ready(slot_of(process));
}

bool Process::has_finalized(base::ProcessId process) const {
  if (!is_local(process)) return false;
  const std::uint32_t slot = slot_of(process);
  if (segment_->has_left(slot)) return true;
  return segment_->is_free(slot) && factories_.history->seen_ranks.contains(process.rank);
}

bool Process::has_lost_launcher() {
  if (!bootstrap_->has_lost_launcher()) return false;
  if (!lost_launcher_.exchange(true, std::memory_order_relaxed))
    log_.write(
        base::LogLevel::error,
        "the launcher of this process has exited; operations that wait for other processes fail");
  return true;
}

std::string Process::describe(base::ProcessId process) {
  if (process.world != 0) return "process " + std::to_string(process.rank) + " of another world";
  const auto& nodes = bootstrap_->node_map();
  std::string text = "process " + std::to_string(process.rank) + ", node " +
                     nodes.host(nodes.node_of(process.rank));
  if (!is_local(process)) return text;
  if (has_died(process)) return text + ", has died";
  if (has_session(process)) return text;
  return text + (has_finalized(process) ? ", has finalized its last session" : ", has no session");
}

bool Process::is_running(base::ProcessId process) const {
  return !is_local(process) || segment_->is_alive(slot_of(process));
}

bool Process::ended_before_attaching(base::ProcessId process) {
  if (!launched_ || !is_local(process) || segment_->was_ready(slot_of(process))) return false;
  return launched_->has_ended(process.rank);
}

transport::Presence Process::presence_of(base::ProcessId process) {
  if (is_local(process) || !known_incarnation(process)) return transport::Presence::unknown;
  const auto route = route_to(process);
  if (!route) return transport::Presence::unknown;
  const auto presence = engine_->presence_at(*route);
  return presence ? *presence : transport::Presence::unknown;
}

bool Process::is_out_of_reach(base::ProcessId process) {
  const auto presence = presence_of(process);
  const auto& nodes = bootstrap_->node_map();
  const bool is_close = factories_.nodes_share_machine ||
                        nodes.node_of(process.rank) == nodes.node_of(self().rank);
  return presence == transport::Presence::gone ||
         (is_close && presence == transport::Presence::gone_if_local);
}

bool Process::has_live_connection(base::ProcessId process) {
  return presence_of(process) == transport::Presence::present;
}

AddressLookup Process::look_up_address(base::ProcessId process,
                                       std::optional<std::uint32_t> known) {
  return {*bootstrap_, process.rank, own_incarnation(), known, known ? nullptr : &lookup_counter_};
}

base::Result<p2p::Route> Process::route_to(base::ProcessId process) {
  if (process == self()) return p2p::Route{self_transport_.get(), self_transport_->address()};
  if (is_local(process)) {
    return p2p::Route{
        shm_transport_.get(),
        transport::shm_address(slot_of(process), shm_settings(settings_, bootstrap_->job()))};
  }
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  SHIM_TRY_ASSIGN(NetworkAddress address, addresses_.find(process));
  return p2p::Route{network, std::move(address.bytes)};
}

}  // namespace shim::sessions
