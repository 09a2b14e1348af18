// SPDX-License-Identifier: BSD-3-Clause
// Compares layouts with a model that lists the address of every byte of the data stream.
#include "shim/types/layout.hpp"

#include <gtest/gtest.h>

#include <random>

#include "shim/types/layout_walk.hpp"

namespace shim::types {
namespace {

using Addresses = std::vector<std::int64_t>;

/// A layout, and the address of each byte of its data, computed independently.
struct Modelled {
  LayoutPtr layout;
  Addresses addresses;
};

Addresses shifted(const Addresses& addresses, std::int64_t by) {
  Addresses all = addresses;
  for (auto& address : all) address += by;
  return all;
}

void append(Addresses& all, const Addresses& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Modelled run(std::uint64_t bytes) {
  Addresses addresses(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) addresses[i] = static_cast<std::int64_t>(i);
  return {Layout::run(bytes), addresses};
}

Modelled repeat(std::uint64_t count, std::int64_t stride, const Modelled& child) {
  Addresses all;
  for (std::uint64_t i = 0; i < count; ++i)
    append(all, shifted(child.addresses, static_cast<std::int64_t>(i) * stride));
  return {Layout::repeat(count, stride, child.layout), all};
}

Modelled blocks(const std::vector<ItemBlock>& list, std::int64_t stride, const Modelled& child) {
  Addresses all;
  for (const ItemBlock& block : list)
    append(all, shifted(repeat(block.count, stride, child).addresses, block.offset));
  return {Layout::blocks(list, stride, child.layout), all};
}

Modelled sequence(const std::vector<std::pair<std::int64_t, Modelled>>& list) {
  Addresses all;
  std::vector<PlacedLayout> parts;
  for (const auto& [offset, part] : list) {
    append(all, shifted(part.addresses, offset));
    parts.push_back({offset, part.layout});
  }
  return {Layout::sequence(parts), all};
}

Addresses walked(const Layout& layout, std::uint64_t skip, std::uint64_t length) {
  Addresses all;
  Walk walk(skip, length, [&](const Runs& runs) {
    for (std::uint64_t i = 0; i < runs.count; ++i)
      for (std::uint64_t b = 0; b < runs.bytes; ++b)
        all.push_back(runs.at + static_cast<std::int64_t>(i) * runs.stride +
                      static_cast<std::int64_t>(b));
  });
  walk.over(layout, 0);
  return all;
}

void expect_same(const Modelled& made, std::mt19937& random) {
  const auto& [layout, addresses] = made;
  ASSERT_EQ(layout->size(), addresses.size());
  ASSERT_EQ(walked(*layout, 0, layout->size()), addresses);
  if (addresses.empty()) return;
  ASSERT_EQ(layout->lower(), *std::min_element(addresses.begin(), addresses.end()));
  ASSERT_EQ(layout->upper(), *std::max_element(addresses.begin(), addresses.end()) + 1);
  for (int round = 0; round < 20; ++round) {
    const std::size_t first = random() % addresses.size(),
                      length = random() % (addresses.size() - first + 1);
    const Addresses part(addresses.begin() + static_cast<std::ptrdiff_t>(first),
                         addresses.begin() + static_cast<std::ptrdiff_t>(first + length));
    ASSERT_EQ(walked(*layout, first, length), part) << length << " bytes from " << first;
  }
}

class Maker {
 public:
  explicit Maker(unsigned seed) : random(seed) {}

  Modelled any(int depth) {
    if (depth == 0) return run(below(10));
    switch (below(4)) {
      case 0:
        return run(below(40));
      case 1:
        return repeat(below(5), offset(), any(depth - 1));
      case 2: {
        std::vector<ItemBlock> list(below(5));
        for (auto& block : list) block = {offset(), below(4)};
        return blocks(list, offset(), any(depth - 1));
      }
      default: {
        std::vector<std::pair<std::int64_t, Modelled>> list;
        for (std::uint64_t i = below(5); i > 0; --i) list.emplace_back(offset(), any(depth - 1));
        return sequence(list);
      }
    }
  }

  std::mt19937 random;

 private:
  std::uint64_t below(std::uint64_t limit) { return random() % limit; }
  std::int64_t offset() { return static_cast<std::int64_t>(below(60)) - 20; }
};

TEST(Layouts, AnyPartOfAnyLayoutMatchesTheModel) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Maker maker(seed);
    expect_same(maker.any(static_cast<int>(seed % 4)), maker.random);
    if (HasFatalFailure()) return;
  }
}

TEST(Layouts, ContiguousLayoutsAreOneRun) {
  const LayoutPtr four = Layout::run(4);
  EXPECT_EQ(Layout::repeat(10, 4, four)->kind(), Layout::NodeType::run);
  const ItemBlock neighbours[] = {{0, 2}, {8, 1}, {12, 0}, {12, 3}};
  EXPECT_EQ(Layout::blocks(neighbours, 4, four)->kind(), Layout::NodeType::run);
  const PlacedLayout parts[] = {{0, four}, {4, Layout::run(0)}, {4, Layout::run(8)}};
  EXPECT_EQ(Layout::sequence(parts)->kind(), Layout::NodeType::run);
  EXPECT_EQ(Layout::sequence(parts)->size(), 12u);
}

TEST(Layouts, EquidistantRunsAreOneNodeInAnyDescription) {
  const LayoutPtr vector = Layout::repeat(1'000'000, 16, Layout::run(8));
  EXPECT_EQ(vector->kind(), Layout::NodeType::repeat);
  EXPECT_EQ(vector->blocks().size(), 0u);
  std::vector<ItemBlock> list(1000);
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = {static_cast<std::int64_t>(16 * i), 2};
  const LayoutPtr indexed = Layout::blocks(list, 4, Layout::run(4));
  EXPECT_EQ(indexed->kind(), Layout::NodeType::repeat);
  EXPECT_EQ(indexed->child()->kind(), Layout::NodeType::run);
  EXPECT_EQ(indexed->stride(), 16);
  const LayoutPtr plane = Layout::repeat(10, 160, Layout::repeat(10, 16, Layout::run(8)));
  EXPECT_EQ(plane->count(), 100u);
}

TEST(Layouts, LayoutsWithoutDataAreEmpty) {
  const LayoutPtr nothing = Layout::run(0);
  const ItemBlock block{7, 3};
  const PlacedLayout part{7, nothing};
  for (const LayoutPtr& layout :
       {Layout::repeat(5, 3, nothing), Layout::repeat(0, 3, Layout::run(4)),
        Layout::blocks({&block, 1}, 2, nothing), Layout::sequence({&part, 1}),
        Layout::blocks({}, 4, Layout::run(4)), Layout::sequence({})}) {
    EXPECT_EQ(layout->size(), 0u);
    EXPECT_EQ(layout->lower(), 0);
    EXPECT_EQ(layout->upper(), 0);
    EXPECT_TRUE(walked(*layout, 0, 0).empty());
  }
}

}  // namespace
}  // namespace shim::types
