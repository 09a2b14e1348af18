// SPDX-License-Identifier: BSD-3-Clause
// Where threads that have nothing to do with each other keep what they write all the time.
#pragma once

#include <cstddef>
#include <new>

namespace shim::base {

/// What is aligned so, in its beginning and its length, shares no line of the cache with anything else, nor the line beside it, which
/// processors fetch together with it.
inline constexpr std::size_t kApart = 128;

/// For containers whose memory is to lie so (the standard library's Allocator).
template <typename T>
struct ApartAllocator {
  using value_type = T;
  ApartAllocator() = default;
  template <typename Other>
  ApartAllocator(const ApartAllocator<Other>&) noexcept {}
  T* allocate(std::size_t count) {
    const std::size_t whole = (count * sizeof(T) + kApart - 1) / kApart * kApart;
    return static_cast<T*>(::operator new(whole, std::align_val_t(kApart)));
  }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, std::align_val_t(kApart)); }
  friend bool operator==(const ApartAllocator&, const ApartAllocator&) { return true; }
};

}  // namespace shim::base
