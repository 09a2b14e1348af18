// SPDX-License-Identifier: BSD-3-Clause
// What the handles of one kind stand for. Looking up takes no lock and no write; entries never move.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "shim/base/biased_lock.hpp"
#include "shim/base/result.hpp"
#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// Constant-initialised and never destroyed: it costs a process that makes no object of ours nothing, neither at the start nor
/// at the end. Chunks are kept for good once made; what the entries held is destroyed when they are taken out.
///
/// H is the handle's type in MPI.
///
/// Slots are used again in turn, the longest free first, so that a stale handle meets its own generation again only after
/// kGenerations times as many objects as the table has slots.
template <typename T, typename H>
class HandleTable {
 public:
  explicit constexpr HandleTable(abi::Kind kind) : kind_(kind) {}

  /// The new object's handle. Errors: no_mem (no slot left, or no address space for handles).
  base::Result<H> insert(T&& value) {
    if (abi::slot_limit() == 0) [[unlikely]] SHIM_TRY(abi::reserve_handles());
    std::lock_guard lock(lock_);
    if (first_free_ == kNone && !grow())
      return base::Error(base::ErrorClass::no_mem, "all " + std::to_string(capacity_) + " handles of this kind are in use");
    std::uint32_t slot = first_free_;
    Entry& entry = entry_at(slot);
    first_free_ = entry.next_free;
    if (first_free_ == kNone) last_free_ = kNone;
    entry.value = std::move(value);
    std::uint32_t generation = entry.state.load(std::memory_order_relaxed) >> 1;
    entry.state.store(generation << 1 | kLive, std::memory_order_release);  // pairs with the acquire in find()
    count(+1);
    return abi::from_bits<H>(abi::encode({kind_, slot, generation}));
  }

  /// Null for a handle that is not ours, of another kind, or stale. What it points to stays until the handle is taken.
  T* find(H handle) noexcept {
    Entry* entry = entry_of(handle);
    return entry != nullptr ? &entry->value : nullptr;
  }

  /// Takes the object out; from here on its handle is stale. Of two threads that try, one succeeds.
  std::optional<T> take(H handle) {
    std::optional<T> value;
    std::lock_guard lock(lock_);
    Entry* entry = entry_of(handle);
    if (entry == nullptr) return value;
    const std::uint32_t generation = entry->state.load(std::memory_order_relaxed) >> 1;
    entry->state.store((generation + 1) % abi::kGenerations << 1, std::memory_order_relaxed);
    value.emplace(std::move(entry->value));
    entry->value = T{};
    count(-1);
    append_free(abi::decode(abi::bits(handle)).slot, *entry);
    return value;
  }

  /// Calls visit(object) for all that have a handle; nothing comes or goes meanwhile.
  template <typename Visit>
  void for_each(Visit visit) {
    std::lock_guard lock(lock_);
    for (std::uint32_t slot = 0; slot < capacity_; ++slot) {
      Entry& entry = entry_at(slot);
      if ((entry.state.load(std::memory_order_relaxed) & kLive) != 0) visit(entry.value);
    }
  }

  std::uint32_t live() const noexcept { return live_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kLive = 1, kNone = ~0u;
  static constexpr std::uint32_t kFirstChunk = 64;  ///< entries of the first chunk; each next one has twice as many
  static constexpr int kChunks = abi::kSlotBits - std::countr_zero(kFirstChunk) + 1;

  struct Entry {
    std::atomic<std::uint32_t> state{0};  ///< generation << 1 | live
    std::uint32_t next_free = kNone;
    T value{};
  };

  struct Place { int chunk; std::uint32_t index; };
  static Place place_of(std::uint32_t slot) noexcept {
    if (slot < kFirstChunk) [[likely]] return {0, slot};
    std::uint32_t shifted = slot + kFirstChunk;
    int chunk = std::bit_width(shifted) - std::bit_width(kFirstChunk);
    return {chunk, shifted - (kFirstChunk << chunk)};
  }
  Entry& entry_at(std::uint32_t slot) noexcept {
    Place place = place_of(slot);
    return chunks_[static_cast<std::size_t>(place.chunk)].load(std::memory_order_relaxed)[place.index];
  }
  Entry* entry_of(H handle) noexcept {
    if (!abi::is_ours(handle)) return nullptr;
    abi::Handle fields = abi::decode(abi::bits(handle));
    if (fields.kind != kind_) return nullptr;
    Place place = place_of(fields.slot);
    // acquire: pairs with the release in grow(), for handles that a user made up
    Entry* chunk = chunks_[static_cast<std::size_t>(place.chunk)].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    Entry& entry = chunk[place.index];
    return entry.state.load(std::memory_order_acquire) == (fields.generation << 1 | kLive) ? &entry : nullptr;
  }
  /// Under the lock, so that no addition is lost.
  void count(int more) noexcept {
    live_.store(live_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(more), std::memory_order_relaxed);
  }
  void append_free(std::uint32_t slot, Entry& entry) noexcept {
    entry.next_free = kNone;
    if (last_free_ == kNone) first_free_ = slot;
    else entry_at(last_free_).next_free = slot;
    last_free_ = slot;
  }
  bool grow() {
    if (capacity_ >= abi::slot_limit()) return false;
    int chunk = place_of(capacity_).chunk;
    std::uint32_t entries = kFirstChunk << chunk;
    auto* made = new Entry[entries];
    chunks_[static_cast<std::size_t>(chunk)].store(made, std::memory_order_release);
    for (std::uint32_t i = 0; i < entries && capacity_ < abi::slot_limit(); ++i) append_free(capacity_++, made[i]);
    return true;
  }

  abi::Kind kind_;
  base::BiasedLock lock_;  ///< guards all changes
  std::uint32_t capacity_ = 0, first_free_ = kNone, last_free_ = kNone;
  std::atomic<std::uint32_t> live_{0};
  std::array<std::atomic<Entry*>, kChunks> chunks_{};
};

}  // namespace shim::intercept
