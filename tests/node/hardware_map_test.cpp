// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <cstdlib>

#include "shim/node/hardware.hpp"
#include "tests/base/results.hpp"

namespace shim::node {
namespace {

CoreSet on(std::initializer_list<int> numbers) {
  CoreSet set;
  for (int number : numbers)
    set.words[static_cast<std::size_t>(number) / 64] |= 1ull << (number % 64);
  return set;
}

using Kinds = std::vector<HardwareMap::ResourceType>;
constexpr auto kNo = HardwareMap::kNowhere;

TEST(HardwareMap, InstanceOfIsTheObjectThatContainsAllCores) {
  const HardwareMap map(
      Kinds{{"Machine", {0, 0, 0, 0}}, {"Package", {0, 0, 1, 1}}, {"Core", {0, 1, 2, kNo}}});
  EXPECT_EQ(map.instance_of("Package", on({2, 3})), 1u);
  EXPECT_EQ(map.instance_of("Package", on({1, 2})), std::nullopt);
  EXPECT_EQ(map.instance_of("Core", on({3})), std::nullopt);
  EXPECT_EQ(map.instance_of("Core", on({2, 3})), std::nullopt);
  EXPECT_EQ(map.instance_of("Core", on({3, 2})), std::nullopt);
  EXPECT_EQ(map.instance_of("Machine", on({0, 700})), std::nullopt)
      << "a core that the map does not know";
  EXPECT_EQ(map.instance_of("Package", {}), std::nullopt);
  EXPECT_EQ(map.instance_of("Drawer", on({0})), std::nullopt);
  const auto resources = map.resources_of(on({0, 1}));
  ASSERT_EQ(resources.size(), 3u);
  EXPECT_TRUE(resources[1].is_restricted);
  EXPECT_EQ(resources[1].instance, 0);
  EXPECT_FALSE(resources[2].is_restricted);
  EXPECT_EQ(resources[2].instance, -1);
}

TEST(HardwareMap, EncodingRoundTrips) {
  std::vector<std::uint16_t> wide(HardwareMap::kMaxCores);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<std::uint16_t>(i * 3);
  Kinds kinds(HardwareMap::kMaxKinds, {std::string(HardwareMap::kMaxType, 'x'), wide});
  for (const Kinds& each :
       {Kinds(), Kinds{{"PU", {}}}, Kinds{{"PU", {0, kNo, 1}}, {"Core", {0}}}, kinds}) {
    const HardwareMap map(each);
    const auto bytes = map.encode();
    EXPECT_LE(bytes.size(), HardwareMap::kMaxBytes);
    EXPECT_EQ(HardwareMap::decode(bytes), map);
  }
}

TEST(HardwareMap, OmitsKindsAndCoresBeyondItsLimits) {
  Kinds kinds(HardwareMap::kMaxKinds + 1,
              {std::string(99, 'x'), std::vector<std::uint16_t>(HardwareMap::kMaxCores + 1)});
  const HardwareMap map(kinds);
  EXPECT_EQ(map.kinds().size(), HardwareMap::kMaxKinds);
  EXPECT_EQ(map.encode().size(), HardwareMap::kMaxBytes);
}

TEST(HardwareMap, DecodeRejectsInvalidBytes) {
  auto bytes = HardwareMap(Kinds{{"PU", {0, 1}}}).encode();
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(HardwareMap::decode(std::span(bytes.data(), length))) << length;
  bytes.push_back({});
  EXPECT_FALSE(HardwareMap::decode(bytes));
  EXPECT_FALSE(HardwareMap::decode(std::vector<std::byte>(8, std::byte{0xff})));
}

/// Makes hwloc describe a synthetic machine while the object exists.
class SyntheticMachine {
 public:
  explicit SyntheticMachine(const char* description) {
    ::setenv("HWLOC_SYNTHETIC", description, 1);
  }
  ~SyntheticMachine() { ::unsetenv("HWLOC_SYNTHETIC"); }
};

TEST(HardwareMap, DescribesALargerMachine) {
  SyntheticMachine machine("pack:2 numa:2 l3:1 core:3 pu:2");
  const HardwareMap map = base::testing::must(discover_hardware());
  EXPECT_EQ(map.kinds().front().type, "Machine");
  EXPECT_EQ(map.instance_of("Package", on({12, 23})), 1u);
  EXPECT_EQ(map.instance_of("NUMANode", on({6, 11})), 1u);
  EXPECT_EQ(map.instance_of("NUMANode", on({5, 6})), std::nullopt);
  EXPECT_EQ(map.instance_of("L3Cache", on({18, 19, 23})), 3u);
  EXPECT_EQ(map.instance_of("Core", on({22, 23})), 11u);
  EXPECT_EQ(map.instance_of("PU", on({22})), 22u);
  EXPECT_EQ(map.instance_of("PU", on({24})), std::nullopt);
}

TEST(HardwareMap, ListsNumaNodesBetweenLargerAndSmallerKinds) {
  SyntheticMachine machine("pack:2 numa:2 l3:2 core:3 pu:2");
  const HardwareMap map = base::testing::must(discover_hardware());
  std::vector<std::string> names;
  for (const auto& kind : map.kinds())
    if (kind.type != "Group") names.push_back(kind.type);  // hwloc groups what each node is near to
  EXPECT_THAT(names,
              ::testing::ElementsAre("Machine", "Package", "NUMANode", "L3Cache", "Core", "PU"));
}

}  // namespace
}  // namespace shim::node
