// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/process.hpp"

#include <algorithm>
#include <functional>

#include "shim/bootstrap/launched_processes.hpp"
#include "shim/bootstrap/numa.hpp"
#include "shim/bootstrap/segment_lane.hpp"
#include "shim/bootstrap/settle_node_map.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation.hpp"
#include "shim/sessions/inquiry.hpp"
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

base::Result<std::shared_ptr<Process>> Process::start(const base::Settings& settings, Factories factories) {
  std::shared_ptr<Process> process(new Process());
  process->settings_ = settings;
  SHIM_TRY(process->set_up(std::move(factories)));
  return process;
}

base::Status Process::set_up(Factories factories) {
  factories_ = std::move(factories);
  life_ = factories_.lives->begun.load(std::memory_order_relaxed);
  log_ = base::Log(base::Log::level_of(settings_.log), {}, factories_.log_descriptor);
  const base::Operation start(factories_.phases, base::OperationKind::session);
  start.begin(base::Phase::launcher);
  SHIM_TRY_ASSIGN(bootstrap_, factories_.bootstrap(settings_));
  start.end_all();
  const auto& job = bootstrap_->job();
  place_ = bootstrap_->place();
  log_.set_who(place_.host + ":" + std::to_string(job.rank));
  if (factories_.phases != nullptr) factories_.phases->introduce(job.rank, job.size, place_.host);
  sets_ = std::make_unique<ProcessSets>(settings_, *bootstrap_, log_);
  start.begin(base::Phase::node_segment);
  SHIM_TRY(set_up_node());
  start.next(base::Phase::node_map);
  SHIM_TRY(settle_node_map());
  start.end_all();
  hardware_ = std::make_unique<bootstrap::NodeHardware>(segment_.get(), bootstrap::CoreSet::of_this_process());
  // where others are on the node and not in a segment, nobody knows what they are bound to
  if (segment_ || place_.local_ranks.size() == 1) sets_->use_hardware(*hardware_);
  start.begin(base::Phase::engine);
  set_up_engine();
  SHIM_TRY(open_lanes_of_former_life());
  if (segment_) segment_->set_ready();  // from here on others may write to us
  start.end(base::Phase::engine);
  if (exchange().meeting == Meeting::first_of_nodes) SHIM_TRY(begin_early_fence(start));
  for (p2p::Engine* engine : engines()) engine->change_hands();  // who starts it need not be who uses it
  start.end_all();
  return {};
}

/// Once in the life of the operating-system process: how often others begin anew nobody knows.
base::Status Process::begin_early_fence(const base::Operation& start) {
  const auto& nodes = bootstrap_->node_map();
  const auto is_first = [&](std::uint32_t rank) { return everything_over_fabric() || nodes.local_rank(rank) == 0; };
  if (life_ > 0 || !is_first(self().rank)) return {};
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
  p2p::EngineSpec spec{.settings = settings_, .log = &log_, .self = self(), .router = this, .engines = all_engines_};
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
  skip_base(incarnation_);
}

void Process::meet_session(ThreadLevel level, std::thread::id opener) {
  if (level == ThreadLevel::multiple) allow_several_threads();
  const bool is_handed_on = level >= ThreadLevel::serialized;
  std::lock_guard guard(first_session_mutex_);
  if (!first_session_) first_session_ = {opener, is_handed_on};
  else if (is_handed_on || first_session_->is_handed_on || opener != first_session_->opener) allow_several_threads();
}

std::uint32_t Process::lane_of(std::thread::id thread) {
  std::lock_guard guard(lanes_mutex_);
  const auto end = threads_of_lanes_.begin() + lane_count_;
  if (const auto known = std::find(threads_of_lanes_.begin(), end, thread); known != end)
    return static_cast<std::uint32_t>(known - threads_of_lanes_.begin());
  const std::uint32_t lane = next_lane_++ % lane_count_;
  threads_of_lanes_[lane] = thread;
  return lane;
}

base::Status Process::open_lane(std::uint32_t lane) {
  if (lane == 0 || further_lane(lane) != nullptr) return {};
  std::lock_guard guard(lanes_mutex_);
  auto& place = further_lanes_[lane - 1];
  if (place.load(std::memory_order_relaxed) != nullptr) return {};
  Lane::Parts parts{.engine = {.settings = settings_, .log = &log_, .self = self(), .is_crowded = is_crowded(), .engines = all_engines_},
                    .of_process = *this,
                    .area = nullptr,
                    .shm = shm_settings(settings_, bootstrap_->job())};
  if (segment_) {
    SHIM_TRY(segment_->open_lane(lane));
    parts.area = std::make_unique<bootstrap::SegmentLane>(*segment_, lane);
  }
  SHIM_TRY_ASSIGN(std::unique_ptr<Lane> made, Lane::make(std::move(parts)));
  made->engine().set_first_base(incarnation_);
  made->engine().change_hands();  // who opens it need not be who uses it
  lanes_.push_back(std::move(made));
  place.store(lanes_.back().get(), std::memory_order_release);  // pairs with the acquire in further_lane
  return {};
}

