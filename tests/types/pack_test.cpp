// SPDX-License-Identifier: BSD-3-Clause
// Compares pack() and unpack() with a model that lists the address of every byte of the data
// stream. layout_test.cpp tests the addresses.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "shim/types/layout_walk.hpp"
#include "shim/types/types.hpp"

namespace shim::types {
namespace {

std::vector<std::size_t> addresses_of_stream(const Type& type, std::size_t count) {
  std::vector<std::size_t> addresses;
  const LayoutPtr layout = type.layout ? type.layout : Layout::run(type.size);
  for (std::size_t item = 0; item < count; ++item) {
    Walk walk(0, type.size, [&](const Runs& runs) {
      for (std::uint64_t i = 0; i < runs.count * runs.bytes; ++i)
        addresses.push_back(
            item * static_cast<std::size_t>(type.extent) + static_cast<std::size_t>(runs.at) +
            i / runs.bytes * static_cast<std::size_t>(runs.stride) + i % runs.bytes);
    });
    walk.over(*layout, 0);
  }
  return addresses;
}

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(count);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Return a predefined type, or a type whose layout has a specialized loop.
const Type& type_of(const std::string& name) {
  static const std::map<std::string, Type> derived = [] {
    std::map<std::string, Type> made;
    const ItemBlock uneven[] = {{0, 3}, {40, 1}, {20, 2}};
    const auto add = [&](const std::string& key, LayoutPtr layout, std::int64_t extent) {
      made[key] = {"",    Element::none, layout->size(),  extent, layout->size(),
                   false, nullptr,       TypeGroup::none, layout};
    };
    for (std::uint64_t bytes : {1, 2, 3, 4, 8, 16}) {
      const LayoutPtr column = Layout::repeat(4, static_cast<std::int64_t>(bytes) + 3,
                                              Layout::run(bytes));
      add("column of " + std::to_string(bytes), column, 80);
    }
    add("uneven", Layout::blocks(uneven, 5, Layout::run(4)), 48);
    return made;
  }();
  const Type* predefined = find_predefined(name);
  return predefined != nullptr ? *predefined : derived.at(name);
}

class Pack : public testing::TestWithParam<const char*> {};

TEST_P(Pack, AnyPartOfTheStreamCanBePackedAndUnpacked) {
  const Type& type = type_of(GetParam());
  constexpr std::size_t kItems = 3;
  std::mt19937 random(4711);
  auto memory = random_bytes(kItems * static_cast<std::size_t>(type.extent), random);
  auto addresses = addresses_of_stream(type, kItems);
  for (std::size_t first = 0; first <= addresses.size(); ++first) {
    for (std::size_t length = 0; first + length <= addresses.size(); ++length) {
      std::vector<std::byte> part(length);
      pack(type, memory.data(), first, part);
      for (std::size_t i = 0; i < length; ++i)
        ASSERT_EQ(part[i], memory[addresses[first + i]]) << first << "+" << i;

      auto fresh = random_bytes(length, random);
      auto expected = memory, written = memory;
      for (std::size_t i = 0; i < length; ++i) expected[addresses[first + i]] = fresh[i];
      unpack(type, fresh, first, written.data());
      ASSERT_EQ(written, expected) << "part of " << length << " bytes from byte " << first;
    }
  }
}

TEST_P(Pack, PiecesMatchTheAddressesOfTheStream) {
  const Type& type = type_of(GetParam());
  if (type.contiguous) GTEST_SKIP() << "has no holes";
  constexpr std::size_t kItems = 3;
  std::vector<std::byte> memory(kItems * static_cast<std::size_t>(type.extent));
  const auto addresses = addresses_of_stream(type, kItems);
  for (const std::size_t capacity : {1u, 2u, 3u, 100u})
    for (std::size_t first = 0; first <= addresses.size(); ++first)
      for (std::size_t length = 0; first + length <= addresses.size(); ++length) {
        std::vector<std::span<std::byte>> pieces(capacity);
        const Pieces found = find_pieces(type, memory.data(), first, length, pieces);
        std::vector<std::size_t> there;
        for (std::size_t i = 0; i < found.count; ++i)
          for (std::byte& each : pieces[i])
            there.push_back(static_cast<std::size_t>(&each - memory.data()));
        ASSERT_EQ(there.size(), found.bytes);
        ASSERT_TRUE(std::equal(there.begin(), there.end(),
                               addresses.begin() + static_cast<std::ptrdiff_t>(first)))
            << first << "+" << length;
        ASSERT_TRUE(found.bytes == length || found.count == capacity)
            << found.bytes << " of " << length << " in " << found.count;
      }
}

TEST_P(Pack, CopyCopiesTheDataWithoutTheHoles) {
  const Type& type = type_of(GetParam());
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
                         testing::Values("MPI_SHORT_INT", "MPI_LONG_INT", "MPI_LONG_DOUBLE_INT",
                                         "MPI_FLOAT_INT", "MPI_BYTE", "column of 1", "column of 2",
                                         "column of 3", "column of 4", "column of 8",
                                         "column of 16", "uneven"));

}  // namespace
}  // namespace shim::types
