// SPDX-License-Identifier: BSD-3-Clause
// Copying what is mostly a few words long, and has often just been written; and what is long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shim::base {

/// Does the target lie up to 31 bytes behind the source, pages left aside? AMD's processors take five to twenty times as long then to copy
/// by themselves (`rep movsb`), which the GNU C library and the kernel leave to them (docs/measurements.md). So is what goes from the
/// beginning of a page to an array from malloc, which begins 16 bytes behind one, and from one array to the next element of another.
inline bool is_just_behind(const void* to, const void* from) {
  constexpr std::size_t kPage = 4096, kJustBehind = 32;
  const std::size_t behind = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  return behind != 0 && behind < kJustBehind;
}

/// Like memcpy, of what may be longer than a few words. Null pointers are fine where there is nothing to copy.
///
/// In pieces. Those of 2 KiB the library copies by loads and stores. From a core's second cache on it does without the processor's own copying
/// on AMD's, too, and takes up to twice as long. On others' processors it does the same with pieces, but for lengths of many MiB, which
/// it stores past the caches.
inline void copy_long(void* to, const void* from, std::size_t length) {
  constexpr std::size_t kPiece = 256 * 1024, kPieceByLoads = 2 * 1024;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const std::size_t piece = length > kPieceByLoads && is_just_behind(to, from) ? kPieceByLoads : kPiece;
  for (std::size_t at = 0; at < length; at += piece) std::memcpy(out + at, in + at, std::min(piece, length - at));
}

/// Copies what is a few words long, word by word; false where it is not. A call of memcpy costs more than they do; and it would read two
/// at a time, which a processor cannot do of words that are still on their way to its cache: it waits until all stores before them are done,
/// those to another core's lines included (docs/measurements.md).
inline bool copy_words(void* to, const void* from, std::size_t length) {
  constexpr std::size_t kWord = 8, kFew = 8 * kWord;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  if (length - kWord > kFew - kWord) [[unlikely]] return false;
  const std::size_t last = length - kWord;  // of the last word, which overlaps the one before where they are not whole
  for (std::size_t at = 0; at < last; at += kWord) std::memcpy(out + at, in + at, kWord);
  std::memcpy(out + last, in + last, kWord);
  return true;
}

/// Like memcpy, of what is mostly a few words: the two do not overlap. Null pointers are fine where there is nothing to copy.
inline void copy_short(void* to, const void* from, std::size_t length) {
  if (!copy_words(to, from, length)) [[unlikely]] copy_long(to, from, length);
}

}  // namespace shim::base
