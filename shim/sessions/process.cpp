// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/process.hpp"

#include <functional>

#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation.hpp"
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

base::Result<std::shared_ptr<Process>> Process::start(const base::Settings& settings, Factories factories) {
  std::shared_ptr<Process> process(new Process());
  process->settings_ = settings;
  SHIM_TRY(process->set_up(std::move(factories)));
  return process;
}

base::Status Process::set_up(Factories factories) {
  factories_ = std::move(factories);
  life_ = factories_.lives->load(std::memory_order_relaxed);
  log_ = base::Log(base::Log::level_of(settings_.log), {}, factories_.log_descriptor);
  if (everything_over_fabric() || bootstrap::environment_says_several_nodes(factories_.size_variables)) begin_opening_fabric();
  const base::Operation start(factories_.phases, base::OperationKind::session);
  start.begin(base::Phase::launcher);
  SHIM_TRY_ASSIGN(bootstrap_, factories_.bootstrap(settings_, start));
  start.end_all();
  const auto& job = bootstrap_->job();
  const auto& nodes = bootstrap_->node_map();
  if (nodes.node_count() > 1) begin_opening_fabric();
  const std::string& host = nodes.host(nodes.node_of(job.rank));
  log_.set_who(host + ":" + std::to_string(job.rank));
  if (factories_.phases != nullptr) factories_.phases->introduce(job.rank, job.size, host);
  sets_ = std::make_unique<ProcessSets>(settings_, *bootstrap_, log_);
  start.begin(base::Phase::node_segment);
  SHIM_TRY(set_up_node());
  hardware_ = std::make_unique<bootstrap::NodeHardware>(segment_.get(), bootstrap::CoreSet::of_this_process());
  // where others are on the node and not in a segment, nobody knows what they are bound to
  if (segment_ || nodes.ranks_on(nodes.node_of(job.rank)).size() == 1) sets_->use_hardware(*hardware_);
  start.next(base::Phase::engine);
  set_up_engine();
  start.end_all();
  return {};
}

void Process::set_up_engine() {
  self_transport_ = transport::make_self();
  p2p::EngineSpec spec{.settings = settings_, .log = &log_, .self = self(), .router = this};
  if (shm_transport_) spec.transports.push_back(shm_transport_.get());
  spec.transports.push_back(self_transport_.get());
  spec.is_crowded = is_crowded();
  engine_ = std::make_unique<p2p::Engine>(std::move(spec));
  creations_ = std::make_unique<Creations>(*this);
  if (segment_) {
    // acquire: pairs with the increments of this process's earlier life, if it had one
    engine_->set_first_base(segment_->context_counter().load(std::memory_order_acquire) + 1);
  }
  incarnation_ = take_context_base();
  engine_->skip_base(incarnation_);
  if (segment_) {
    segment_->set_ready();  // from here on others may write to us
  }
}

void Process::begin_opening_fabric() {
  if (!opening_) opening_ = std::make_unique<FabricOpening>([this] { return factories_.fabric(settings_); });
}

base::Status Process::set_up_node() {
  transport::sweep_fabric_memory();
  const auto& job = bootstrap_->job();
  const auto& nodes = bootstrap_->node_map();
  const std::uint32_t node = nodes.node_of(job.rank);
  const auto slots = static_cast<std::uint32_t>(nodes.ranks_on(node).size());
  if (slots < 2 || everything_over_fabric()) {
    bootstrap::sweep_segments(factories_.segment_directory);  // attaching does it as well
    return {};
  }
  const auto shm = shm_settings(settings_, job);
  bootstrap::SegmentSpec spec{.job = job.world_name,
                              .node = node,
                              .slots = slots,
                              .own_slot = nodes.local_rank(job.rank),
                              .world_rank = job.rank,
                              .slot_bytes = transport::shm_slot_bytes(slots),
                              .pair_bytes = transport::shm_pair_bytes(shm),
                              .directory = factories_.segment_directory,
                              .cores = bootstrap::CoreSet::of_this_process()};
  SHIM_TRY_ASSIGN(segment_, bootstrap::NodeSegment::attach(spec, settings_.ready_timeout));
  SHIM_TRY_ASSIGN(shm_transport_, transport::make_shm(*segment_, shm));
  return {};
}

bool Process::is_crowded() const {
  if (segment_) return segment_->processes_per_core() > 1;
  const auto& nodes = bootstrap_->node_map();  // without a segment nobody says more than the launcher
  const auto own = bootstrap::CoreSet::of_this_process();
  bootstrap::CoreDemand demand(own);
  demand.add(own);
  for (std::size_t others = nodes.ranks_on(nodes.node_of(self().rank)).size() - 1; others > 0; --others) demand.add_unknown();
  return demand.per_core() > 1;
}

