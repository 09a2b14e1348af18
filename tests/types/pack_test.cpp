// SPDX-License-Identifier: BSD-3-Clause
// pack() and unpack() against a model that lists the address of every byte of the stream.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "shim/types/types.hpp"

namespace shim::types {
namespace {

std::vector<std::size_t> addresses_of_stream(const Type& type, std::size_t count) {
  std::vector<std::size_t> addresses;
  for (std::size_t item = 0; item < count; ++item) {
    std::size_t start = item * static_cast<std::size_t>(type.extent);
    if (type.contiguous) {
      for (std::size_t i = 0; i < type.size; ++i) addresses.push_back(start + i);
    }
    for (const Piece& piece : type.pieces) {
      for (std::size_t i = 0; i < piece.bytes; ++i) addresses.push_back(start + static_cast<std::size_t>(piece.offset) + i);
    }
  }
  return addresses;
}

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(count);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

class Pack : public testing::TestWithParam<const char*> {};

TEST_P(Pack, AnyPartOfTheStreamGoesOutAndIn) {
  const Type& type = *find_predefined(GetParam());
  constexpr std::size_t kItems = 5;
  std::mt19937 random(4711);
  auto memory = random_bytes(kItems * static_cast<std::size_t>(type.extent), random);
  auto addresses = addresses_of_stream(type, kItems);
  for (std::size_t first = 0; first <= addresses.size(); ++first) {
    for (std::size_t length = 0; first + length <= addresses.size(); ++length) {
      std::vector<std::byte> part(length);
      pack(type, memory.data(), first, part);
      for (std::size_t i = 0; i < length; ++i) ASSERT_EQ(part[i], memory[addresses[first + i]]) << first << "+" << i;

      auto fresh = random_bytes(length, random);
      auto expected = memory, written = memory;
      for (std::size_t i = 0; i < length; ++i) expected[addresses[first + i]] = fresh[i];
      unpack(type, fresh, first, written.data());
      ASSERT_EQ(written, expected) << "part of " << length << " bytes from byte " << first;
    }
  }
}

TEST_P(Pack, CopyTakesTheDataAndLeavesTheHoles) {
  const Type& type = *find_predefined(GetParam());
  std::mt19937 random(42);
  for (std::size_t count : {0, 1, 3}) {
    auto from = random_bytes(count * static_cast<std::size_t>(type.extent), random);
    auto to = random_bytes(from.size(), random);
    auto expected = to;
    for (std::size_t address : addresses_of_stream(type, count)) expected[address] = from[address];
    copy(type, from.data(), to.data(), count);
    EXPECT_EQ(to, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Pack,
                         testing::Values("MPI_SHORT_INT", "MPI_LONG_INT", "MPI_LONG_DOUBLE_INT", "MPI_FLOAT_INT",
                                         "MPI_BYTE"));

}  // namespace
}  // namespace shim::types