base::Status Process::begin_lane(std::uint32_t lane) {
  if (lane > 0 && further_lane(lane) == nullptr && segment_) SHIM_TRY(segment_->check_room_for_lane(lane));
  return open_lane(lane);
}

/// Others may still have something for it there, which nobody else would take out. Where there is no room for a lane, nobody has been.
base::Status Process::open_lanes_of_former_life() {
  for (std::uint32_t lane = 1; segment_ && lane < std::min(segment_->lanes_in_use(), lane_count_); ++lane) {
    auto opened = open_lane(lane);
    if (!opened && opened.error().error_class() != base::ErrorClass::no_space) return opened;
  }
  return {};
}

std::vector<p2p::Engine*> Process::engines() {
  std::vector<p2p::Engine*> all{engine_.get()};
  for (std::uint32_t lane = 1; lane < lane_count_; ++lane)
    if (Lane* open = further_lane(lane)) all.push_back(&open->engine());
  return all;
}

void Process::skip_base(std::uint32_t base) {
  for (p2p::Engine* engine : engines()) engine->skip_base(base);
}

transport::Opened Process::open_fabric() {
  const base::Operation opening(factories_.phases, base::OperationKind::fabric);
  opening.begin(base::Phase::fabric);
  auto opened = factories_.fabric(settings_);
  if (opened) opening.end_all();
  if (opened && settings_.matching == "provider" && !(*opened)->may_match())
    log_.write(base::LogLevel::warn, "libfabric's provider " + settings_.provider + " is not up to matching messages here (INTERSESSION_MATCHING): "
                                     "this library matches them");
  if (opened && !(*opened)->caution().empty() && place_.slot_of(bootstrap_->job().rank) == 0)  // once for each node
    log_.write(base::LogLevel::warn, std::string((*opened)->caution()));
  return opened;
}

base::Status Process::set_up_node() {
  transport::sweep_fabric_memory();
  const auto& job = bootstrap_->job();
  const auto slots = static_cast<std::uint32_t>(place_.local_ranks.size());
  const bool has_other_nodes = place_.node_count > 1;
  lane_count_ = static_cast<std::uint32_t>(settings_.lanes);
  if (slots < 2 || everything_over_fabric()) {
    bootstrap::sweep_segments(factories_.segment_directory);  // attaching does it as well
    return {};
  }
  const auto shm = shm_settings(settings_, job);
  bootstrap::SegmentSpec spec{.job = job.world_name,
                              .node = place_.local_ranks.front(),
                              .slots = slots,
                              .own_slot = place_.slot_of(job.rank),
                              .world_rank = job.rank,
                              .job_size = has_other_nodes ? job.size : 0,
                              .node_map_bytes = has_other_nodes ? bootstrap::NodeMap::most_bytes(job.size, place_.node_count) : 0,
                              .slot_bytes = transport::shm_slot_bytes(slots),
                              .store_bytes = transport::Boards::store_bytes() + transport::RollCalls::store_bytes(slots),
                              .pair_bytes = transport::shm_pair_bytes(shm),
                              .depot_bytes = settings_.depot_bytes,
                              .directory = factories_.segment_directory,
                              .cores = bootstrap::CoreSet::of_this_process(),
                              .numa_node = bootstrap::current_numa_node()};
  spec.lanes = lane_count_ = bootstrap::NodeSegment::lanes_that_fit(spec, lane_count_);
  SHIM_TRY_ASSIGN(segment_, bootstrap::NodeSegment::attach(spec, settings_.ready_timeout));
  SHIM_TRY_ASSIGN(shm_transport_, transport::make_shm(*segment_, shm));
  boards_ = std::make_unique<transport::Boards>(*segment_);
  roll_calls_ = std::make_unique<transport::RollCalls>(*segment_, transport::Boards::store_bytes());
  addresses_.use(segment_->address_table());
  if (auto identity = bootstrap_->launch_identity())
    launched_ = std::make_unique<bootstrap::LaunchedProcesses>(*std::move(identity));
  return {};
}

/// Of a job on one node it is as soon made as read.
base::Status Process::settle_node_map() {
  if (segment_ && place_.node_count > 1) return bootstrap::settle_node_map(*bootstrap_, *segment_);
  return bootstrap::settle_node_map(*bootstrap_);
}

bool Process::is_crowded() const {
  if (segment_) return segment_->processes_per_core() > 1;
  const auto own = bootstrap::CoreSet::of_this_process();
  bootstrap::CoreDemand demand(own);
  demand.add(own);
  for (std::size_t others = place_.local_ranks.size() - 1; others > 0; --others) demand.add_unknown();  // nobody says more than the launcher
  return demand.per_core() > 1;
}

