// SPDX-License-Identifier: BSD-3-Clause
// DirectAccess accesses memory of a ring or cell pool that another process shares.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shim/base/copy_between_cores.hpp"
#include "shim/base/pages.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Tests replace this class to step through every interleaving.
struct DirectAccess {
  template <typename Word>
  static Word load(Word& word, std::memory_order order) {
    return std::atomic_ref(word).load(order);
  }
  template <typename Word>
  static void store(Word& word, std::type_identity_t<Word> value, std::memory_order order) {
    std::atomic_ref(word).store(value, order);
  }
  /// Prefetch a written line that will be read soon.
  static void expect_read([[maybe_unused]] const std::byte* line) {
#if defined(__x86_64__)
    // Not __builtin_prefetch: gcc 12 treats a function that does nothing else as free of effects,
    // and removes its calls.
    asm volatile("prefetcht0 %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 0);
#endif
  }
  /// Fault in memory that will be written little by little.
  static void prefault_pages(std::byte* begin, std::size_t bytes) {
    base::prefault_pages(begin, bytes);
  }
  static void copy_in(std::byte* to, ConstSpan from) {
    base::copy_short(to, from.data(), from.size());
  }
  /// Copy to an address in the middle of an 8-byte word. Copies the first 4 bytes separately, so
  /// that the rest is stored and loaded in whole words.
  static void copy_beside_word(std::byte* to, ConstSpan from) {
    constexpr std::size_t kHalf = sizeof(std::uint32_t);
    if (from.size() < kHalf) [[unlikely]]
      return copy_in(to, from);
    std::memcpy(to, from.data(), kHalf);
    copy_in(to + kHalf, from.subspan(kHalf));
  }
  /// Copy data that may be long.
  static void copy_in(std::byte* to, ConstSpan from, base::CopyForOtherCore& copy) {
    copy(to, from.data(), from.size());
  }
};
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free &&
              std::atomic_ref<std::uint32_t>::is_always_lock_free);

}  // namespace shim::transport
