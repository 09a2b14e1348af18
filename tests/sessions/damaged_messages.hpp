// SPDX-License-Identifier: BSD-3-Clause
// Provides damaged messages for tests of decoders.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace shim::sessions {

/// Call use() with 2000 copies of these bytes, each with one to four random bytes.
template <typename Use>
void for_each_damaged(const std::vector<std::byte>& bytes, std::mt19937& random, const Use& use) {
  for (int round = 0; round < 2000; ++round) {
    auto damaged = bytes;
    for (int flips = 1 + round % 4; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    use(damaged);
  }
}

}  // namespace shim::sessions
