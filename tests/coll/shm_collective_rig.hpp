// SPDX-License-Identifier: BSD-3-Clause
// Provides communicators whose members share a collective segment: one thread for each member, the
// segment in anonymous shared memory.
#pragma once

#include "shim/coll/shm_collective.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/coll/rig.hpp"
#include "tests/node/anonymous_area.hpp"

namespace shim::coll {

using node::ShmCollSegments;
using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

inline constexpr std::uint64_t kChunkItems = node::kPipelineChunk / 8,
                               kRingItems = node::kPipelineRingBytes / 8;  // items
/// Items: around the capacity of a medium buffer, of a chunk, and of the broadcast ring.
inline constexpr std::uint64_t kPipelineLengths[] = {137,
                                                     kChunkItems - 1,
                                                     kChunkItems,
                                                     kChunkItems + 1,
                                                     3 * kChunkItems + 5,
                                                     kRingItems - 1,
                                                     kRingItems + 1,
                                                     3 * kRingItems + 7};

/// The locality of a process whose node has all members.
class NodeLocality final : public Locality {
 public:
  NodeLocality(std::shared_ptr<AnonymousSegment> segment, int rank)
      : area_(std::move(segment), static_cast<std::uint32_t>(rank)), rank_(rank) {}
  MemorySharing sharing() const override { return MemorySharing::segment; }
  std::unique_ptr<const Nodes> nodes() const override { return nullptr; }
  std::optional<node::ShmCollSegmentId> allocate_coll_segment() const override {
    return coll_segments_.allocate(slots());
  }
  std::unique_ptr<node::ShmCollHandle> open_coll_segment(
      node::ShmCollSegmentId segment_id) const override {
    return coll_segments_.open(segment_id, slots(), rank_);
  }
  /// Make later allocations fail.
  void refuse_memory() { area_.refuse_memory(base::ErrorClass::no_space); }

 private:
  std::vector<std::uint32_t> slots() const {
    std::vector<std::uint32_t> all(area_.slot_count());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  AnonymousArea area_;
  mutable ShmCollSegments coll_segments_{area_};
  int rank_;
};

inline void agree_on_coll_segment(Comm& comm) {
  for (int i = 0; i <= kCollectivesBeforeSegment; ++i) {
    ASSERT_EQ(comm.shm_coll_state().handle, nullptr);
    ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
  }
}

/// Run body(comm, world, locality) for each member in its own thread.
template <typename Body>
void on_members_of_node(int size, bool with_segment, const Body& body,
                        const AlgorithmTable& table = default_table()) {
  p2p::World world({.processes = size, .settings = p2p::World::quick()});
  auto contexts = world.contexts();
  const auto slots = static_cast<std::uint32_t>(size);
  auto segment = std::make_shared<AnonymousSegment>(slots, transport::shm_slot_bytes(slots), 64,
                                                    ShmCollSegments::store_bytes());
  world.run([&](int rank) {
    NodeLocality locality(segment, rank);
    Comm comm(world.engine(rank), *contexts[static_cast<std::size_t>(rank)],
              std::make_shared<ScratchPool>(), rank, size, nullptr,
              with_segment ? &locality : nullptr, table);
    agree_on_coll_segment(comm);
    ASSERT_EQ(comm.shm_coll_state().handle != nullptr, with_segment);
    body(comm, world, locality);
  });
}

/// Run body(comm, world) for each member in its own thread.
template <typename Body>
void on_members(int size, bool with_segment, const Body& body) {
  on_members_of_node(size, with_segment,
                     [&](Comm& comm, p2p::World& world, NodeLocality&) { body(comm, world); });
}

template <typename Body>
void on_segment_members(int size, const Body& body) {
  on_members(size, true, [&](Comm& comm, p2p::World&) { body(comm); });
}

inline const types::Type& double_type() { return *types::find_predefined("MPI_DOUBLE"); }
inline const types::Op& sum() { return types::predefined(types::Operator::sum); }
inline std::size_t n(int number) { return static_cast<std::size_t>(number); }

}  // namespace shim::coll
