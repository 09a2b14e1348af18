// SPDX-License-Identifier: BSD-3-Clause
// Provides communicators whose members are in one program, stepped by one thread or run by one
// thread each; and data for tests of collectives.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/coll.hpp"
#include "tests/p2p/world.hpp"

namespace shim::coll {

inline const int kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
/// Items. The last count exceeds eager messages, and has blocks of unequal length at every size.
inline const std::uint64_t kCounts[] = {0, 1, 7, 1009};

inline std::vector<int> roots_of(int size) {
  if (size > 9) return {0, 5, size - 1};
  std::vector<int> roots(static_cast<std::size_t>(size));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

/// Return a value that identifies its rank and its index.
inline std::int64_t value_at(int rank, std::uint64_t index) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(rank) + 1) * 1'000'003 +
                                   index * 7919);
}

using Items = std::vector<std::int64_t>;
inline Items values(int rank, std::uint64_t count, std::uint64_t first = 0) {
  Items items(count);
  for (std::uint64_t i = 0; i < count; ++i) items[i] = value_at(rank, first + i);
  return items;
}
inline Items untouched(std::uint64_t count) { return Items(count, -1); }

inline Bytes bytes_of(Items& items) { return std::as_writable_bytes(std::span(items)); }
inline std::byte* data_of(Items& items) { return bytes_of(items).data(); }
inline const types::Type& int64_type() { return *types::find_predefined("MPI_INT64_T"); }
inline types::ConstBuffer out(const Items& items) {
  return {items.data(), items.size(), &int64_type()};
}
inline types::Buffer in(Items& items) { return {items.data(), items.size(), &int64_type()}; }
inline const types::ConstBuffer kInPlace{};

/// Start make(comm) on every member, and step all engines until all have ended. Return the error
/// text of each member, empty if it succeeded.
inline std::vector<std::string> run_all(p2p::World& world,
                                        const std::vector<std::unique_ptr<Comm>>& comms,
                                        const std::function<Task(Comm&)>& make) {
  std::vector<p2p::Request*> requests;
  for (auto& comm : comms) requests.push_back(p2p::value_of(start(*comm, make(*comm))));
  bool all_ended = world.step_until([&] {
    return std::all_of(requests.begin(), requests.end(),
                       [](p2p::Request* request) { return request->is_done(); });
  });
  EXPECT_TRUE(all_ended) << "a collective hangs";
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    p2p::Request* request = requests[i];
    errors.push_back(!request->is_done()           ? "hangs"
                     : request->error() != nullptr ? request->error()->text()
                                                   : "");
    comms[i]->engine().release(request);
  }
  return errors;
}

/// By rank, a number for each node.
using Layout = std::vector<std::uint32_t>;
/// Layouts in node order, with equal and unequal numbers of members; and out of node order.
inline const Layout kLayouts[] = {{7, 7, 2},
                                  {0, 0, 1, 1},
                                  {1, 0, 0, 0, 2, 2},
                                  {0, 1, 0, 1, 0},
                                  {3, 3, 3, 3, 0, 4, 4, 4, 3},
                                  {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}};

/// The locality of a process in a layout of nodes, without shared memory.
class LayoutLocality final : public Locality {
 public:
  LayoutLocality(const Layout& layout, int rank) : layout_(layout), rank_(rank) {}
  MemorySharing sharing() const override { return MemorySharing::nothing; }
  std::unique_ptr<const Nodes> nodes() const override {
    return Nodes::of(
        static_cast<int>(layout_.size()), rank_,
        [this](int rank) { return layout_[static_cast<std::size_t>(rank)]; },
        MemorySharing::memory);
  }
  std::optional<node::ShmCollSegmentId> allocate_coll_segment() const override {
    return std::nullopt;
  }
  std::unique_ptr<node::ShmCollHandle> open_coll_segment(node::ShmCollSegmentId) const override {
    return nullptr;
  }

 private:
  Layout layout_;
  int rank_;
};

class Rig {
 public:
  explicit Rig(int size, transport::LoopFaults faults = {}) : Rig(size, {}, faults) {}
  explicit Rig(const Layout& layout, transport::LoopFaults faults = {})
      : Rig(static_cast<int>(layout.size()), layout, faults) {}
  int size() const { return world_.size(); }
  /// Return the nodes; null if all members are on one node.
  const Nodes* nodes() { return comm(0).nodes(); }
  /// True if this row is to be tested here. With several nodes, only algorithms that use nodes are
  /// tested, because the layout does not affect the others.
  bool is_for(const When& when, bool commutative) {
    const bool knows_nodes = when.needs_nodes || when.needs_nodes_in_order;
    return when.is_possible(size(), commutative, nodes()) && knows_nodes == (nodes() != nullptr);
  }
  Comm& comm(int rank) { return *comms_[static_cast<std::size_t>(rank)]; }
  p2p::World& world() { return world_; }