base::Result<std::vector<bootstrap::HardwareResource>> Process::hardware() {
  SHIM_TRY_ASSIGN(const bootstrap::HardwareMap* map, hardware_->map());
  return map->resources_of(bootstrap::CoreSet::of_first_thread());
}

void Process::look_at_crowd() {
  if (crowd_is_known_.load(std::memory_order_relaxed)) return;
  const bool is_known = segment_ && segment_->has_seen_all();  // before they are counted
  const bool is_crowded = this->is_crowded();
  for (p2p::Engine* engine : engines()) engine->set_crowded(is_crowded);
  crowd_is_known_.store(is_known, std::memory_order_relaxed);
}

/// All lanes, until none has anything left: who waits in one looks after the others.
bool Process::flush() {
  const auto deadline = base::Deadline::after_seconds(settings_.ready_timeout);
  const auto all = engines();
  const auto is_quiet = [](p2p::Engine* engine) { return engine->is_quiet(); };
  bool is_in_time = true;
  do {
    for (p2p::Engine* engine : all) is_in_time = engine->flush_and_hear(deadline) && is_in_time;
  } while (is_in_time && !std::ranges::all_of(all, is_quiet));
  return is_in_time;
}

Process::~Process() {
  const base::Operation end(engine_ ? factories_.phases : nullptr, base::OperationKind::end);
  if (creations_) creations_->close();
  end.begin(base::Phase::flush);
  if (engine_ && !flush())
    log_.write(base::LogLevel::warn, "the last session has ended after " + std::to_string(settings_.ready_timeout) +
                                         " s (INTERSESSION_READY_TIMEOUT) with sends that their receivers have not taken, or receives "
                                         "freed by MPI_Request_free that no message has matched; their data is lost");
  say_end();
  end.next(base::Phase::leave);  // what goes by itself would go after its end; the last made is the first to go
  creations_.reset();
  lanes_.clear();
  engine_.reset();
  network_.reset();
  roll_calls_.reset();
  boards_.reset();
  shm_transport_.reset();
  self_transport_.reset();
  hardware_.reset();
  note_who_was_here();
  segment_.reset();
  sets_.reset();
  bootstrap_.reset();
  end.end_all();
}

/// The segment goes with the last process that has a session, and all slots with it.
void Process::note_who_was_here() {
  for (std::uint32_t slot = 0; segment_ && slot < segment_->slot_count(); ++slot)
    if (segment_->was_ready(slot)) factories_.lives->met.insert(place_.local_ranks[slot]);
}

/// While it can still be called: who finds nobody there any more finds this.
void Process::say_end() {
  if (!published_ || bootstrap_->has_lost_launcher()) return;
  auto said = bootstrap_->publish(end_key(life_), mark());
  if (!said) log_.write(base::LogLevel::info, "others may take this process for dead: " + said.error().text());
}

base::Status say_exit(const base::Settings& settings, const Factories& factories) {
  // a plain count: whoever published has ended its Process before
  if (factories.lives->published.load(std::memory_order_relaxed) == 0) return {};
  SHIM_TRY_ASSIGN(auto bootstrap, factories.bootstrap(settings));
  if (bootstrap->has_lost_launcher()) return {};
  return bootstrap->publish(exit_key(), mark());
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
  factories_.lives->begun.store(life_ + 1, std::memory_order_relaxed);
  if (settings_.fabric_opens == "creation") network_->open_fabric_early();
  engine_->add_transport(*network_);
  return network_.get();
}

base::Status Process::publish_address(const base::Operation& during) {
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  std::lock_guard guard(network_mutex_);
  if (published_) return {};
  during.begin(base::Phase::publish);
  // whoever looks for the newest address goes from life to life: there must be no gap
  auto& published = factories_.lives->published;
  for (std::uint32_t life = published.load(std::memory_order_relaxed); life < life_; ++life)
    SHIM_TRY(bootstrap_->publish(address_key(life), no_address()));
  SHIM_TRY(bootstrap_->publish(address_key(life_), network->address()));
  published.store(life_ + 1, std::memory_order_relaxed);
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
  if (network) network->wait_for_opening();
}

base::Result<NetworkAddress> Process::own_address() {
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  return NetworkAddress{life_, network->address()};
}

/// Those of the own node are found in its segment, whatever their address is.
void Process::learn_address(base::ProcessId process, std::uint32_t life, std::span<const std::byte> address) {
  if (!is_local(process) && addresses_.learn(process, life, address)) end_former_life(process);
}

