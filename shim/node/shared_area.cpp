// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/shared_area.hpp"

#include <utility>

#include "shim/base/pages.hpp"
#include "shim/node/numa.hpp"

namespace shim::node {

using base::Status;

namespace {

base::ProcessIdentity identity_in(const SlotControl& control) {
  // relaxed: the identity is only used after an acquire of the state, or as a guess about the past
  return {control.pid_namespace.load(std::memory_order_relaxed),
          control.start_time.load(std::memory_order_relaxed),
          control.pid.load(std::memory_order_relaxed)};
}

bool has_attached(SlotState state) {
  return state != SlotState::free && state != SlotState::attaching;
}

}  // namespace

SharedArea::SharedArea(const SegmentSpec& spec, const SegmentLayout& layout, SegmentMemory memory,
                       std::uint32_t vci)
    : memory_(std::move(memory)),
      layout_(layout),
      vci_(vci),
      slots_(spec.slots),
      own_slot_(spec.own_slot),
      vci_count_(spec.vcis),
      slot_bytes_(spec.slot_bytes),
      store_bytes_(spec.store_bytes),
      cell_pool_bytes_(spec.cell_pool_bytes),
      cores_(spec.cores),
      numa_node_(spec.numa_node) {}

Status SharedArea::back(std::byte* begin, std::size_t bytes) const {
  const std::size_t page = page_bytes();
  const auto offset = static_cast<std::size_t>(begin - memory_.begin);
  const std::size_t first = offset / page * page;
  if (bytes == 0) return {};
  return memory_.reserve(first, round_up(offset + bytes, page) - first);
}

Status SharedArea::back_spare(std::byte* begin, std::size_t bytes) const {
  SHIM_TRY(memory_.check_free(bytes + vci_count_ * layout_.vci_ring_bytes));
  SHIM_TRY(back(begin, bytes));
  base::prefault_pages(begin, bytes);
  return {};
}

Status SharedArea::back_pair_to(std::uint32_t index) const {
  // relaxed: a process that opens a link has seen the reader ready, and the preference is optional
  const std::uint32_t reader = control(index).numa_node.load(std::memory_order_relaxed);
  // without the page in the middle, which both read: it is near the first process that opens a link
  if (reader != 0 && numa_node_ != reader - 1)
    prefer_numa_node(memory_.begin + layout_.pages_of_pair(own_slot_, index, vci_),
                     layout_.pages_of_pair_bytes(), reader - 1);
  return back(pair(own_slot_, index), pair_bytes());
}

bool SharedArea::is_ready(std::uint32_t index) const { return state(index) == SlotState::ready; }

bool SharedArea::is_alive(std::uint32_t index) const {
  return !has_attached(state(index)) || owner_runs(index);
}

bool SharedArea::owner_runs(std::uint32_t index) const {
  return base::is_running(identity_in(control(index)), own_);
}

std::uint32_t SharedArea::slot_generation(std::uint32_t index) const {
  // acquire: pairs with the release of the process that attaches
  return control(index).generation.load(std::memory_order_acquire);
}

double SharedArea::processes_per_core() const {
  CoreDemand demand(cores_);
  for (std::uint32_t index = 0; index < slots_; ++index) {
    // the state is loaded first, so that the cores are complete
    if (!has_attached(state(index)) && index != own_slot_) {
      demand.add_unknown();
      continue;
    }
    CoreSet cores;
    for (std::size_t i = 0; i < cores.words.size(); ++i)
      cores.words[i] = control(index).cores[i].load(std::memory_order_relaxed);
    demand.add(cores);
  }
  return demand.per_core();
}

std::int32_t SharedArea::pid(std::uint32_t index) const {
  const base::ProcessIdentity identity = identity_in(control(index));
  return identity.pid_namespace == own_.pid_namespace ? identity.pid : 0;
}

}  // namespace shim::node
