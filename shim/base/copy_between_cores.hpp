// SPDX-License-Identifier: BSD-3-Clause
// Copies through memory that two cores share: one stores there, then the other reads. How long that takes is up to where the lines lie
// meanwhile, and so are the instructions that are best for it (docs/measurements.md, "The cost of a call").
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/base/copy.hpp"
#include "shim/base/two_ways.hpp"

namespace shim::base {

/// Copies what another core has stored, and is more than a few words. Where it goes by loads and stores it asks for lines ahead, of which a
/// core by itself has too few on their way.
void copy_lines_from_other_core(void* to, const void* from, std::size_t length);

/// The same of any length. Null pointers are fine where there is nothing to copy.
inline void copy_from_other_core(void* to, const void* from, std::size_t length) {
  if (!copy_words(to, from, length)) [[unlikely]] copy_lines_from_other_core(to, from, length);
}

/// Copies past this core's caches, to memory ("non-temporal" stores). Who sees what is stored after it sees the copy.
void copy_past_caches(void* to, const void* from, std::size_t length);

/// How what is copied to where another core reads next is read there.
enum class Traffic : std::uint8_t {
  one_way,   ///< while this core stores what follows, or waits
  both_ways  ///< while this core reads in turn what the other has stored
};

/// Copies to where another core reads next. One thread at a time; one for each reader, or group of them.
///
/// The usual stores take each line away from whoever read it last, one after the other. Those past the caches do not, but what they store
/// is read from memory. Between cores that share a cache the first are better, between those that are far from each other the second, by a
/// multiple. Nobody says where cores are, and virtual ones move; so both are tried.
class CopyForOtherCore {
 public:
  /// Shorter ones go by the usual stores.
  static constexpr std::size_t kLeast = 1024;

  void operator()(void* to, const void* from, std::size_t length, Traffic traffic = Traffic::one_way) {
    if (length < kLeast) return copy_short(to, from, length);
    copy_lines(to, from, length, traffic);
  }
  /// Would the next copy be made with the usual stores, and not be tried? Then it is as good to make the data where it is to be, which
  /// counts as that copy.
  bool may_be_made_there(std::size_t length) {
    if (length < kLeast) return true;
    TwoWays& stores = stores_for(length);
    if (!stores.would_be_first(worth(Traffic::one_way))) return false;
    stores.next(worth(Traffic::one_way));
    return true;
  }

 private:
  /// Of longer ones some lines go on while others wait: they are compared by themselves.
  static constexpr std::size_t kLong = 4096;
  /// Copies before a trial. The first ones of all find pages that are new to everybody.
  static constexpr std::uint32_t kFewest = 32, kMost = 4096;

  /// The stores alone are compared. The reader pays for reading memory; and stores that wait hide behind what this core reads itself.
  static constexpr float worth(Traffic traffic) { return traffic == Traffic::one_way ? 1.6F : 4; }
  TwoWays& stores_for(std::size_t length) { return length < kLong ? for_short_ : for_long_; }
  void copy_lines(void* to, const void* from, std::size_t length, Traffic traffic);

  TwoWays for_short_{kFewest, kMost}, for_long_{kFewest, kMost};
};

}  // namespace shim::base
