// SPDX-License-Identifier: BSD-3-Clause
// Roll calls: shared memory in which processes of one node find out that all of them have come, and read what each has brought. Nobody
// collects, and no message is sent: whoever comes signs a sheet, and the last one to sign wakes the others.
//
// The sheets lie in the store of one member, their host, whom all find by themselves. A roll call is known by its whole name. It ends
// for all in the same way: complete, or called off, which any member may do as long as somebody is missing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/base/shared_area.hpp"
#include "shim/transport/shm/slot.hpp"

namespace shim::transport {

inline constexpr std::size_t kRollCallName = 376;  ///< most bytes of a name
inline constexpr std::size_t kRollCallExtra = 4;   ///< most words that rank 0 brings beside its first

/// What a sheet is at a moment, in one word. All of it zero is a sheet that nobody has used.
struct SheetState {
  enum class Phase : std::uint8_t { free, opening, open, off };
  std::uint32_t round = 0;  ///< how often it has been opened; never goes back, so that what is left of an earlier round is found out
  std::uint16_t signatures = 0, left = 0;  ///< below kMostMembers
  Phase phase = Phase::free;

  static constexpr int kCountBits = 14;
  static constexpr std::uint32_t kMostMembers = (1u << kCountBits) - 1;
  static SheetState of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 18 & kMostMembers),
            static_cast<std::uint16_t>(word >> 4 & kMostMembers), static_cast<Phase>(word & 3)};
  }
  std::uint64_t word() const {
    return std::uint64_t{round} << 32 | std::uint64_t{signatures} << 18 | std::uint64_t{left} << 4 | static_cast<std::uint64_t>(phase);
  }
  bool is_complete(std::uint32_t members) const { return phase == Phase::open && signatures == members; }
  bool is_open(std::uint32_t members) const { return phase == Phase::open && signatures < members; }
};

/// Followed by a word for each member by rank, and those that rank 0 brings beside. Such a word has the round in its upper half: it
/// counts in that round only.
struct alignas(kLine) RollSheet {
  std::atomic<std::uint64_t> state;  ///< SheetState
  /// Written while the sheet is being opened: the length of the name, then its bytes. Relaxed: whoever reads it signs, or ends, only
  /// the round that it has seen before.
  alignas(kLine) std::array<std::atomic<std::uint64_t>, 1 + kRollCallName / 8> name;

  std::atomic<std::uint64_t>& brought(std::size_t place) { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1)[place]; }
};
static_assert(sizeof(RollSheet) == 7 * kLine);

/// Which of two sheets is in use: while the slow ones of one round read what they need, the fast ones begin the next.
struct alignas(kLine) RollTurn {
  std::atomic<std::uint64_t> turn;
};

/// Whose roll call it is.
class RollMembers {
 public:
  virtual ~RollMembers() = default;
  virtual std::uint32_t size() const = 0;
  virtual std::uint32_t slot_of(std::uint32_t rank) const = 0;
};

/// A member's signature. Destruction says that it needs nothing more of the sheet.
class RollCall {
 public:
  RollCall(RollSheet& sheet, std::uint32_t round, const RollMembers& members, base::SharedArea& area)
      : sheet_(&sheet), round_(round), members_(&members), area_(&area) {}
  ~RollCall();
  RollCall(RollCall&& other) noexcept;
  RollCall& operator=(RollCall&&) = delete;

  /// All have signed; then it stays so.
  // acquire: pairs with the release of each signature, so that what all have brought is there
  bool is_complete() const { return SheetState::of(sheet_->state.load(std::memory_order_acquire)).is_complete(members_->size()); }
  bool is_off() const { return SheetState::of(sheet_->state.load(std::memory_order_relaxed)).phase == SheetState::Phase::off; }
  /// Ends it for all, unless it is complete.
  void call_off() const;
  /// Once complete: what this member has brought; from the number of members on, what rank 0 has brought beside.
  std::uint32_t brought(std::size_t place) const {
    return static_cast<std::uint32_t>(sheet_->brought(place).load(std::memory_order_relaxed));
  }

 private:
  RollSheet* sheet_;  ///< null once moved from
  std::uint32_t round_;
  const RollMembers* members_;
  base::SharedArea* area_;
};

/// A process's way to all roll calls of its node. Any thread.
class RollCalls {
 public:
  /// What a store has to have, beside what lies before it; a part of it is backed when a process is first the host of one.
  static std::size_t store_bytes(std::uint32_t slots);

  /// @param area outlives this  @param offset in each store: where this part of it begins, at a page
  RollCalls(base::SharedArea& area, std::size_t offset);

  struct Call {
    std::uint32_t host;  ///< its slot
    std::span<const std::byte> name;
    const RollMembers& members;  ///< two at least; they outlive the signature
    std::uint32_t rank;          ///< the caller's among them
  };
  enum class Answer : std::uint8_t {
    signed_up,
    signed_before,  ///< this member is there already: another thread of it
    elsewhere       ///< not here: there is no room, or it has been called off
  };
  struct Signed {
    Answer answer;
    std::optional<RollCall> call;  ///< where it has signed
  };
  /// @param brought one word; up to kRollCallExtra more by rank 0
  Signed sign(const Call& call, std::span<const std::uint32_t> brought);
  /// Ends for all the one that waits under this name, if there is one.
  void call_off(const Call& call);

 private:
  struct Bucket {
    RollTurn* turn;
    std::array<RollSheet*, 2> sheets;
  };
  Bucket bucket_of(const Call& call);
  bool is_backed(std::uint32_t host);
  Signed open(const Bucket& bucket, std::uint64_t turn, SheetState seen, const Call& call, std::span<const std::uint32_t> brought);
  Signed join(const Bucket& bucket, std::uint64_t turn, SheetState seen, const Call& call, std::span<const std::uint32_t> brought);

  base::SharedArea& area_;
  const std::size_t offset_, sheet_stride_;
  std::vector<std::atomic<bool>> backed_;  ///< by host; a hint that saves a system call, pairs with nothing
};

}  // namespace shim::transport
