// SPDX-License-Identifier: BSD-3-Clause
// Pool allocates short-lived objects; IdTable assigns the ids that other processes send back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/base/clock.hpp"

namespace shim::p2p {

/// Allocates objects in slabs and reuses their memory. Destroys objects that were never returned.
template <typename T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (auto& slab : slabs_) {
      for (std::size_t i = 0; i < kSlab; ++i) {
        Slot& slot = slab->slots[i];
        if (slot.live) std::launder(reinterpret_cast<T*>(slot.memory))->~T();
      }
    }
  }

  template <typename... Arguments>
  [[gnu::always_inline]] T* make(Arguments&&... arguments) {
    if (free_ == nullptr) grow();
    Slot* slot = free_;
    T* made = new (slot->memory) T(std::forward<Arguments>(arguments)...);
    free_ = slot->next;
    slot->live = true;
    return made;
  }
  void release(T* object) {
    object->~T();
    Slot* slot = reinterpret_cast<Slot*>(object);  // the memory is a slot's first member
    slot->live = false;
    slot->next = free_;
    free_ = slot;
  }

 private:
  static constexpr std::size_t kSlab = 32;
  struct Slot {
    alignas(T) std::byte memory[sizeof(T)];
    Slot* next = nullptr;
    bool live = false;
  };
  struct alignas(base::kCacheLineIsolation) Slab {
    std::array<Slot, kSlab> slots;
  };
  void grow() {
    slabs_.push_back(std::make_unique<Slab>());
    for (Slot& slot : slabs_.back()->slots) {
      slot.next = free_;
      free_ = &slot;
    }
  }

  Slot* free_ = nullptr;
  std::vector<std::unique_ptr<Slab>> slabs_;
};

/// Assigns ids to objects. An id that is received after its object is gone finds nothing. Bits 63
/// to 32: number of uses of the slot, 31 to 0: the slot. Never zero.
template <typename T>
class IdTable {
 public:
  std::uint64_t add(T& object) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.push_back({nullptr, first_generation_});
    }
    std::uint32_t slot = free_.back();
    free_.pop_back();
    entries_[slot].object = &object;
    return std::uint64_t{entries_[slot].generation} << 32 | slot;
  }
  T* find(std::uint64_t id) const {
    auto slot = static_cast<std::uint32_t>(id);
    if (slot >= entries_.size() || entries_[slot].generation != id >> 32) return nullptr;
    return entries_[slot].object;
  }
  void remove(std::uint64_t id) {
    auto slot = static_cast<std::uint32_t>(id);
    entries_[slot].object = nullptr;
    if (++entries_[slot].generation == 0) entries_[slot].generation = 1;
    free_.push_back(slot);
  }

 private:
  struct Entry {
    T* object;
    std::uint32_t generation;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  // differs between two engines of one process, so that an answer to an earlier engine finds
  // nothing in a later one
  std::uint32_t first_generation_ = static_cast<std::uint32_t>(base::now_ns() >> 10) | 1u;
};

}  // namespace shim::p2p
