// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/copy_between_cores.hpp"

#include <algorithm>
#include <atomic>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/base/clock.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shim::base {

#if defined(__x86_64__)
namespace {

/// Bytes prefetched ahead: 32 lines in flight.
constexpr std::size_t kAhead = 32 * kCacheLine;

/// A cache line in four SSE2 registers (baseline x86-64). Four named members, because the compiler
/// would keep an array in memory.
class CacheLine {
 public:
  explicit CacheLine(const std::byte* from) : CacheLine(reinterpret_cast<const __m128i*>(from)) {}
  void store(std::byte* to) const {
    store_by(to, [](__m128i* target, __m128i word) { _mm_storeu_si128(target, word); });
  }
  /// Store with non-temporal stores; `to` is the start of a cache line.
  void store_past_caches(std::byte* to) const {
    store_by(to, [](__m128i* target, __m128i word) { _mm_stream_si128(target, word); });
  }

 private:
  explicit CacheLine(const __m128i* from)
      : first_(_mm_loadu_si128(from)),
        second_(_mm_loadu_si128(from + 1)),
        third_(_mm_loadu_si128(from + 2)),
        fourth_(_mm_loadu_si128(from + 3)) {}
  template <typename Store>
  void store_by(std::byte* to, Store store_word) const {
    auto* out = reinterpret_cast<__m128i*>(to);
    store_word(out, first_);
    store_word(out + 1, second_);
    store_word(out + 2, third_);
    store_word(out + 3, fourth_);
  }
  __m128i first_, second_, third_, fourth_;
};

void ask_for(const std::byte* line) {
  _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_NTA);
}

}  // namespace

void copy_lines_from_other_core(void* to, const void* from, std::size_t length) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  // For about these lengths copy_long() uses `rep movsb`, which is as fast, except for one case.
  const bool copies_itself = length > kAhead && !is_just_behind(to, from);
  if (length < kAhead / 2 || copies_itself) return copy_long(to, from, length);
  // Never prefetch beyond the data: another core may be writing there.
  for (std::size_t at = 0; at < std::min(length, kAhead); at += kCacheLine) ask_for(in + at);
  std::size_t at = 0;
  for (; at + kAhead + kCacheLine <= length; at += kCacheLine) {
    ask_for(in + at + kAhead);
    CacheLine(in + at).store(out + at);
  }
  for (; at + kCacheLine <= length; at += kCacheLine) CacheLine(in + at).store(out + at);
  copy_short(out + at, in + at, length - at);
}

void copy_past_caches(void* to, const void* from, std::size_t length) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  std::size_t at = std::min(
      length, (kCacheLine - reinterpret_cast<std::uintptr_t>(out) % kCacheLine) % kCacheLine);
  copy_short(out, in, at);
  for (; at + kCacheLine <= length; at += kCacheLine)
    CacheLine(in + at).store_past_caches(out + at);
  copy_short(out + at, in + at, length - at);
  _mm_sfence();  // non-temporal stores are otherwise not ordered before later stores
}

namespace {
void await_all_stores() { _mm_mfence(); }
}  // namespace
#else
void copy_lines_from_other_core(void* to, const void* from, std::size_t length) {
  copy_long(to, from, length);
}
void copy_past_caches(void* to, const void* from, std::size_t length) {
  copy_long(to, from, length);
}

namespace {
void await_all_stores() { std::atomic_thread_fence(std::memory_order_seq_cst); }
}  // namespace
#endif

void CopyForOtherCore::copy_lines(void* to, const void* from, std::size_t length, Traffic traffic) {
  AdaptiveChoice& stores = stores_for(length);
  const AdaptiveChoice::Next next = stores.next(min_speedup(traffic));
  const Nanoseconds begin = next.is_trial ? now_ns() : 0;
  if (next.is_second)
    copy_past_caches(to, from, length);
  else
    copy_long(to, from, length);
  if (!next.is_trial) [[likely]]
    return;
  await_all_stores();
  stores.record(now_ns() - begin, length);
}

}  // namespace shim::base
