// SPDX-License-Identifier: BSD-3-Clause
// HandleTable maps the handles of one kind to objects. Lookup takes no lock and writes nothing;
// entries never move.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "shim/base/biased_lock.hpp"
#include "shim/base/cache_line_isolation.hpp"
#include "shim/base/lock.hpp"
#include "shim/base/result.hpp"
#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// Table of the objects of one kind; H is the MPI handle type. Constant-initialised and never
/// destroyed: it costs nothing at start and end of a process without objects. Chunks are never
/// freed; objects are destroyed when they are taken out.
///
/// Functions on the path of every request are always_inline: calls are a large part of a short
/// message's time.
///
/// Free slots are reused first in, first out: a stale handle equals a new one only after
/// kGenerations times as many objects as the table has slots.
///
/// Each of the kParts parts has a lock and free slots of its own: threads whose objects are in
/// different parts do not contend.
template <typename T, typename H, std::uint32_t kParts = 1>
class HandleTable {
 private:
  struct Entry {
    Entry() noexcept {}
    ~Entry() {}
    union {
      T value;  ///< constructed while the entry is live or PendingEntry; first member, see Eraser
    };
    std::atomic<abi::Bits> live{0};  ///< handle of the object; 0 if there is none
    abi::Bits next = 0;  ///< handle of the present or pending object; if free, of its next object
    Entry* next_free = nullptr;
    std::uint32_t part = 0;  ///< part that owns the entry; constant
  };

 public:
  explicit constexpr HandleTable(abi::HandleKind kind) : kind_(kind) {}

  /// Owns a new object that has no handle yet, so that no other thread finds it. The destructor
  /// destroys the object unless publish_handle() was called.
  class PendingEntry {
   public:
    /// @param make returns the object, constructed in place: copying it would cost as much as a
    /// short message.
    /// @param part part of the table for the object
    template <typename Make>
    [[gnu::always_inline]] PendingEntry(HandleTable& table, const Make& make,
                                        std::uint32_t part = 0)
        : table_(table), entry_(table.take_free(part)) {
      if (entry_ == nullptr) [[unlikely]]
        return;
      try {
        ::new (static_cast<void*>(&entry_->value)) T(make());
      } catch (...) {
        table_.put_back(*entry_);
        throw;
      }
    }
    [[gnu::always_inline]] ~PendingEntry() {
      if (entry_ != nullptr) [[unlikely]]
        table_.give_up(*entry_);
    }
    PendingEntry(const PendingEntry&) = delete;
    PendingEntry& operator=(const PendingEntry&) = delete;

    /// False if the table is full; HandleTable::table_full_error() returns the error.
    explicit operator bool() const noexcept { return entry_ != nullptr; }
    T& operator*() const noexcept { return entry_->value; }
    H publish_handle() noexcept {
      Entry& entry = *std::exchange(entry_, nullptr);
      entry.live.store(entry.next,
                       std::memory_order_release);  // pairs with the acquire in entry_of()
      return abi::from_bits<H>(entry.next);
    }

   private:
    HandleTable& table_;
    Entry* entry_;
  };

  /// Insert an object and return its handle. Errors: those of table_full_error().
  [[gnu::always_inline]] base::Result<H> insert(T&& value, std::uint32_t part = 0) {
    PendingEntry made(
        *this, [&] { return std::move(value); }, part);
    if (!made) [[unlikely]]
      return table_full_error();
    return made.publish_handle();
  }

  /// Return error no_mem: no slot left.
  base::Error table_full_error() {
    return base::Error(base::ErrorClass::no_mem,
                       "all " + std::to_string(capacity()) + " handles of this kind are in use");
  }

  /// Return the object, or null for a handle that is not ours, of another kind, or stale. The
  /// pointer is valid until take() or erase() removes the object.
  T* find(H handle) noexcept {
    Entry* entry = entry_of(handle);
    return entry != nullptr ? &entry->value : nullptr;
  }

  /// Hide all present objects from find(), take() and erase(), but not from find_hidden(). For a
  /// child of fork(): takes no lock.
  void hide() noexcept {
    for (std::size_t i = 0; i < chunks_.size(); ++i)
      if (Entry* const chunk = chunks_[i].exchange(nullptr, std::memory_order_relaxed))
        hidden_[i] = chunk;
  }
  /// Return the object like find(), even if it is hidden.
  T* find_hidden(H handle) noexcept {
    if (T* const found = find(handle)) return found;
    if (!abi::is_ours(handle)) return nullptr;
    const ChunkIndex at = chunk_index_of(abi::decode(abi::bits(handle)).slot);
    Entry* const chunk = hidden_[static_cast<std::size_t>(at.chunk)];
    if (chunk == nullptr) return nullptr;
    Entry& entry = chunk[at.index];
    return entry.live.load(std::memory_order_relaxed) == abi::bits(handle) ? &entry.value : nullptr;
  }

