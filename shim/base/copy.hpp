// SPDX-License-Identifier: BSD-3-Clause
// Copying what is mostly a few words long, and has often just been written.
#pragma once

#include <cstddef>
#include <cstring>

namespace shim::base {

/// Like memcpy: the two do not overlap. Null pointers are fine where there is nothing to copy.
///
/// A few words go one by one. A call of memcpy costs more than they do; and it would read two at a time, which a processor cannot
/// do of words that are still on their way to its cache: it waits until all stores before them are done, those to another core's
/// lines included (docs/measurements.md).
inline void copy_short(void* to, const void* from, std::size_t length) {
  constexpr std::size_t kWord = 8, kFew = 8 * kWord;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  if (length - kWord > kFew - kWord) [[unlikely]] {
    if (length != 0) std::memcpy(to, from, length);
    return;
  }
  const std::size_t last = length - kWord;  // of the last word, which overlaps the one before where they are not whole
  for (std::size_t at = 0; at < last; at += kWord) std::memcpy(out + at, in + at, kWord);
  std::memcpy(out + last, in + last, kWord);
}

}  // namespace shim::base
