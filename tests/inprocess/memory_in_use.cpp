// SPDX-License-Identifier: BSD-3-Clause
#include "memory_in_use.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace shim::sessions::testing {
namespace {

// Relaxed: only a sum. Readers have synchronized with the other threads before.
std::atomic<std::size_t> in_use{0};

[[maybe_unused]] void* counted(void* memory) {
  if (!memory) throw std::bad_alloc();
  in_use.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed);
  return memory;
}

[[maybe_unused]] void give_back(void* memory) {
  in_use.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

std::size_t memory_in_use() { return in_use.load(std::memory_order_relaxed); }

}  // namespace shim::sessions::testing

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// All other forms call these ([new.delete] of the C++ standard).
void* operator new(std::size_t size) { return shim::sessions::testing::counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  return shim::sessions::testing::counted(std::aligned_alloc(to, (size + to - 1) / to * to));
}
void operator delete(void* memory) noexcept { shim::sessions::testing::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept {
  shim::sessions::testing::give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  shim::sessions::testing::give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  shim::sessions::testing::give_back(memory);
}
#endif
