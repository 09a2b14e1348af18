// SPDX-License-Identifier: BSD-3-Clause
// ShmRendezvous is a named barrier in shared memory with a payload of each member.
//
// Its members are a known set of processes of one node. No member is a root, and no message is
// sent: each member arrives at a record, and the last one wakes the others.
//
// Records are in the store (node/shared_area.hpp) of one member, the host; each member computes
// locally which member is the host. The full name identifies a rendezvous. It ends equally for all
// members: complete, or aborted by any member before the last one arrives.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/node/shared_area.hpp"
#include "shim/node/slot.hpp"

namespace shim::node {

inline constexpr std::size_t kMaxRendezvousName = 376;  ///< bytes
/// Most words that rank 0 contributes in addition to its first.
inline constexpr std::size_t kRendezvousExtraWords = 4;

/// State of a record in one word; zero is an unused record.
struct RendezvousState {
  enum class Stage : std::uint8_t { free, opening, open, aborted };
  /// Times the record has been opened; only grows, so that leftovers of earlier rounds are
  /// detected.
  std::uint32_t round = 0;
  std::uint16_t arrivals = 0, left = 0;  ///< members that have arrived, and that have left again
  Stage phase = Stage::free;

  static constexpr int kCountBits = 14;
  static constexpr std::uint32_t kMaxMembers = (1u << kCountBits) - 1;
  static RendezvousState of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32),
            static_cast<std::uint16_t>(word >> 18 & kMaxMembers),
            static_cast<std::uint16_t>(word >> 4 & kMaxMembers), static_cast<Stage>(word & 3)};
  }
  std::uint64_t word() const {
    return std::uint64_t{round} << 32 | std::uint64_t{arrivals} << 18 | std::uint64_t{left} << 4 |
           static_cast<std::uint64_t>(phase);
  }
  bool is_complete(std::uint32_t members) const {
    return phase == Stage::open && arrivals == members;
  }
  bool is_open(std::uint32_t members) const { return phase == Stage::open && arrivals < members; }
};

/// Followed by a word per member, by rank, and the extra words of rank 0. The upper half of a word
/// is the round in which it is valid.
struct alignas(base::kCacheLine) RendezvousRecord {
  std::atomic<std::uint64_t> state;  ///< RendezvousState
  /// Written while the record is being opened: length of the name, then its bytes. Relaxed: a
  /// reader joins, or aborts, only the round that it loaded before.
  alignas(base::kCacheLine) std::array<std::atomic<std::uint64_t>, 1 + kMaxRendezvousName / 8> name;

  std::atomic<std::uint64_t>& payload_at(std::size_t index) {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1)[index];
  }
};
static_assert(sizeof(RendezvousRecord) == 7 * base::kCacheLine);

/// Number of the record in use: slow members of one round still read it while fast ones open the
/// next.
struct alignas(base::kCacheLine) RendezvousSelector {
  std::atomic<std::uint64_t> generation;
};

/// The members of a rendezvous.
class RendezvousMembers {
 public:
  virtual ~RendezvousMembers() = default;
  virtual std::uint32_t size() const = 0;
  virtual std::uint32_t slot_of(std::uint32_t rank) const = 0;
};

/// A member's arrival at a record. The destructor aborts an incomplete rendezvous, and releases the
/// member's use of the record.
class ShmRendezvous {
 public:
  ShmRendezvous(RendezvousRecord& record, std::uint32_t round, const RendezvousMembers& members,
                SharedArea& area)
      : record_(&record), round_(round), members_(&members), area_(&area) {}
  ~ShmRendezvous();
  ShmRendezvous(ShmRendezvous&& other) noexcept;
  ShmRendezvous& operator=(ShmRendezvous&&) = delete;

  /// True if all members have arrived; stays true.
  // acquire: pairs with the release of each arrival, so that all payloads are visible
  bool is_complete() const {
    return RendezvousState::of(record_->state.load(std::memory_order_acquire))
        .is_complete(members_->size());
  }
  bool is_aborted() const {
    return RendezvousState::of(record_->state.load(std::memory_order_relaxed)).phase ==
           RendezvousState::Stage::aborted;
  }
  /// Abort the rendezvous for all members, unless it is complete.
  void abort() const;
  /// Return a member's word once complete; from index size() on, the extra words of rank 0.
  std::uint32_t payload_at(std::size_t index) const {
    return static_cast<std::uint32_t>(record_->payload_at(index).load(std::memory_order_relaxed));
  }

 private:
  RendezvousRecord* record_;  ///< null once moved from
  std::uint32_t round_;
  const RendezvousMembers* members_;
  SharedArea* area_;
};

/// A process's access to all rendezvous of its node. Thread-safe.
class ShmRendezvousTable {
 public:
  /// Return the bytes that the table needs in the store of each process. They get memory when the
  /// process is first the host of a rendezvous.
  static std::size_t store_bytes(std::uint32_t slots);

  /// @param area outlives this object
  /// @param offset of the table in each store, at a page boundary
  ShmRendezvousTable(SharedArea& area, std::size_t offset);

  struct Participant {
    std::uint32_t host;  ///< its slot
    std::span<const std::byte> name;
    const RendezvousMembers& members;  ///< at least two; outlives the arrival
    std::uint32_t rank;                ///< the caller's
  };
  enum class ArriveStatus : std::uint8_t {
    arrived,
    arrived_before,  ///< another thread of this member has arrived
    unavailable      ///< no free record, or aborted
  };
  struct ArriveResult {
    ArriveStatus status;
    std::optional<ShmRendezvous> rendezvous;  ///< set if arrived
  };
  /// @param payload one word, and up to kRendezvousExtraWords more from rank 0
  ArriveResult arrive(const Participant& participant, std::span<const std::uint32_t> payload);
  /// Abort the rendezvous that waits under this name, if there is one.
  void abort(const Participant& participant);

 private:
  struct Bucket {
    RendezvousSelector* generation;
    std::array<RendezvousRecord*, 2> records;
  };
  Bucket bucket_of(const Participant& participant);
  bool is_backed(std::uint32_t host);
  ArriveResult open(const Bucket& bucket, std::uint64_t generation, RendezvousState seen,
                    const Participant& participant, std::span<const std::uint32_t> payload);
  ArriveResult join(const Bucket& bucket, std::uint64_t generation, RendezvousState seen,
                    const Participant& participant, std::span<const std::uint32_t> payload);

  SharedArea& area_;
  const std::size_t offset_, record_stride_;
  /// By host; a hint that saves a system call, pairs with nothing.
  std::vector<std::atomic<bool>> backed_;
};

}  // namespace shim::node