  /// Move the object out and make its handle stale. If two threads try, one succeeds.
  std::optional<T> take(H handle) {
    std::optional<T> value;
    Entry* const entry = entry_of(handle);
    if (entry == nullptr) return value;
    std::lock_guard lock(parts_[entry->part].lock);
    if (!is_live(*entry, handle)) return value;
    value.emplace(std::move(entry->value));
    retire(*entry);
    return value;
  }

  /// Destroy the object and make its handle stale; return true if there was one.
  [[gnu::always_inline]] bool erase(H handle) {
    Entry* const entry = entry_of(handle);
    if (entry == nullptr) return false;
    std::lock_guard lock(parts_[entry->part].lock);
    if (!is_live(*entry, handle)) return false;
    retire(*entry);
    return true;
  }

  /// Erases many objects, and takes the lock once for consecutive objects of one part.
  class Eraser {
   public:
    explicit Eraser(HandleTable& table) : table_(table) {}
    /// Erase an object that find() returned for this handle.
    [[gnu::always_inline]] bool erase(T& object, H handle) {
      Entry& entry = reinterpret_cast<Entry&>(object);  // value is the first member
      if (entry.part != held_) [[unlikely]]
        hold(entry.part);
      if (!is_live(entry, handle)) [[unlikely]]
        return false;
      table_.retire(entry);
      return true;
    }

   private:
    void hold(std::uint32_t part) {
      if (lock_.owns_lock()) lock_.unlock();
      lock_ = std::unique_lock(table_.parts_[part].lock);
      held_ = part;
    }
    HandleTable& table_;
    std::uint32_t held_ = kParts;  ///< kParts: none
    std::unique_lock<base::BiasedLock> lock_;
  };

  /// Call visit(object), with the part's lock held, for all published objects that were inserted
  /// for this part; also for those of other parts if has_foreign_entries_.
  template <typename Visit>
  void for_each(Visit visit, std::uint32_t part = 0) {
    for (std::uint32_t number = 0; number < kParts; ++number)
      if (number == part || has_foreign_entries_.load(std::memory_order_relaxed))
        visit_part(number, visit);  // relaxed: as in live()
  }

  /// Return an upper bound of the number of objects inserted for this part. Relaxed: concurrent
  /// changes make it approximate anyway.
  std::uint32_t live(std::uint32_t part = 0) const noexcept {
    if (!has_foreign_entries_.load(std::memory_order_relaxed)) [[likely]]
      return parts_[part].live.load(std::memory_order_relaxed);
    std::uint32_t all = 0;
    for (const Part& each : parts_) all += each.live.load(std::memory_order_relaxed);
    return all;
  }

 private:
  /// Entries of the first chunk; each further chunk has twice as many.
  static constexpr std::uint32_t kFirstChunk = 64;
  static constexpr int kChunks = abi::kSlotBits - std::countr_zero(kFirstChunk) + 1;

  // Aligned to pairs of cache lines, which processors fetch together, against false sharing.
  struct alignas(kParts > 1 ? base::kCacheLineIsolation : alignof(void*)) Part {
    base::BiasedLock lock;        ///< guards all changes
    Entry* first_free = nullptr;  ///< longest free entry
    Entry* last_free = nullptr;   ///< latest freed entry; stale if none is free
    std::atomic<std::uint32_t> live{0};

    [[gnu::always_inline]] Entry* take() noexcept {
      count(+1);
      return std::exchange(first_free, first_free->next_free);
    }
    void append(Entry& entry) noexcept {
      entry.next_free = nullptr;
      (first_free == nullptr ? first_free : last_free->next_free) = &entry;
      last_free = &entry;
    }
    /// Call with the lock held, so that no addition is lost.
    void count(int more) noexcept {
      live.store(live.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(more),
                 std::memory_order_relaxed);
    }
  };