  std::vector<std::string> run(const std::function<Task(Comm&)>& make) {
    return run_all(world_, comms_, make);
  }
  /// Run make(comm) on every member; each must succeed.
  void expect_success(const std::function<Task(Comm&)>& make) {
    for (const std::string& error : run(make)) ASSERT_EQ(error, "");
  }

 private:
  Rig(int size, const Layout& layout, transport::LoopFaults faults)
      : world_({.processes = size, .faults = faults}) {
    contexts_ = world_.contexts();
    for (int rank = 0; rank < size; ++rank) {
      if (!layout.empty()) localities_.push_back(std::make_unique<LayoutLocality>(layout, rank));
      comms_.push_back(std::make_unique<Comm>(
          world_.engine(rank), *contexts_[static_cast<std::size_t>(rank)], scratch_, rank, size,
          nullptr, layout.empty() ? nullptr : localities_.back().get()));
    }
  }

  p2p::World world_;
  std::vector<p2p::ContextPtr> contexts_;
  ScratchPoolPtr scratch_ = std::make_shared<ScratchPool>();
  std::vector<std::unique_ptr<LayoutLocality>> localities_;
  std::vector<std::unique_ptr<Comm>> comms_;
};

/// Return faults that delay, reorder and refuse packets according to a seed.
inline transport::LoopFaults troubled(std::uint64_t seed) {
  return {.seed = seed, .again_chance = 0.2, .max_delay = 5, .reorder_pairs = true};
}

/// Run `body` with a rig of each size of the sweep, and of each layout of nodes.
template <typename Body>
void for_each_size(const Body& body) {
  for (const Layout& layout : kLayouts) {
    SCOPED_TRACE("layout " + testing::PrintToString(layout));
    Rig rig(layout, troubled(layout.size()));
    body(rig);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (int size : kSizes) {
    SCOPED_TRACE("size " + std::to_string(size));
    Rig rig(size, troubled(static_cast<std::uint64_t>(size)));
    body(rig);
    if (testing::Test::HasFatalFailure()) return;
  }
}
template <typename Body>
void for_each_root(int size, const Body& body) {
  for (int root : roots_of(size)) {
    for (std::uint64_t count : kCounts) {
      SCOPED_TRACE("root " + std::to_string(root) + ", count " + std::to_string(count));
      body(root, count);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// x -> a*x + b modulo 2^64: composing two of them is associative and does not commute.
struct Affine {
  std::uint64_t a = 1, b = 0;
  bool operator==(const Affine&) const = default;
};
inline Affine operator*(const Affine& left, const Affine& right) {
  return {left.a * right.a, left.a * right.b + left.b};
}
inline const types::Type& affine_type() {
  static const types::Type type{.size = sizeof(Affine),
                                .extent = sizeof(Affine),
                                .elements = 2,
                                .base = types::find_predefined("MPI_UINT64_T")};
  return type;
}
inline const types::Op& compose() {
  static const types::Op op{
      .name = "compose",
      .commutative = false,
      .user = [](void*, const void* in, void* inout, std::uint64_t count, const types::Type&) {
        auto* left = static_cast<const Affine*>(in);
        auto* right = static_cast<Affine*>(inout);
        for (std::uint64_t i = 0; i < count; ++i) right[i] = left[i] * right[i];
      }};
  return op;
}
using Maps = std::vector<Affine>;
inline Maps maps(int rank, std::uint64_t count) {
  Maps result(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto n = static_cast<std::uint64_t>(value_at(rank, i));
    result[i] = {2 * n + 3, n * n + 1};
  }
  return result;
}
/// Return the composition of the values of the ranks first to last, in order.
inline Maps composed(int first, int last, std::uint64_t count) {
  Maps result(count);
  for (int rank = first; rank <= last; ++rank) {
    Maps next = maps(rank, count);
    for (std::uint64_t i = 0; i < count; ++i) result[i] = result[i] * next[i];
  }
  return result;
}
inline Items summed(int first, int last, std::uint64_t count) {
  Items result(count);
  for (int rank = first; rank <= last; ++rank) {
    for (std::uint64_t i = 0; i < count; ++i) result[i] += value_at(rank, i);
  }
  return result;
}

}  // namespace shim::coll
