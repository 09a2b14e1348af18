// SPDX-License-Identifier: BSD-3-Clause
// What the handles of one kind stand for. Looking up takes no lock and no write; entries never move.
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

#include "shim/base/apart.hpp"
#include "shim/base/biased_lock.hpp"
#include "shim/base/lock.hpp"
#include "shim/base/result.hpp"
#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// Constant-initialised and never destroyed: it costs a process that makes no object of ours nothing, neither at the start nor
/// at the end. Chunks are kept for good once made; what the entries held is destroyed when they are taken out.
///
/// H is the handle's type in MPI.
///
/// What each operation with a request passes is inlined by force: of a short message, calls are a large part.
///
/// Slots are used again in turn, the longest free first, so that a stale handle meets its own generation again only after
/// kGenerations times as many objects as the table has slots.
///
/// A table of several parts has a lock and free slots for each: threads whose objects are in different ones do not meet.
template <typename T, typename H, std::uint32_t kParts = 1>
class HandleTable {
 private:
  struct Entry {
    Entry() noexcept {}
    ~Entry() {}
    union {
      T value;                       ///< lives while the entry does, or is Unnamed; first, see Eraser
    };
    std::atomic<abi::Bits> live{0};  ///< the handle that finds the object; 0 where there is none
    abi::Bits next = 0;              ///< the handle of its latest object, or of its next one where it has none
    Entry* next_free = nullptr;
    std::uint32_t part = 0;  ///< never changes
  };

 public:
  explicit constexpr HandleTable(abi::Kind kind) : kind_(kind) {}

  /// A new object that has no handle yet: nobody else finds it, and it goes with this unless it gets one.
  class Unnamed {
   public:
    /// @param make answers the object, which is made where it stays: copied just after it was made it would cost as much as a message.
    /// @param part of the table, in which it will be
    template <typename Make>
    [[gnu::always_inline]] Unnamed(HandleTable& table, const Make& make, std::uint32_t part = 0)
        : table_(table), entry_(table.take_free(part)) {
      if (entry_ != nullptr) [[likely]] ::new (static_cast<void*>(&entry_->value)) T(make());
    }
    [[gnu::always_inline]] ~Unnamed() {
      if (entry_ != nullptr) [[unlikely]] table_.give_up(*entry_);
    }
    Unnamed(const Unnamed&) = delete;
    Unnamed& operator=(const Unnamed&) = delete;

    /// False where the table has no room; HandleTable::no_room() says why.
    explicit operator bool() const noexcept { return entry_ != nullptr; }
    T& operator*() const noexcept { return entry_->value; }
    H give_handle() noexcept {
      Entry& entry = *std::exchange(entry_, nullptr);
      entry.live.store(entry.next, std::memory_order_release);  // pairs with the acquire in entry_of()
      return abi::from_bits<H>(entry.next);
    }

   private:
    HandleTable& table_;
    Entry* entry_;
  };

  /// The new object's handle. Errors: those of no_room().
  [[gnu::always_inline]] base::Result<H> insert(T&& value, std::uint32_t part = 0) {
    Unnamed made(*this, [&] { return std::move(value); }, part);
    if (!made) [[unlikely]] return no_room();
    return made.give_handle();
  }

  /// no_mem: no slot left.
  base::Error no_room() {
    return base::Error(base::ErrorClass::no_mem, "all " + std::to_string(capacity()) + " handles of this kind are in use");
  }

  /// Null for a handle that is not ours, of another kind, or stale. What it points to stays until the handle is taken.
  T* find(H handle) noexcept {
    Entry* entry = entry_of(handle);
    return entry != nullptr ? &entry->value : nullptr;
  }

  /// From here on find(), take() and erase() know none of the objects that the table has; find_hidden() does. For a
  /// child made by fork(): takes no lock.
  void hide() noexcept {
    for (std::size_t i = 0; i < chunks_.size(); ++i)
      if (Entry* const chunk = chunks_[i].exchange(nullptr, std::memory_order_relaxed)) hidden_[i] = chunk;
  }
  /// Like find(), also of objects that are hidden.
  T* find_hidden(H handle) noexcept {
    if (T* const found = find(handle)) return found;
    if (!abi::is_ours(handle)) return nullptr;
    const Place place = place_of(abi::decode(abi::bits(handle)).slot);
    Entry* const chunk = hidden_[static_cast<std::size_t>(place.chunk)];
    if (chunk == nullptr) return nullptr;
    Entry& entry = chunk[place.index];
    return entry.live.load(std::memory_order_relaxed) == abi::bits(handle) ? &entry.value : nullptr;
  }

  /// Takes the object out; from here on its handle is stale. Of two threads that try, one succeeds.
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

