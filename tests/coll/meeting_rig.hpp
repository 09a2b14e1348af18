// SPDX-License-Identifier: BSD-3-Clause
// Members of a communicator that meet at a board: one thread for each, the board in memory that they share.
#pragma once

#include "shim/coll/meeting.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/coll/rig.hpp"
#include "tests/transport/anonymous_area.hpp"

namespace shim::coll {

using transport::Boards;
using transport::testing::AnonymousArea;
using transport::testing::AnonymousGround;

inline constexpr std::uint64_t kPiece = transport::kBeltPiece / 8, kBelt = transport::kBeltBytes / 8;  // items
/// Around what fits elsewhere, a piece, and the belt.
inline constexpr std::uint64_t kBeltLengths[] = {137, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece + 5, kBelt - 1, kBelt + 1, 3 * kBelt + 7};

/// Processes of one node.
class Together final : public Locality {
 public:
  Together(std::shared_ptr<AnonymousGround> ground, int rank) : area_(std::move(ground), static_cast<std::uint32_t>(rank)), rank_(rank) {}
  Sharing sharing() const override { return Sharing::boards; }
  std::unique_ptr<const Nodes> nodes() const override { return nullptr; }
  std::optional<transport::BoardPlace> take_board() const override { return boards_.take(slots()); }
  std::unique_ptr<transport::Board> open_board(transport::BoardPlace place) const override { return boards_.open(place, slots(), rank_); }
  /// From now on there is no memory for anything new.
  void refuse_memory() { area_.refuse_memory(base::ErrorClass::no_space); }

 private:
  std::vector<std::uint32_t> slots() const {
    std::vector<std::uint32_t> all(area_.slot_count());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  AnonymousArea area_;
  mutable Boards boards_{area_};
  int rank_;
};

inline void agree_on_board(Comm& comm) {
  for (int i = 0; i <= kCollectivesBeforeBoard; ++i) {
    ASSERT_EQ(comm.meeting_place().board, nullptr);
    ASSERT_TRUE(run(comm, barrier(Turn::blocking(comm))));
  }
}

/// Every member in a thread of its own: body(comm, world, together).
template <typename Body>
void on_members_of_node(int size, bool with_boards, const Body& body) {
  p2p::World world({.processes = size, .settings = p2p::World::quick()});
  auto contexts = world.contexts();
  const auto slots = static_cast<std::uint32_t>(size);
  auto ground = std::make_shared<AnonymousGround>(slots, transport::shm_slot_bytes(slots), 64, Boards::store_bytes());
  world.run([&](int rank) {
    Together together(ground, rank);
    Comm comm(world.engine(rank), *contexts[static_cast<std::size_t>(rank)], std::make_shared<ScratchPool>(), rank, size, nullptr,
              with_boards ? &together : nullptr);
    agree_on_board(comm);
    ASSERT_EQ(comm.meeting_place().board != nullptr, with_boards);
    body(comm, world, together);
  });
}

/// The same: body(comm, world).
template <typename Body>
void on_members(int size, bool with_boards, const Body& body) {
  on_members_of_node(size, with_boards, [&](Comm& comm, p2p::World& world, Together&) { body(comm, world); });
}

template <typename Body>
void at_boards(int size, const Body& body) {
  on_members(size, true, [&](Comm& comm, p2p::World&) { body(comm); });
}

inline const types::Type& double_type() { return *types::find_predefined("MPI_DOUBLE"); }
inline const types::Op& sum() { return types::predefined(types::Operator::sum); }
inline std::size_t n(int number) { return static_cast<std::size_t>(number); }

}  // namespace shim::coll
