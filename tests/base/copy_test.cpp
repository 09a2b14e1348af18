// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace shim::base {
namespace {

TEST(CopyShort, CopiesEveryLengthAndNothingBehindIt) {
  std::vector<std::byte> from(200);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t length = 0; length <= 150; ++length) {
    std::vector<std::byte> to(200), expected(200);
    for (std::size_t i = 0; i < length; ++i) expected[i + 3] = from[i + 5];
    copy_short(to.data() + 3, from.data() + 5, length);
    ASSERT_EQ(to, expected) << length;
  }
}

TEST(CopyShort, AcceptsNullPointersForZeroBytes) { copy_short(nullptr, nullptr, 0); }

TEST(CopyLong, CopiesAllBytesAndNothingBehindThem) {
  constexpr std::size_t kPiece = 256 * 1024;
  std::vector<std::byte> from(3 * kPiece);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<std::byte>(i * 2654435761 >> 13);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece + 7}) {
    std::vector<std::byte> to(from.size()), expected(from.size());
    std::copy_n(from.begin() + 5, length, expected.begin() + 3);
    copy_long(to.data() + 3, from.data() + 5, length);
    ASSERT_TRUE(to == expected) << length;
  }
}

TEST(CopyLong, AcceptsNullPointersForZeroBytes) { copy_long(nullptr, nullptr, 0); }

}  // namespace
}  // namespace shim::base
