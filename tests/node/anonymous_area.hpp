// SPDX-License-Identifier: BSD-3-Clause
// AnonymousArea is a shared area over anonymous memory for tests and measurements. The threads of a
// program and its forked children share it.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "shim/base/process_status.hpp"
#include "shim/node/segment_layout.hpp"
#include "shim/node/shared_area.hpp"

namespace shim::node::testing {

/// The memory: zeroed at the start, freed when the last process that maps it exits or unmaps it.
class AnonymousSegment {
 public:
  AnonymousSegment(std::uint32_t slots, std::size_t slot_bytes, std::size_t pair_bytes,
                   std::size_t store_bytes = 0, std::size_t cell_pool_bytes = 0) {
    spec_.job = "anonymous";
    spec_.slots = slots;
    spec_.slot_bytes = slot_bytes;
    spec_.pair_bytes = pair_bytes;
    spec_.store_bytes = store_bytes;
    spec_.cell_pool_bytes = cell_pool_bytes;
    layout_ = *SegmentLayout::of(spec_);
    void* memory = ::mmap(nullptr, layout_.total_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
  }
  ~AnonymousSegment() { ::munmap(memory_, layout_.total_bytes); }
  AnonymousSegment(const AnonymousSegment&) = delete;
  AnonymousSegment& operator=(const AnonymousSegment&) = delete;

  const SegmentSpec& spec() const { return spec_; }
  const SegmentLayout& layout() const { return layout_; }
  std::byte* memory() { return memory_; }
  std::byte* slot(std::uint32_t index) { return memory_ + layout_.slot(index); }
  std::byte* cell_pool(std::uint32_t index) { return memory_ + layout_.cell_pool(index); }
  std::size_t cell_pool_bytes() const { return spec_.cell_pool_bytes; }
  SlotControl& control(std::uint32_t slot) {
    return *reinterpret_cast<SlotControl*>(memory_ + layout_.control(slot));
  }
  /// Make the process of this slot appear to have died: no process with its identity runs.
  void mark_dead(std::uint32_t slot) {
    const base::ProcessIdentity own = base::own_identity();
    control(slot).pid_namespace = own.pid_namespace;
    control(slot).pid = own.pid;
    control(slot).start_time = own.start_time + 1;
    control(slot).state.store(static_cast<std::uint32_t>(SlotState::ready),
                              std::memory_order_release);
  }

 private:
  SegmentSpec spec_;
  SegmentLayout layout_;
  std::byte* memory_;
};

/// The view of one process. Several views may have one slot; they are of one generation.
class AnonymousArea final : public SharedArea {
 public:
  /// @param cores that the process may run on; by default one core for each slot, so that no two
  /// processes compete
  AnonymousArea(std::shared_ptr<AnonymousSegment> segment, std::uint32_t own_slot)
      : AnonymousArea(std::move(segment), own_slot, core(own_slot)) {}
  AnonymousArea(std::shared_ptr<AnonymousSegment> segment, std::uint32_t own_slot,
                const CoreSet& cores)
      : AnonymousArea(std::move(segment), own_slot, cores, std::make_shared<Backing>()) {}

  /// The set of one core.
  static CoreSet core(std::uint32_t number) {
    CoreSet set;
    set.words[number / 64 % set.words.size()] = std::uint64_t{1} << number % 64;
    return set;
  }

  /// Release: pairs with the acquire in is_ready.
  void set_ready() {
    SlotControl& own = segment_->control(own_slot());
    const base::ProcessIdentity identity = base::own_identity();
    own.pid_namespace = identity.pid_namespace;
    own.start_time = identity.start_time;
    own.pid = identity.pid;
    own.state.store(static_cast<std::uint32_t>(SlotState::ready), std::memory_order_release);
  }
  /// Make later calls of back() fail with this error.
  void refuse_memory(base::ErrorClass error) { backing_->refusal = error; }
  void give_memory() { backing_->refusal.reset(); }
  /// Return the bytes of the pages that successful calls of back() requested.
  std::size_t backed() const { return backing_->bytes; }

 private:
  struct Backing {
    std::optional<base::ErrorClass> refusal;
    std::size_t bytes = 0;
    base::Status reserve(std::size_t more) {
      if (refusal) return base::Error(*refusal, "the test has used up the memory");
      bytes += more;
      return {};
    }
  };
  AnonymousArea(std::shared_ptr<AnonymousSegment> segment, std::uint32_t own_slot,
                const CoreSet& cores, std::shared_ptr<Backing> backing)
      : SharedArea(spec_of(*segment, own_slot, cores), segment->layout(),
                   {segment->memory(),
                    [backing](std::size_t, std::size_t bytes) { return backing->reserve(bytes); },
                    [](std::size_t) { return base::Status(); }}),
        segment_(std::move(segment)),
        backing_(std::move(backing)) {
    SlotControl& own = segment_->control(own_slot);
    for (std::size_t i = 0; i < cores.words.size(); ++i) own.cores[i] = cores.words[i];
  }
  static SegmentSpec spec_of(const AnonymousSegment& segment, std::uint32_t own_slot,
                             const CoreSet& cores) {
    SegmentSpec spec = segment.spec();
    spec.own_slot = own_slot;
    spec.cores = cores;
    return spec;
  }

  std::shared_ptr<AnonymousSegment> segment_;
  std::shared_ptr<Backing> backing_;
};

}  // namespace shim::node::testing
