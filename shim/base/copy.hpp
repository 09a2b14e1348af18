// SPDX-License-Identifier: BSD-3-Clause
// Copy functions for short, recently written data and for long data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shim::base {

/// True if the target's offset in its page is 1 to 31 bytes above the source's (modulo the page
/// size). `rep movsb`, which glibc and the kernel use, is then 5 to 20 times slower on AMD
/// processors (docs/decisions/0039-slow-rep-movsb.md). The case is common: a copy from a page's
/// start to a large block from malloc, which begins 16 bytes into a page, or from element i of one
/// array to element i + 1 of another.
inline bool is_just_behind(const void* to, const void* from) {
  constexpr std::size_t kPage = 4096, kJustBehind = 32;
  const std::size_t behind = (reinterpret_cast<std::uintptr_t>(to) -
                              reinterpret_cast<std::uintptr_t>(from)) %
                             kPage;
  return behind != 0 && behind < kJustBehind;
}

/// Copy like memcpy, for more than a few words. Null pointers are valid if length is 0.
///
/// Copies in pieces of 256 KiB: on AMD, glibc uses no `rep movsb` for lengths above the size of a
/// core's second-level cache, and is then up to twice as slow. If is_just_behind(), the pieces are
/// of 2 KiB, which glibc copies by loads and stores. On other processors the pieces matter only for
/// lengths of many MiB, for which glibc would use non-temporal stores.
inline void copy_long(void* to, const void* from, std::size_t length) {
  constexpr std::size_t kPiece = 256 * 1024, kPieceByLoads = 2 * 1024;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const std::size_t piece = length > kPieceByLoads && is_just_behind(to, from) ? kPieceByLoads
                                                                               : kPiece;
  for (std::size_t at = 0; at < length; at += piece)
    std::memcpy(out + at, in + at, std::min(piece, length - at));
}

/// Copy 8 to 64 bytes in words of 8 bytes; for any other length, copy nothing and return false.
/// Cheaper than memcpy for two reasons: there is no call, and each load can be forwarded from a
/// pending store of one word. memcpy loads two words at a time. Such a load waits until all earlier
/// stores are done, including stores to lines in another core's cache
/// (docs/decisions/0035-short-message-path.md).
inline bool copy_words(void* to, const void* from, std::size_t length) {
  constexpr std::size_t kWord = 8, kFew = 8 * kWord;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  if (length - kWord > kFew - kWord) [[unlikely]]  // one comparison: lengths below kWord wrap
    return false;
  // offset of the last word, which overlaps the word before unless kWord divides length
  const std::size_t last = length - kWord;
  for (std::size_t at = 0; at < last; at += kWord) std::memcpy(out + at, in + at, kWord);
  std::memcpy(out + last, in + last, kWord);
  return true;
}

/// Copy like memcpy; fastest for a few words. The ranges must not overlap. Null pointers are valid
/// if length is 0.
inline void copy_short(void* to, const void* from, std::size_t length) {
  if (!copy_words(to, from, length)) [[unlikely]]
    copy_long(to, from, length);
}

}  // namespace shim::base