base::Result<std::vector<bootstrap::HardwareResource>> Process::hardware() {
  SHIM_TRY_ASSIGN(const bootstrap::HardwareMap* map, hardware_->map());
  return map->resources_of(bootstrap::CoreSet::of_first_thread());
}

void Process::look_at_crowd() { engine_->set_crowded(is_crowded()); }

Process::~Process() {
  const base::Operation end(engine_ ? factories_.phases : nullptr, base::OperationKind::end);
  if (creations_) creations_->close();
  end.begin(base::Phase::flush);
  if (engine_ && !engine_->flush(base::Deadline::after_seconds(settings_.ready_timeout)))
    log_.write(base::LogLevel::warn, "the last session has ended with messages that nobody has taken for " +
                                         std::to_string(settings_.ready_timeout) +
                                         " s (INTERSESSION_READY_TIMEOUT); they are lost");
  end.end_all();
  creations_.reset();
  engine_.reset();
}

void Process::leave_at_once() {
  if (segment_) segment_->leave_at_once();
}

std::uint32_t Process::take_context_base() {
  auto& counter = segment_ ? segment_->context_counter() : context_counter_;
  // release: pairs with the acquire in set_up of this process's next life
  return counter.fetch_add(1, std::memory_order_release) + 1;
}

base::ExtendedId Process::make_extended_id() {
  return {.leader = std::uint64_t{self().rank} << 32 | incarnation_,
          .counter = extended_counter_.fetch_add(1, std::memory_order_relaxed)};
}

base::Result<transport::Transport*> Process::fabric(const base::Operation& during) {
  std::lock_guard guard(fabric_mutex_);
  if (!fabric_transport_) {
    during.begin(base::Phase::fabric);
    begin_opening_fabric();
    SHIM_TRY_ASSIGN(fabric_transport_, opening_->take());
    engine_->add_transport(*fabric_transport_);
    during.end(base::Phase::fabric);
  }
  if (!published_) {
    during.begin(base::Phase::publish);
    SHIM_TRY(bootstrap_->publish(address_key(life_), fabric_transport_->address()));
    factories_.lives->store(life_ + 1, std::memory_order_relaxed);  // Process objects with one count live one after another
    published_ = true;
    during.end(base::Phase::publish);
  }
  return fabric_transport_.get();
}

void Process::finish_opening() {
  std::lock_guard guard(fabric_mutex_);
  if (opening_) opening_->wait();
}

FabricAddress Process::own_address() {
  std::lock_guard guard(fabric_mutex_);
  return {life_, fabric_transport_->address()};
}

void Process::learn_address(base::ProcessId process, FabricAddress address) {
  {
    std::lock_guard guard(addresses_mutex_);
    auto [at, is_new] = addresses_.try_emplace(process, address);
    if (is_new || at->second.life >= address.life) return;
    at->second = std::move(address);
  }
  engine_->forget(process, base::Error(base::ErrorClass::proc_aborted,
                                       "process " + std::to_string(process.rank) +
                                           " has ended its last session and begun anew; communicators of before do not reach it"));
}

std::optional<std::uint32_t> Process::known_life(base::ProcessId process) {
  std::lock_guard guard(addresses_mutex_);
  auto at = addresses_.find(process);
  if (at == addresses_.end()) return std::nullopt;
  return at->second.life;
}

bool Process::is_local(base::ProcessId process) const {
  const auto& nodes = bootstrap_->node_map();
  return segment_ && process.world == 0 && nodes.node_of(process.rank) == nodes.node_of(self().rank);
}

bool Process::has_session(base::ProcessId process) const { return segment_->is_ready(slot_of(process)); }

bool Process::has_lost_launcher() {
  if (!bootstrap_->has_lost_launcher()) return false;
  if (!lost_launcher_.exchange(true, std::memory_order_relaxed))
    log_.write(base::LogLevel::error, "the launcher that started this process is gone; what waits for other processes ends");
  return true;
}

bool Process::is_running(base::ProcessId process) const {
  return !is_local(process) || segment_->is_alive(slot_of(process));
}

base::Result<p2p::Route> Process::route_to(base::ProcessId process) {
  if (process == self()) return p2p::Route{self_transport_.get(), self_transport_->address()};
  if (is_local(process)) {
    return p2p::Route{shm_transport_.get(),
                      transport::shm_address(slot_of(process), shm_settings(settings_, bootstrap_->job()))};
  }
  SHIM_TRY_ASSIGN(transport::Transport * fabric_transport, fabric());
  std::lock_guard guard(addresses_mutex_);
  auto at = addresses_.find(process);
  if (at == addresses_.end())
    return base::Error(base::ErrorClass::intern,
                       "the fabric address of process " + std::to_string(process.rank) + " is not known");
  return p2p::Route{fabric_transport, at->second.bytes};
}

}  // namespace shim::sessions