  /// The same, with the object destroyed; answers whether there was one.
  [[gnu::always_inline]] bool erase(H handle) {
    Entry* const entry = entry_of(handle);
    if (entry == nullptr) return false;
    std::lock_guard lock(parts_[entry->part].lock);
    if (!is_live(*entry, handle)) return false;
    retire(*entry);
    return true;
  }

  /// Takes many objects out, and the lock once for those that follow each other in one part.
  class Eraser {
   public:
    explicit Eraser(HandleTable& table) : table_(table) {}
    /// Like erase(), of an object that find() has given for this handle.
    [[gnu::always_inline]] bool erase(T& object, H handle) {
      Entry& entry = reinterpret_cast<Entry&>(object);  // which it is the first member of
      if (entry.part != held_) [[unlikely]] hold(entry.part);
      if (!is_live(entry, handle)) [[unlikely]] return false;
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
    std::uint32_t held_ = kParts;  ///< none
    std::unique_lock<base::BiasedLock> lock_;
  };

  /// Calls visit(object) for all that have a handle and were to be in this part; none of those goes meanwhile.
  template <typename Visit>
  void for_each(Visit visit, std::uint32_t part = 0) {
    for (std::uint32_t number = 0; number < kParts; ++number)
      if (number == part || has_strays_.load(std::memory_order_relaxed)) visit_part(number, visit);  // relaxed: as in live()
  }

  /// Of those that were to be in this part, or more. Relaxed: of objects of other threads' at the moment nobody can tell.
  std::uint32_t live(std::uint32_t part = 0) const noexcept {
    if (!has_strays_.load(std::memory_order_relaxed)) [[likely]] return parts_[part].live.load(std::memory_order_relaxed);
    std::uint32_t all = 0;
    for (const Part& each : parts_) all += each.live.load(std::memory_order_relaxed);
    return all;
  }

 private:
  static constexpr std::uint32_t kFirstChunk = 64;  ///< entries of the first chunk; each next one has twice as many
  static constexpr int kChunks = abi::kSlotBits - std::countr_zero(kFirstChunk) + 1;

  // in lines of their own, and in pairs of lines, which processors fetch together
  struct alignas(kParts > 1 ? base::kApart : alignof(void*)) Part {
    base::BiasedLock lock;         ///< guards all changes
    Entry* first_free = nullptr;   ///< the longest free …
    Entry* last_free = nullptr;    ///< … and the one free since last; stale where none is free
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
    /// Under the lock, so that no addition is lost.
    void count(int more) noexcept {
      live.store(live.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(more), std::memory_order_relaxed);
    }
  };

  static bool is_live(const Entry& entry, H handle) noexcept { return entry.live.load(std::memory_order_relaxed) == abi::bits(handle); }
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
      if (entry.live.load(std::memory_order_acquire) != 0) visit(entry.value);  // pairs with the release in give_handle()
    }
  }

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
    const Place place = place_of(abi::decode(abi::bits(handle)).slot);
    // acquire: pairs with the release in grow(), for handles that a user made up
    Entry* chunk = chunks_[static_cast<std::size_t>(place.chunk)].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    Entry& entry = chunk[place.index];
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
  /// An entry that is nobody's; null where there is none.
  [[gnu::always_inline]] Entry* take_free(std::uint32_t number) {
    {
      Part& part = parts_[number];
      std::lock_guard lock(part.lock);
      if (part.first_free != nullptr || grow(number)) [[likely]] return part.take();
    }
    return take_stray();
  }
  /// Where the table cannot grow: any that is left.
  [[gnu::noinline]] Entry* take_stray() {
    has_strays_.store(kParts > 1, std::memory_order_relaxed);
    for (Part& part : parts_) {
      std::lock_guard lock(part.lock);
      if (part.first_free != nullptr) return part.take();
    }
    return nullptr;
  }
  void give_up(Entry& entry) noexcept {
    std::lock_guard lock(parts_[entry.part].lock);
    retire(entry);
  }
  /// With the part's lock.
  [[gnu::noinline]] bool grow(std::uint32_t part) {
    std::lock_guard lock(growing_);
    abi::handle_was_made.store(true, std::memory_order_relaxed);
    if (capacity_ >= abi::kMaxSlots) return false;
    int chunk = place_of(capacity_).chunk;
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

  abi::Kind kind_;
  base::Lock growing_;  ///< taken after a part's; guards the next one and the making of chunks
  std::uint32_t capacity_ = 0;
  std::atomic<bool> has_strays_{false};  ///< objects may be in other parts than they were to be
  std::array<Part, kParts> parts_;
  std::array<std::atomic<Entry*>, kChunks> chunks_{};
  std::array<Entry*, kChunks> hidden_{};
};

}  // namespace shim::intercept
