// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/node_segment.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "shim/base/process_status.hpp"
#include "shim/node/other_segment.hpp"
#include "shim/node/segment_file.hpp"
#include "shim/node/segment_layout.hpp"

namespace shim::node {

using base::Error;
using base::ErrorClass;
using base::Status;

namespace {

/// Mapping of the whole file. Only backed memory may be accessed.
class Mapping {
 public:
  static base::Result<Mapping> make(const SegmentFile& file, std::size_t bytes) {
    void* begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                         file.descriptor(), 0);
    if (begin == MAP_FAILED)
      return Error(ErrorClass::no_mem, base::Origin::system, errno,
                   "cannot map " + std::to_string(bytes) + " bytes of " + file.location().path() +
                       " (most of them never backed by memory); raise the limit of the address "
                       "space (ulimit -v), or lower INTERSESSION_RING_BYTES, "
                       "INTERSESSION_CELL_POOL_BYTES or INTERSESSION_VCIS");
    ::madvise(begin, bytes,
              MADV_DONTFORK);  // a child of fork() must not use it; optional, so errors are ignored
    return Mapping(static_cast<std::byte*>(begin), bytes);
  }
  Mapping(Mapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_), owner_(other.owner_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (begin_ != nullptr && owner_ == ::getpid())
      ::munmap(begin_, bytes_);  // not in a child of fork(), which lacks it: MADV_DONTFORK
  }
  std::byte* begin() const { return begin_; }

 private:
  Mapping(std::byte* begin, std::size_t bytes) : begin_(begin), bytes_(bytes), owner_(::getpid()) {}
  std::byte* begin_;
  std::size_t bytes_;
  pid_t owner_;
};

/// Address space for the pair blocks and cell pools of all VCIs: 2 GiB, because processes with an
/// address space limit mostly have more.
constexpr std::uint64_t kMaxBytesOfVcis = std::uint64_t{1} << 31;

constexpr std::uint32_t value(SlotState state) { return static_cast<std::uint32_t>(state); }

}  // namespace

struct NodeSegment::State {
  SegmentSpec spec;
  SegmentLayout layout;
  SegmentFile file;
  Mapping mapping;
  base::ProcessIdentity own = base::own_identity();
  bool holds_slot = false;

  SlotControl& control(std::uint32_t index) const {
    return *reinterpret_cast<SlotControl*>(mapping.begin() + layout.control(index));
  }
  NodeOnceStorage once_storage(std::size_t number, std::size_t offset, std::size_t bytes) const {
    auto* controls = reinterpret_cast<NodeOnceControl*>(mapping.begin() +
                                                        layout.once_controls_offset);
    return {controls[number], {mapping.begin() + offset, bytes}};
  }
  SegmentMemory memory() const {
    return {mapping.begin(),
            [this](std::size_t offset, std::size_t bytes) { return file.reserve(offset, bytes); },
            [this](std::size_t bytes) { return file.check_free(bytes); }};
  }
  Status claim_slot();
  void leave();
};

/// Claim the slot of this process. The kernel arbitrates, and releases the claim of a killed
/// process.
Status NodeSegment::State::claim_slot() {
  SlotControl& mine = control(spec.own_slot);
  if (!file.claim(layout.control(spec.own_slot)))
    return Error(ErrorClass::other, "slot " + std::to_string(spec.own_slot) +
                                        " of the node segment " + file.location().path() +
                                        " is in use by process id " +
                                        std::to_string(mine.pid.load(std::memory_order_relaxed)) +
                                        ": two processes claim rank " +
                                        std::to_string(spec.world_rank) + " of job " + spec.job +
                                        "; start each process with the launcher, and do not pass "
                                        "the launcher's variables to other programs");
  holds_slot = true;
  // Relaxed: set_ready() releases all of these stores. A reader that finds `attaching` reads no
  // identity. A reader that combines the former owner's state with a part of the new identity may
  // take the former owner for dead, which is true: another process gets the slot only after the
  // former owner has left or died.
  mine.state.store(value(SlotState::attaching), std::memory_order_relaxed);
  mine.pid_namespace.store(own.pid_namespace, std::memory_order_relaxed);
  mine.start_time.store(own.start_time, std::memory_order_relaxed);
  mine.pid.store(own.pid, std::memory_order_relaxed);
  mine.world_rank.store(spec.world_rank, std::memory_order_relaxed);
  mine.numa_node.store(spec.numa_node ? *spec.numa_node + 1 : 0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < mine.cores.size(); ++i)
    mine.cores[i].store(spec.cores.words[i], std::memory_order_relaxed);
  // release: pairs with the acquire in slot_generation()
  mine.generation.fetch_add(1, std::memory_order_release);
  if (mine.has_first_cores.load(std::memory_order_relaxed) ==
      0) {  // relaxed: only the slot's owner writes it
    for (std::size_t i = 0; i < mine.first_cores.size(); ++i)
      mine.first_cores[i].store(spec.cores.words[i], std::memory_order_relaxed);
    mine.has_first_cores.store(
        1, std::memory_order_release);  // release: pairs with the acquire in first_cores()
  }
  return {};
}

void NodeSegment::State::leave() {
  if (::getpid() != own.pid || !holds_slot)
    return;  // in a child of fork(), the slot belongs to the parent
  // release: pairs with the acquire in is_ready() and is_alive()
  control(spec.own_slot).state.store(value(SlotState::left), std::memory_order_release);
}

NodeSegment::NodeSegment(std::unique_ptr<State> state)
    : SharedArea(state->spec, state->layout, state->memory()), state_(std::move(state)) {}