base::Status Process::learn_found(base::ProcessId process, const NetworkAddress& found) {
  if (!transport::ContactAddress::from_bytes(found.bytes))
    return base::Error(base::ErrorClass::other, "what the launcher answers for the address of process " + std::to_string(process.rank) +
                                                    " is none: " + std::to_string(found.bytes.size()) + " bytes that are damaged, or of another version");
  note_published(process, found.life);
  learn_address(process, found.life, found.bytes);
  return {};
}

void Process::note_published(base::ProcessId process, std::uint32_t life) {
  std::lock_guard guard(network_mutex_);
  const auto [at, is_new] = others_published_.try_emplace(process, life);
  if (!is_new) at->second = std::max(at->second, life);  // an answer that has been on its way may be old
}

bool Process::has_published(base::ProcessId process, std::uint32_t life) const {
  std::lock_guard guard(network_mutex_);
  const auto at = others_published_.find(process);
  return at != others_published_.end() && at->second == life;
}

void Process::learn_life(base::ProcessId process, std::uint32_t life) {
  if (!is_local(process) && addresses_.learn_life(process, life)) end_former_life(process);
}

std::optional<std::uint32_t> Process::known_life(base::ProcessId process) {
  const auto life = addresses_.life_of(process);
  if (life) learn_life(process, *life);
  return life;
}

void Process::end_former_life(base::ProcessId process) {
  engine_->forget(process, base::Error(base::ErrorClass::proc_aborted,
                                       "process " + std::to_string(process.rank) +
                                           " has ended its last session and begun anew; communicators of before do not reach it"));
}

std::vector<std::uint32_t> Process::slots_of(const p2p::Members& members) const {
  std::vector<std::uint32_t> slots;
  for (int rank = 0; rank < members.size(); ++rank) slots.push_back(slot_of(members.at(rank)));
  return slots;
}

bool Process::is_local(base::ProcessId process) const {
  const auto& nodes = bootstrap_->node_map();
  return segment_ && process.world == 0 && nodes.node_of(process.rank) == nodes.node_of(self().rank);
}

bool Process::has_on_node(const p2p::Members& members) const {
  if (!segment_) return false;
  if (place_.node_count == 1) return true;
  for (int rank = 0; rank < members.size(); ++rank)
    if (!is_local(members.at(rank))) return false;
  return true;
}

bool Process::has_session(base::ProcessId process) const { return segment_->is_ready(slot_of(process)); }

bool Process::has_finalized(base::ProcessId process) const {
  if (!is_local(process)) return false;
  const std::uint32_t slot = slot_of(process);
  if (segment_->has_left(slot)) return true;
  return segment_->is_free(slot) && factories_.lives->met.contains(process.rank);
}

bool Process::has_lost_launcher() {
  if (!bootstrap_->has_lost_launcher()) return false;
  if (!lost_launcher_.exchange(true, std::memory_order_relaxed))
    log_.write(base::LogLevel::error, "the launcher that started this process is gone; what waits for other processes ends");
  return true;
}

bool Process::is_running(base::ProcessId process) const {
  return !is_local(process) || segment_->is_alive(slot_of(process));
}

bool Process::ended_before_attaching(base::ProcessId process) {
  if (!launched_ || !is_local(process) || segment_->was_ready(slot_of(process))) return false;
  return launched_->has_ended(process.rank);
}

transport::Presence Process::presence_of(base::ProcessId process) {
  if (is_local(process) || !known_life(process)) return transport::Presence::unknown;
  const auto route = route_to(process);
  if (!route) return transport::Presence::unknown;
  const auto presence = engine_->presence_at(*route);
  return presence ? *presence : transport::Presence::unknown;
}

bool Process::is_out_of_reach(base::ProcessId process) {
  const auto presence = presence_of(process);
  const auto& nodes = bootstrap_->node_map();
  const bool is_near = factories_.nodes_share_machine || nodes.node_of(process.rank) == nodes.node_of(self().rank);
  return presence == transport::Presence::gone || (is_near && presence == transport::Presence::gone_if_near);
}

bool Process::is_in_touch(base::ProcessId process) { return presence_of(process) == transport::Presence::there; }

AddressLookup Process::look_for(base::ProcessId process, std::optional<std::uint32_t> known) {
  return {*bootstrap_, process.rank, own_life(), known, known ? nullptr : &sought_};
}

base::Result<p2p::Route> Process::route_to(base::ProcessId process) {
  if (process == self()) return p2p::Route{self_transport_.get(), self_transport_->address()};
  if (is_local(process)) {
    return p2p::Route{shm_transport_.get(),
                      transport::shm_address(slot_of(process), shm_settings(settings_, bootstrap_->job()))};
  }
  SHIM_TRY_ASSIGN(transport::Net * network, this->network());
  SHIM_TRY_ASSIGN(NetworkAddress address, addresses_.find(process));
  return p2p::Route{network, std::move(address.bytes)};
}

}  // namespace shim::sessions
