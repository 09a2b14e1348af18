// SPDX-License-Identifier: BSD-3-Clause
// Size of a cache line, and the alignment that prevents false sharing between threads.
#pragma once

#include <cstddef>
#include <new>

namespace shim::base {

inline constexpr std::size_t kCacheLine = 64;  ///< bytes, of the processors that this code runs on

/// Alignment, and unit of size, in bytes: two cache lines of 64, because processors prefetch lines
/// in adjacent pairs.
inline constexpr std::size_t kCacheLineIsolation = 128;

/// Allocator (in the standard library's sense) for containers whose memory shares no cache line,
/// and no pair of lines, with other memory.
template <typename T>
struct IsolatedAllocator {
  using value_type = T;
  IsolatedAllocator() = default;
  template <typename Other>
  IsolatedAllocator(const IsolatedAllocator<Other>&) noexcept {}
  T* allocate(std::size_t count) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
    const std::size_t whole = (count * sizeof(T) + kCacheLineIsolation - 1) / kCacheLineIsolation *
                              kCacheLineIsolation;
    return static_cast<T*>(::operator new(whole, std::align_val_t(kCacheLineIsolation)));
  }
  void deallocate(T* memory, std::size_t) noexcept {
    ::operator delete(memory, std::align_val_t(kCacheLineIsolation));
  }
  friend bool operator==(const IsolatedAllocator&, const IsolatedAllocator&) { return true; }
};

}  // namespace shim::base