NodeSegment::~NodeSegment() { state_->leave(); }

void NodeSegment::leave_at_once() {
  state_->leave();
  release_file();
}

void NodeSegment::release_file() { state_->file.release(); }

base::Result<std::unique_ptr<NodeSegment>> NodeSegment::attach(const SegmentSpec& spec,
                                                               double ready_timeout_s) {
  SHIM_TRY_ASSIGN(const SegmentLayout layout, SegmentLayout::of(spec));
  remove_unused_segments(spec.directory);
  const SegmentLocation location = segment_location(spec.directory, spec.job, spec.node);
  const SegmentHeader wanted = header_of(spec);
  SHIM_TRY_ASSIGN(
      SegmentFile file,
      SegmentFile::open(location, std::as_bytes(std::span(&wanted, 1)), layout.hardware_offset,
                        layout.total_bytes, base::Deadline::from_setting(ready_timeout_s)));
  SegmentHeader found;
  SHIM_TRY(file.read(std::as_writable_bytes(std::span(&found, 1))));
  SHIM_TRY(check_header(found, spec, location.path()));
  SHIM_TRY(file.check_size(layout.total_bytes));
  SHIM_TRY_ASSIGN(Mapping mapping, Mapping::make(file, layout.total_bytes));
  std::unique_ptr<NodeSegment> segment(new NodeSegment(
      std::make_unique<State>(State{spec, layout, std::move(file), std::move(mapping)})));
  SHIM_TRY(segment->back(segment->slot(spec.own_slot), spec.slot_bytes));
  SHIM_TRY(segment->state_->claim_slot());
  return segment;
}

std::optional<std::int32_t> NodeSegment::other_segment() const {
  return process_with_another_file(state_->file.location().path());
}

SharedArea NodeSegment::area_of(std::uint32_t vci) const {
  return {state_->spec, layout(), memory(), vci};
}

Status NodeSegment::open_vci(std::uint32_t vci) {
  SHIM_TRY(back(area_of(vci).slot(0), layout().vci_slots_bytes));
  // relaxed: only the slot's owner writes it, and reads it in its next incarnation
  auto& vcis = control(own_slot()).vcis;
  vcis.store(std::max(vcis.load(std::memory_order_relaxed), vci + 1), std::memory_order_relaxed);
  return {};
}

Status NodeSegment::check_space_for_vci(std::uint32_t vci) const {
  return state_->file.check_capacity((vci + std::size_t{1}) * layout().vci_ring_bytes);
}

std::uint32_t NodeSegment::vcis_in_use() const {
  return std::max(control(own_slot()).vcis.load(std::memory_order_relaxed), 1u);
}

std::uint32_t NodeSegment::vcis_that_fit(const SegmentSpec& spec, std::uint32_t wanted) {
  // double, because no size overflows it
  const double slots = spec.slots, bytes = slots * (slots * static_cast<double>(spec.pair_bytes) +
                                                    static_cast<double>(spec.cell_pool_bytes));
  return wanted * bytes <= static_cast<double>(kMaxBytesOfVcis) ? wanted : 1;
}

bool NodeSegment::was_ready(std::uint32_t index) const {
  return is_ready(index) || has_left(index);
}

bool NodeSegment::is_free(std::uint32_t index) const { return state(index) == SlotState::free; }

bool NodeSegment::has_left(std::uint32_t index) const { return state(index) == SlotState::left; }

bool NodeSegment::has_died(std::uint32_t index) const {
  return is_ready(index) && !owner_runs(index);
}

bool NodeSegment::has_seen_all() const {
  for (std::uint32_t index = 0; index < slot_count(); ++index)
    if (!was_ready(index)) return false;
  return true;
}

std::optional<CoreSet> NodeSegment::first_cores(std::uint32_t index) const {
  const SlotControl& slot_control = control(index);
  // acquire: pairs with the release in claim_slot(), so that the cores are complete
  if (slot_control.has_first_cores.load(std::memory_order_acquire) == 0) return std::nullopt;
  CoreSet cores;
  for (std::size_t i = 0; i < cores.words.size(); ++i)
    cores.words[i] = slot_control.first_cores[i].load(std::memory_order_relaxed);
  return cores;
}

NodeOnceStorage NodeSegment::hardware_storage() {
  return state_->once_storage(0, state_->layout.hardware_offset, HardwareMap::kMaxBytes);
}

NodeOnceStorage NodeSegment::node_map_storage() {
  return state_->once_storage(1, state_->layout.node_map_offset, state_->spec.node_map_bytes);
}

AddressTable NodeSegment::address_table() {
  const std::uint32_t processes = state_->spec.job_size;
  auto* chunk_bitmap = reinterpret_cast<std::atomic<std::uint64_t>*>(
      state_->mapping.begin() + state_->layout.chunk_bitmap_offset);
  auto* records = reinterpret_cast<AddressRecord*>(state_->mapping.begin() +
                                                   state_->layout.addresses_offset);
  return {std::span(chunk_bitmap, AddressTable::chunk_bitmap_words(processes)),
          std::span(records, AddressTable::chunks_for(processes) * AddressTable::kRecordsPerChunk),
          [this](std::byte* begin, std::size_t bytes) { return back(begin, bytes); }};
}

void NodeSegment::set_ready() {
  // release: pairs with the acquire in is_ready()
  control(own_slot()).state.store(value(SlotState::ready), std::memory_order_release);
}

std::atomic<std::uint32_t>& NodeSegment::context_counter() {
  return control(own_slot()).context_counter;
}

}  // namespace shim::node
