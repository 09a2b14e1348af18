// SPDX-License-Identifier: BSD-3-Clause
// Copying what is mostly a few words long, and has often just been written; and what is long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shim::base {

/// Like memcpy, of what may be longer than a few words. Null pointers are fine where there is nothing to copy.
///
/// The GNU C library mostly uses the processor's own copying (`rep movsb`), which knows two bad cases on AMD's (docs/measurements.md). Where
/// the target lies up to 31 bytes behind the source, pages left aside, it takes twenty times as long: so is what leaves the beginning of a
/// page for an array from malloc, which begins 16 bytes behind one. Pieces of 2 KiB are short enough for loads and stores. From a core's
/// second cache on the library goes over to a loop that takes up to twice as long: hence pieces everywhere. On others' processors it does
/// the same with pieces, but for lengths of many MiB, which it stores past the caches.
inline void copy_long(void* to, const void* from, std::size_t length) {
  constexpr std::size_t kPiece = 256 * 1024, kPieceByLoads = 2 * 1024;
  constexpr std::size_t kPage = 4096, kJustBehind = 32;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const std::size_t behind = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  const std::size_t piece = behind != 0 && behind < kJustBehind ? kPieceByLoads : kPiece;
  for (std::size_t at = 0; at < length; at += piece) std::memcpy(out + at, in + at, std::min(piece, length - at));
}

/// Like memcpy: the two do not overlap. Null pointers are fine where there is nothing to copy.
///
/// What is longer goes as with copy_long. A few words go one by one. A call of memcpy costs more than they do; and it would read two at a
/// time, which a processor cannot do of words that are still on their way to its cache: it waits until all stores before them are done,
/// those to another core's lines included (docs/measurements.md).
inline void copy_short(void* to, const void* from, std::size_t length) {
  constexpr std::size_t kWord = 8, kFew = 8 * kWord;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  if (length - kWord > kFew - kWord) [[unlikely]] {
    copy_long(to, from, length);
    return;
  }
  const std::size_t last = length - kWord;  // of the last word, which overlaps the one before where they are not whole
  for (std::size_t at = 0; at < last; at += kWord) std::memcpy(out + at, in + at, kWord);
  std::memcpy(out + last, in + last, kWord);
}

}  // namespace shim::base
