// SPDX-License-Identifier: BSD-3-Clause
// How the ends of a ring, and of a depot, touch memory that another process has as well.
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

/// Tests put their own in its place to step through every interleaving.
struct DirectAccess {
  template <typename Word>
  static Word load(Word& word, std::memory_order order) {
    return std::atomic_ref(word).load(order);
  }
  template <typename Word>
  static void store(Word& word, std::type_identity_t<Word> value, std::memory_order order) {
    std::atomic_ref(word).store(value, order);
  }
  /// This line has been written, and will be read soon.
  static void expect_read([[maybe_unused]] const std::byte* line) {
#if defined(__x86_64__)
    // Not __builtin_prefetch: a function that does nothing else counts as one without effect, and gcc 12 leaves its calls out.
    asm volatile("prefetcht0 %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 0);
#endif
  }
  /// All of this will be written, a little at a time.
  static void meet_pages(std::byte* begin, std::size_t bytes) { base::meet_pages(begin, bytes); }
  static void copy_in(std::byte* to, ConstSpan from) { base::copy_short(to, from.data(), from.size()); }
  /// To half a word, and words behind it: the half by itself, so that the others are stored, and read, as whole ones.
  static void copy_beside_word(std::byte* to, ConstSpan from) {
    constexpr std::size_t kHalf = sizeof(std::uint32_t);
    if (from.size() < kHalf) [[unlikely]] return copy_in(to, from);
    std::memcpy(to, from.data(), kHalf);
    copy_in(to + kHalf, from.subspan(kHalf));
  }
  /// The same of what may be long.
  static void copy_in(std::byte* to, ConstSpan from, base::CopyForOtherCore& copy) { copy(to, from.data(), from.size()); }
};
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free && std::atomic_ref<std::uint32_t>::is_always_lock_free);

}  // namespace shim::transport