  static bool is_live(const Entry& entry, H handle) noexcept {
    return entry.live.load(std::memory_order_relaxed) == abi::bits(handle);
  }
  std::uint32_t capacity() {
    std::lock_guard lock(growing_);
    return capacity_;
  }
  template <typename Visit>
  void visit_part(std::uint32_t part, Visit& visit) {
    std::lock_guard lock(parts_[part].lock);
    const std::uint32_t slots = capacity();
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      Entry& entry = entry_at(slot);
      if (entry.part != part) continue;
      if (entry.live.load(std::memory_order_acquire) != 0)
        visit(entry.value);  // pairs with the release in publish_handle()
    }
  }

  struct ChunkIndex {
    int chunk;
    std::uint32_t index;
  };
  static ChunkIndex chunk_index_of(std::uint32_t slot) noexcept {
    if (slot < kFirstChunk) [[likely]]
      return {0, slot};
    std::uint32_t shifted = slot + kFirstChunk;
    int chunk = std::bit_width(shifted) - std::bit_width(kFirstChunk);
    return {chunk, shifted - (kFirstChunk << chunk)};
  }
  Entry& entry_at(std::uint32_t slot) noexcept {
    ChunkIndex at = chunk_index_of(slot);
    return chunks_[static_cast<std::size_t>(at.chunk)].load(std::memory_order_relaxed)[at.index];
  }
  Entry* entry_of(H handle) noexcept {
    if (!abi::is_ours(handle)) return nullptr;
    const ChunkIndex at = chunk_index_of(abi::decode(abi::bits(handle)).slot);
    // Pairs with the release in grow(). A valid handle needs no acquire, but the user may pass a
    // number that no thread has published.
    Entry* chunk = chunks_[static_cast<std::size_t>(at.chunk)].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    Entry& entry = chunk[at.index];
    return entry.live.load(std::memory_order_acquire) == abi::bits(handle) ? &entry : nullptr;
  }
  [[gnu::always_inline]] void retire(Entry& entry) noexcept {
    entry.live.store(0, std::memory_order_relaxed);
    std::destroy_at(&entry.value);
    entry.next = abi::with_next_generation(entry.next);
    Part& part = parts_[entry.part];
    part.count(-1);
    part.append(entry);
  }
  /// Return an unused entry; null if there is none.
  [[gnu::always_inline]] Entry* take_free(std::uint32_t number) {
    {
      Part& part = parts_[number];
      std::lock_guard lock(part.lock);
      if (part.first_free != nullptr || grow(number)) [[likely]]
        return part.take();
    }
    return take_from_other_part();
  }
  /// Return an unused entry of any part when the table cannot grow; null if there is none.
  [[gnu::noinline]] Entry* take_from_other_part() {
    has_foreign_entries_.store(kParts > 1, std::memory_order_relaxed);
    for (Part& part : parts_) {
      std::lock_guard lock(part.lock);
      if (part.first_free != nullptr) return part.take();
    }
    return nullptr;
  }
  /// Return an entry without an object.
  [[gnu::cold]] void put_back(Entry& entry) noexcept {
    Part& part = parts_[entry.part];
    std::lock_guard lock(part.lock);
    part.count(-1);
    part.append(entry);
  }
  void give_up(Entry& entry) noexcept {
    std::lock_guard lock(parts_[entry.part].lock);
    retire(entry);
  }
  /// Call with the part's lock held.
  [[gnu::noinline]] bool grow(std::uint32_t part) {
    std::lock_guard lock(growing_);
    abi::handle_was_made.store(true, std::memory_order_relaxed);
    if (capacity_ >= abi::kMaxSlots) return false;
    int chunk = chunk_index_of(capacity_).chunk;
    std::uint32_t entries = kFirstChunk << chunk;
    auto* made = new Entry[entries];
    chunks_[static_cast<std::size_t>(chunk)].store(made, std::memory_order_release);
    for (std::uint32_t i = 0; i < entries && capacity_ < abi::kMaxSlots; ++i) {
      made[i].part = part;
      made[i].next = abi::encode({kind_, capacity_++, 0});
      parts_[part].append(made[i]);
    }
    return true;
  }

  abi::HandleKind kind_;
  base::Lock growing_;  ///< taken after a part's lock; guards capacity_ and making chunks
  std::uint32_t capacity_ = 0;
  std::atomic<bool> has_foreign_entries_{false};  ///< objects may be in parts other than requested
  std::array<Part, kParts> parts_;
  std::array<std::atomic<Entry*>, kChunks> chunks_{};
  std::array<Entry*, kChunks> hidden_{};
};

}  // namespace shim::intercept
