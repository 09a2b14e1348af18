// SPDX-License-Identifier: BSD-3-Clause
// Derived types against a model that takes the standard's words literally: a list of elements with their displacements, and
// markers of bounds (MPI-4.1 §5.1, §5.1.7).
#include "shim/types/derive.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "shim/types/layout_walk.hpp"

namespace shim::types {
namespace {

struct Model {
  struct Element {
    std::int64_t at;
    std::int64_t bytes;
  };
  std::vector<Element> elements;
  std::vector<std::int64_t> lower_markers, upper_markers;
  std::int64_t alignment = 1;

  bool is_marked() const { return !lower_markers.empty(); }
  std::int64_t lower() const {
    if (is_marked()) return *std::min_element(lower_markers.begin(), lower_markers.end());
    std::int64_t least = elements.empty() ? 0 : INT64_MAX;
    for (const Element& element : elements) least = std::min(least, element.at);
    return least;
  }
  std::int64_t extent() const {
    if (is_marked()) return *std::max_element(upper_markers.begin(), upper_markers.end()) - lower();
    std::int64_t most = elements.empty() ? 0 : INT64_MIN;
    for (const Element& element : elements) most = std::max(most, element.at + element.bytes);
    return (most - lower() + alignment - 1) / alignment * alignment;
  }
  void add(const Model& old, std::int64_t by) {
    for (const Element& element : old.elements) elements.push_back({element.at + by, element.bytes});
    for (std::int64_t marker : old.lower_markers) lower_markers.push_back(marker + by);
    for (std::int64_t marker : old.upper_markers) upper_markers.push_back(marker + by);
    if (!old.elements.empty()) alignment = std::max(alignment, old.alignment);
  }
};

struct Modelled {
  Type type;
  Model model;
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  Modelled any(int depth) {
    if (depth == 0) return predefined();
    switch (below(7)) {
      case 0: {
        const std::uint64_t count = below(4);
        return indexed_of({{0, count}}, any(depth - 1), [&](const Type& old) { return contiguous(count, old); });
      }
      case 1: {
        const std::uint64_t count = below(4), length = below(4);
        const std::int64_t stride = offset();
        std::vector<Block> blocks;
        for (std::uint64_t i = 0; i < count; ++i) blocks.push_back({static_cast<std::int64_t>(i) * stride, length});
        return indexed_of(blocks, any(depth - 1), [&](const Type& old) { return vector(count, length, stride, old); });
      }
      case 2: {
        std::vector<Block> blocks(below(4));
        for (Block& block : blocks) block = {offset(), below(4)};
        return indexed_of(blocks, any(depth - 1), [&](const Type& old) { return indexed(blocks, old); });
      }
      case 3: {
        const Modelled old = any(depth - 1);
        const std::int64_t lower = offset(), extent = static_cast<std::int64_t>(below(100));
        Model model = old.model;
        model.lower_markers = {lower};
        model.upper_markers = {lower + extent};
        return {*resized(lower, extent, keep(old.type)), model};
      }
      case 4: return subarray_of(any(depth - 1));
      case 5: return dealt_of(any(depth - 1));
      default: return structure_of(depth);
    }
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::int64_t offset() { return static_cast<std::int64_t>(below(120)) - 40; }
  const Type& keep(Type type) { return kept_.emplace_back(std::move(type)); }

  Modelled predefined() {
    static constexpr const char* kNames[] = {"MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_DOUBLE", "MPI_C_FLOAT_COMPLEX", "MPI_LONG_DOUBLE"};
    const Type& type = *find_predefined(kNames[below(std::size(kNames))]);
    Model model;
    model.elements = {{0, static_cast<std::int64_t>(type.size)}};
    model.alignment = type.alignment;
    return {type, model};
  }

  template <typename Make>
  Modelled indexed_of(const std::vector<Block>& blocks, const Modelled& old, Make make) {
    Model model;
    for (const Block& block : blocks)
      for (std::uint64_t i = 0; i < block.count; ++i) model.add(old.model, block.offset + static_cast<std::int64_t>(i) * old.model.extent());
    return {*make(keep(old.type)), model};
  }

  Modelled structure_of(int depth) {
    std::vector<Member> members;
    Model model;
    for (std::uint64_t left = below(4); left > 0; --left) {
      const Modelled old = any(depth - 1);
      const Member member{offset(), below(3), &keep(old.type)};
      for (std::uint64_t i = 0; i < member.count; ++i) model.add(old.model, member.offset + static_cast<std::int64_t>(i) * old.model.extent());
      members.push_back(member);
    }
    return {*structure(members), model};
  }

  /// Three dimensions, the first the fastest.
  Modelled subarray_of(const Modelled& old) {
    Range ranges[3];
    for (Range& range : ranges) {
      range.size = 1 + below(4);
      range.part = below(range.size + 1);
      range.start = below(range.size - range.part + 1);
    }
    Model model;
    const auto extent = old.model.extent();
    for (std::uint64_t z = 0; z < ranges[2].part; ++z)
      for (std::uint64_t y = 0; y < ranges[1].part; ++y)
        for (std::uint64_t x = 0; x < ranges[0].part; ++x)
          model.add(old.model, extent * static_cast<std::int64_t>(((z + ranges[2].start) * ranges[1].size + y + ranges[1].start) * ranges[0].size +
                                                                  x + ranges[0].start));
    model.lower_markers = {0};
    model.upper_markers = {extent * static_cast<std::int64_t>(ranges[0].size * ranges[1].size * ranges[2].size)};
    return {*subarray(ranges, keep(old.type)), model};
  }

  /// The indices of one share, by dealing out a dimension item by item.
  static std::vector<std::int64_t> indices_of(const Share& share) {
    std::vector<std::int64_t> mine;
    const std::uint64_t even = (share.size + share.processes - 1) / share.processes;
    const std::uint64_t block = share.block != 0 ? share.block : share.spread == Share::Spread::cyclic ? 1 : std::max<std::uint64_t>(even, 1);
    for (std::uint64_t i = 0; i < share.size; ++i)
      if (share.spread == Share::Spread::none || i / block % share.processes == share.coordinate) mine.push_back(static_cast<std::int64_t>(i));
    return mine;
  }

  Modelled dealt_of(const Modelled& old) {
    Share shares[2];
    for (Share& share : shares) {
      share.size = 1 + below(12);
      share.processes = 1 + below(3);
      share.coordinate = below(share.processes);
      share.spread = static_cast<Share::Spread>(below(3));
      if (share.spread == Share::Spread::none) share.processes = 1, share.coordinate = 0;
      if (share.spread == Share::Spread::cyclic) share.block = below(4);
      if (share.spread == Share::Spread::block && below(2) == 1) share.block = (share.size + share.processes - 1) / share.processes + below(3);
    }
    Model model;
    const auto extent = old.model.extent();
    for (std::int64_t y : indices_of(shares[1]))
      for (std::int64_t x : indices_of(shares[0])) model.add(old.model, extent * (y * static_cast<std::int64_t>(shares[0].size) + x));
    model.lower_markers = {0};
    model.upper_markers = {extent * static_cast<std::int64_t>(shares[0].size * shares[1].size)};
    return {*distributed_array(shares, keep(old.type)), model};
  }

  std::mt19937 random_;
  std::deque<Type> kept_;  // whose addresses stay
};

std::vector<std::int64_t> addresses_of(const Type& type) {
  std::vector<std::int64_t> all;
  Walk walk(0, type.size, [&](const Runs& runs) {
    for (std::uint64_t i = 0; i < runs.count * runs.bytes; ++i)
      all.push_back(runs.at + static_cast<std::int64_t>(i / runs.bytes) * runs.stride + static_cast<std::int64_t>(i % runs.bytes));
  });
  walk.over(type.layout ? *type.layout : *Layout::run(type.size), 0);
  return all;
}

TEST(DerivedTypes, AreWhatTheStandardSays) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto [type, model] = Maker(seed).any(static_cast<int>(seed % 4));
    std::vector<std::int64_t> expected;
    for (const auto& element : model.elements)
      for (std::int64_t i = 0; i < element.bytes; ++i) expected.push_back(element.at + i);
    ASSERT_EQ(type.size, expected.size());
    ASSERT_EQ(type.elements, model.elements.size());
    ASSERT_EQ(type.lower, model.lower());
    ASSERT_EQ(type.extent, model.extent());
    ASSERT_EQ(addresses_of(type), expected);
  }
}

TEST(DerivedTypes, KnowTheTypeOfAllTheirElements) {
  const Type& integer = *find_predefined("MPI_INT");
  const Type& real = *find_predefined("MPI_DOUBLE");
  EXPECT_EQ(vector(3, 2, 100, integer)->base, &integer);
  const Member same[] = {{0, 1, &integer}, {8, 2, &integer}}, different[] = {{0, 1, &integer}, {8, 1, &real}, {16, 1, &integer}};
  EXPECT_EQ(structure(same)->base, &integer);
  EXPECT_EQ(structure(different)->base, nullptr);
}

TEST(DerivedTypes, OneRunOfBytesIsContiguousHoweverItIsSaid) {
  const Type& integer = *find_predefined("MPI_INT");
  EXPECT_TRUE(contiguous(5, integer)->contiguous);
  EXPECT_TRUE(vector(5, 2, 8, integer)->contiguous);
  const Range whole[] = {{4, 4, 0}, {3, 3, 0}};
  EXPECT_TRUE(subarray(whole, integer)->contiguous);
  EXPECT_FALSE(vector(5, 1, 8, integer)->contiguous);
  EXPECT_FALSE(resized(0, 8, integer)->contiguous);
}

TEST(DerivedTypes, OfAMillionBlocksAreSmall) {
  const auto type = vector(1'000'000, 1, 16, *find_predefined("MPI_INT"));
  EXPECT_EQ(type->layout->kind(), Layout::Kind::repeat);
  EXPECT_EQ(type->size, 4'000'000u);
}

TEST(DerivedTypes, ThatNoAddressSpaceHasAreRefused) {
  const Type& integer = *find_predefined("MPI_INT");
  const auto refused = [](const base::Result<Type>& made) { return !made && made.error().error_class() == base::ErrorClass::arg; };
  EXPECT_TRUE(refused(contiguous(UINT64_MAX, integer)));
  EXPECT_TRUE(refused(contiguous(std::uint64_t{1} << 61, integer)));
  EXPECT_TRUE(refused(vector(std::uint64_t{1} << 40, 1, std::int64_t{1} << 40, integer)));
  EXPECT_TRUE(refused(resized(INT64_MAX, 1, integer)));
  const Block far[] = {{INT64_MIN, 1}, {INT64_MAX - 4, 1}};
  EXPECT_TRUE(refused(indexed(far, integer)));
  const Range cube[] = {{std::uint64_t{1} << 31, 1, 0}, {std::uint64_t{1} << 31, 1, 0}, {4, 1, 0}};
  EXPECT_TRUE(refused(subarray(cube, integer)));
}

TEST(DerivedTypes, BlocksThatDoNotHoldADimensionAreRefused) {
  const Share share{.size = 10, .spread = Share::Spread::block, .block = 3, .processes = 3};
  const auto made = distributed_array({&share, 1}, *find_predefined("MPI_INT"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_class(), base::ErrorClass::arg);
}

}  // namespace
}  // namespace shim::types
