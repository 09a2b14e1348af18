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

#include "shim/base/biased_lock.hpp"
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
template <typename T, typename H>
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
  };

 public:
  explicit constexpr HandleTable(abi::Kind kind) : kind_(kind) {}

  /// A new object that has no handle yet: nobody else finds it, and it goes with this unless it gets one.
  class Unnamed {
   public:
    /// @param make answers the object, which is made where it stays: copied just after it was made it would cost as much as a message.
    template <typename Make>
    [[gnu::always_inline]] Unnamed(HandleTable& table, const Make& make) : table_(table), entry_(table.take_free()) {
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
  [[gnu::always_inline]] base::Result<H> insert(T&& value) {
    Unnamed made(*this, [&] { return std::move(value); });
    if (!made) [[unlikely]] return no_room();
    return made.give_handle();
  }

  /// no_mem: no slot left.
  base::Error no_room() {
    std::lock_guard lock(lock_);
    return base::Error(base::ErrorClass::no_mem, "all " + std::to_string(capacity_) + " handles of this kind are in use");
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
    if (Entry* entry = entry_of(handle)) {
      value.emplace(std::move(entry->value));
      retire(*entry);
    }
    return value;
  }

  /// The same, with the object destroyed; answers whether there was one.
  [[gnu::always_inline]] bool erase(H handle) {
    std::lock_guard lock(lock_);
    Entry* entry = entry_of(handle);
    if (entry == nullptr) return false;
    retire(*entry);
    return true;
  }

  /// Takes many objects out, under one lock.
  class Eraser {
   public:
    explicit Eraser(HandleTable& table) : table_(table), lock_(table.lock_) {}
    /// Like erase(), of an object that find() has given for this handle.
    [[gnu::always_inline]] bool erase(T& object, H handle) {
      Entry& entry = reinterpret_cast<Entry&>(object);  // which it is the first member of
      if (entry.live.load(std::memory_order_relaxed) != abi::bits(handle)) [[unlikely]] return false;
      table_.retire(entry);
      return true;
    }

   private:
    HandleTable& table_;
    std::lock_guard<base::BiasedLock> lock_;
  };

  /// Calls visit(object) for all that have a handle; none of those goes meanwhile.
  template <typename Visit>
  void for_each(Visit visit) {
    std::lock_guard lock(lock_);
    for (std::uint32_t slot = 0; slot < capacity_; ++slot) {
      Entry& entry = entry_at(slot);
      if (entry.live.load(std::memory_order_acquire) != 0) visit(entry.value);  // pairs with the release in give_handle()
    }
  }

  std::uint32_t live() const noexcept { return live_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFirstChunk = 64;  ///< entries of the first chunk; each next one has twice as many
  static constexpr int kChunks = abi::kSlotBits - std::countr_zero(kFirstChunk) + 1;

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
  /// Under the lock, so that no addition is lost.
  void count(int more) noexcept {
    live_.store(live_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(more), std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void retire(Entry& entry) noexcept {
    entry.live.store(0, std::memory_order_relaxed);
    std::destroy_at(&entry.value);
    entry.next = abi::with_next_generation(entry.next);
    count(-1);
    append_free(entry);
  }
  /// An entry that is nobody's; null where there is none.
  [[gnu::always_inline]] Entry* take_free() {
    std::lock_guard lock(lock_);
    if (first_free_ == nullptr && !grow()) [[unlikely]] return nullptr;
    count(+1);
    return std::exchange(first_free_, first_free_->next_free);
  }
  void give_up(Entry& entry) noexcept {
    std::lock_guard lock(lock_);
    retire(entry);
  }
  void append_free(Entry& entry) noexcept {
    entry.next_free = nullptr;
    (first_free_ == nullptr ? first_free_ : last_free_->next_free) = &entry;
    last_free_ = &entry;
  }
  [[gnu::noinline]] bool grow() {
    abi::handle_was_made.store(true, std::memory_order_relaxed);
    if (capacity_ >= abi::kMaxSlots) return false;
    int chunk = place_of(capacity_).chunk;
    std::uint32_t entries = kFirstChunk << chunk;
    auto* made = new Entry[entries];
    chunks_[static_cast<std::size_t>(chunk)].store(made, std::memory_order_release);
    for (std::uint32_t i = 0; i < entries && capacity_ < abi::kMaxSlots; ++i) {
      made[i].next = abi::encode({kind_, capacity_++, 0});
      append_free(made[i]);
    }
    return true;
  }

  abi::Kind kind_;
  base::BiasedLock lock_;  ///< guards all changes
  std::uint32_t capacity_ = 0;
  Entry* first_free_ = nullptr;  ///< the longest free …
  Entry* last_free_ = nullptr;   ///< … and the one free since last; stale where none is free
  std::atomic<std::uint32_t> live_{0};
  std::array<std::atomic<Entry*>, kChunks> chunks_{};
};

}  // namespace shim::intercept
