// SPDX-License-Identifier: BSD-3-Clause
// Copy functions for memory that one core writes and another core reads. The fastest instructions
// depend on where the cache lines are (docs/decisions/0040-stores-past-the-caches.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/base/adaptive_choice.hpp"
#include "shim/base/copy.hpp"

namespace shim::base {

/// Part of copy_from_other_core() for lengths that copy_words() refuses. Where it copies by loads
/// and stores, it prefetches cache lines, because a core by itself keeps too few loads in flight.
void copy_lines_from_other_core(void* to, const void* from, std::size_t length);

/// Copy any number of bytes that another core has stored. Null pointers are valid if length is 0.
inline void copy_from_other_core(void* to, const void* from, std::size_t length) {
  if (!copy_words(to, from, length)) [[unlikely]]
    copy_lines_from_other_core(to, from, length);
}

/// Copy with non-temporal stores, past this core's caches, and a fence: a thread that sees a later
/// store of this thread also sees the copy.
void copy_past_caches(void* to, const void* from, std::size_t length);

/// Activity of this core while the other core reads the copy.
enum class Traffic : std::uint8_t {
  unidirectional,  ///< it stores further data or waits
  both_ways        ///< it reads data that the other core has stored
};

/// Copies data that another core reads next. Use one object for each reader or group of readers;
/// not thread-safe.
///
/// A usual store waits until the line is invalidated in the cache of the core that read it last,
/// one line after the other. A non-temporal store does not wait, but the reader then loads from
/// memory. Usual stores are faster between cores that share a cache, non-temporal stores between
/// distant cores, each by a multiple. A process cannot query the distance, and virtual cores
/// migrate, so the object times both.
class CopyForOtherCore {
 public:
  /// Shorter copies use the usual stores.
  static constexpr std::size_t kMinBytes = 1024;

  void operator()(void* to, const void* from, std::size_t length,
                  Traffic traffic = Traffic::unidirectional) {
    if (length < kMinBytes) return copy_short(to, from, length);
    copy_lines(to, from, length, traffic);
  }
  /// True if the next unidirectional copy of this length would use the usual stores, and not as a
  /// trial. The caller may then produce the data in place instead of copying it; the call counts
  /// as this copy.
  bool may_produce_in_place(std::size_t length) {
    if (length < kMinBytes) return true;
    AdaptiveChoice& stores = stores_for(length);
    if (!stores.would_use_first(min_speedup(Traffic::unidirectional))) return false;
    stores.next(min_speedup(Traffic::unidirectional));
    return true;
  }

 private:
  /// Copies from this length on are timed separately, because more of their stores overlap in time.
  static constexpr std::size_t kLong = 4096;
  /// Number of copies before the first and between later comparisons. The first copies take page
  /// faults and are not timed.
  static constexpr std::uint32_t kMinInterval = 32, kMaxInterval = 4096;

  /// Speedup above which non-temporal stores are used. More than 1, because a trial times only the
  /// stores: it includes neither the reader's loads from memory, nor the reads of this core that
  /// hide stalled stores if traffic goes both ways (docs/decisions/0040-stores-past-the-caches.md).
  static constexpr float min_speedup(Traffic traffic) {
    return traffic == Traffic::unidirectional ? 1.6F : 4;
  }
  AdaptiveChoice& stores_for(std::size_t length) { return length < kLong ? for_short_ : for_long_; }
  void copy_lines(void* to, const void* from, std::size_t length, Traffic traffic);

  AdaptiveChoice for_short_{kMinInterval, kMaxInterval}, for_long_{kMinInterval, kMaxInterval};
};

}  // namespace shim::base
