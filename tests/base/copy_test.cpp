// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace shim::base {
namespace {

TEST(CopyShort, EveryLengthAndNothingBehind) {
  std::vector<std::byte> from(200);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t length = 0; length <= 150; ++length) {
    std::vector<std::byte> to(200), expected(200);
    for (std::size_t i = 0; i < length; ++i) expected[i + 3] = from[i + 5];
    copy_short(to.data() + 3, from.data() + 5, length);
    ASSERT_EQ(to, expected) << length;
  }
}

TEST(CopyShort, NothingFromNowhere) { copy_short(nullptr, nullptr, 0); }

}  // namespace
}  // namespace shim::base
