// SPDX-License-Identifier: BSD-3-Clause
// Two small stores: objects that come and go often, and the numbers by which other processes name them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "shim/base/apart.hpp"
#include "shim/base/clock.hpp"

namespace shim::p2p {

/// Makes objects in slabs and uses their memory again. Objects that were never given back go with the pool.
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
  void give_back(T* object) {
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
  struct alignas(base::kApart) Slab {
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

/// Numbers for objects, safe to send away: a number that comes back after its object is gone finds nothing.
/// 63…32: how often a slot was given out, 31…0: the slot. Never zero.
template <typename T>
class IdTable {
 public:
  std::uint64_t add(T& object) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.push_back({nullptr, first_turn_});
    }
    std::uint32_t slot = free_.back();
    free_.pop_back();
    entries_[slot].object = &object;
    return std::uint64_t{entries_[slot].turn} << 32 | slot;
  }
  T* find(std::uint64_t id) const {
    auto slot = static_cast<std::uint32_t>(id);
    if (slot >= entries_.size() || entries_[slot].turn != id >> 32) return nullptr;
    return entries_[slot].object;
  }
  void remove(std::uint64_t id) {
    auto slot = static_cast<std::uint32_t>(id);
    entries_[slot].object = nullptr;
    if (++entries_[slot].turn == 0) entries_[slot].turn = 1;
    free_.push_back(slot);
  }

 private:
  struct Entry {
    T* object;
    std::uint32_t turn;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  // differs between two engines of one process, so that an answer to an earlier one finds nothing in a later one
  std::uint32_t first_turn_ = static_cast<std::uint32_t>(base::now_ns() >> 10) | 1u;
};

}  // namespace shim::p2p
