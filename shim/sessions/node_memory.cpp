// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/node_memory.hpp"

#include <functional>
#include <utility>

#include "shim/bootstrap/launched_processes.hpp"
#include "shim/bootstrap/resolve_node_map.hpp"
#include "shim/node/numa.hpp"
#include "shim/sessions/shared_node_map.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::sessions {

NodeMemory::NodeMemory(const base::Settings& settings, const Factories& factories,
                       bootstrap::Bootstrap& bootstrap)
    : settings_(settings),
      factories_(factories),
      bootstrap_(bootstrap),
      location_(bootstrap.location()),
      vci_count_(static_cast<std::uint32_t>(settings.vcis)) {}

/// The ranks are for has_finalized() in the next Process: the last process with a session removes
/// the segment, and with it the slots that show this.
NodeMemory::~NodeMemory() {
  for (std::uint32_t slot = 0; segment_ && slot < segment_->slot_count(); ++slot)
    if (segment_->was_ready(slot))
      factories_.history->seen_ranks.insert(location_.local_ranks[slot]);
}

transport::ShmSettings NodeMemory::shm_settings() const {
  return {.ring_bytes = settings_.ring_bytes,
          .single_copy = settings_.single_copy,
          .cookie = std::hash<std::string>()(bootstrap_.job().world_name)};
}

node::SegmentSpec NodeMemory::segment_spec() const {
  const auto& job = bootstrap_.job();
  const auto slots = static_cast<std::uint32_t>(location_.local_ranks.size());
  const bool has_other_nodes = location_.node_count > 1;
  return {.job = job.world_name,
          .node = location_.local_ranks.front(),
          .slots = slots,
          .own_slot = location_.slot_of(job.rank),
          .world_rank = job.rank,
          .job_size = has_other_nodes ? job.size : 0,
          .node_map_bytes = has_other_nodes
                                ? bootstrap::NodeMap::max_bytes(job.size, location_.node_count)
                                : 0,
          .slot_bytes = transport::shm_slot_bytes(slots),
          .store_bytes = node::ShmCollSegments::store_bytes() +
                         node::ShmRendezvousTable::store_bytes(slots),
          .pair_bytes = transport::shm_pair_bytes(shm_settings()),
          .cell_pool_bytes = settings_.cell_pool_bytes,
          .directory = factories_.segment_directory,
          .cores = node::CoreSet::of_this_process(),
          .numa_node = node::current_numa_node()};
}

base::Status NodeMemory::attach() {
  transport::remove_stale_fabric_memory();
  if (location_.local_ranks.size() < 2 || settings_.transport == "fabric") {
    node::remove_unused_segments(factories_.segment_directory);  // attaching does this, too
  } else {
    node::SegmentSpec spec = segment_spec();
    spec.vcis = vci_count_ = node::NodeSegment::vcis_that_fit(spec, vci_count_);
    SHIM_TRY_ASSIGN(segment_, node::NodeSegment::attach(spec, settings_.ready_timeout));
    SHIM_TRY_ASSIGN(transport_, transport::make_shm(*segment_, shm_settings()));
    coll_segments_ = std::make_unique<node::ShmCollSegments>(*segment_);
    rendezvous_table_ = std::make_unique<node::ShmRendezvousTable>(
        *segment_, node::ShmCollSegments::store_bytes());
    if (auto identity = bootstrap_.launch_identity())
      launched_ = std::make_unique<bootstrap::LaunchedProcesses>(*std::move(identity));
  }
  hardware_ = std::make_unique<node::NodeHardware>(segment_.get(),
                                                   node::CoreSet::of_this_process());
  return {};
}

/// On one node, computing the map is as fast as reading it from the segment.
base::Status NodeMemory::resolve_node_map() {
  if (segment_ && location_.node_count > 1) return resolve_shared_node_map(bootstrap_, *segment_);
  return bootstrap::resolve_node_map(bootstrap_);
}

void NodeMemory::set_ready() {
  if (segment_) segment_->set_ready();
}

void NodeMemory::leave_at_once() {
  if (segment_) segment_->leave_at_once();
}

void NodeMemory::release_file() {
  if (segment_) segment_->release_file();
}

bool NodeMemory::is_local(base::ProcessId process) const {
  const auto& nodes = bootstrap_.node_map();
  return segment_ && process.world == 0 &&
         nodes.node_of(process.rank) == nodes.node_of(bootstrap_.job().rank);
}

bool NodeMemory::has_on_node(const p2p::Members& members) const {
  if (!segment_) return false;
  if (location_.node_count == 1) return true;
  for (int rank = 0; rank < members.size(); ++rank)
    if (!is_local(members.at(rank))) return false;
  return true;
}

std::vector<std::uint32_t> NodeMemory::slots_of(const p2p::Members& members) const {
  std::vector<std::uint32_t> slots;
  for (int rank = 0; rank < members.size(); ++rank) slots.push_back(slot_of(members.at(rank)));
  return slots;
}

bool NodeMemory::has_session(base::ProcessId process) const {
  return segment_->is_ready(slot_of(process));
}

bool NodeMemory::has_finalized(base::ProcessId process) const {
  if (!is_local(process)) return false;
  const std::uint32_t slot = slot_of(process);
  if (segment_->has_left(slot)) return true;
  return segment_->is_free(slot) && factories_.history->seen_ranks.contains(process.rank);
}

bool NodeMemory::is_running(base::ProcessId process) const {
  return !is_local(process) || segment_->is_alive(slot_of(process));
}

bool NodeMemory::has_died(base::ProcessId process) const {
  return is_local(process) && segment_->has_died(slot_of(process));
}

bool NodeMemory::ended_before_attaching(base::ProcessId process) {
  if (!launched_ || !is_local(process) || segment_->was_ready(slot_of(process))) return false;
  return launched_->has_ended(process.rank);
}

bool NodeMemory::is_oversubscribed() const {
  if (segment_) return segment_->processes_per_core() > 1;
  const auto own = node::CoreSet::of_this_process();
  node::CoreDemand demand(own);
  demand.add(own);
  for (std::size_t others = location_.local_ranks.size() - 1; others > 0; --others)
    demand.add_unknown();  // the launcher provides only the number
  return demand.per_core() > 1;
}

base::Result<std::vector<node::HardwareResource>> NodeMemory::own_hardware() {
  SHIM_TRY_ASSIGN(const node::HardwareMap* map, hardware_->map());
  return map->resources_of(node::CoreSet::of_first_thread());
}

std::optional<node::AddressTable> NodeMemory::address_table() {
  if (!segment_) return std::nullopt;
  return segment_->address_table();
}

std::atomic<std::uint32_t>* NodeMemory::context_counter() {
  return segment_ ? &segment_->context_counter() : nullptr;
}

base::Result<std::unique_ptr<node::SharedArea>> NodeMemory::open_vci(std::uint32_t vci) {
  if (!segment_) return std::unique_ptr<node::SharedArea>();
  SHIM_TRY(segment_->open_vci(vci));
  return std::make_unique<node::SharedArea>(segment_->area_of(vci));
}

base::Status NodeMemory::check_space_for_vci(std::uint32_t vci) const {
  if (!segment_) return {};
  return segment_->check_space_for_vci(vci);
}

}  // namespace shim::sessions
