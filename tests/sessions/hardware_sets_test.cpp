// SPDX-License-Identifier: BSD-3-Clause
// Tests process sets of the node's hardware, on a simulated machine.
#include "shim/sessions/hardware_sets.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <stdexcept>

#include "shim/bootstrap/inmem/inmem.hpp"
#include "shim/bootstrap/resolve_node_map.hpp"
#include "shim/sessions/process_sets.hpp"

namespace shim::sessions {
namespace {

using bootstrap::NodeMap;
using node::HardwareMap;
using node::NodeHardware;
using node::NodeSegment;
using ::testing::Contains;
using ::testing::ElementsAre;

base::Result<HardwareMap> two_sockets() {
  return HardwareMap(std::vector<HardwareMap::ResourceType>{{"Package", {0, 0, 1, 1}},
                                                            {"NUMANode", {0, 1, 2, 2}}});
}

/// A node of three processes with the world ranks 1, 2 and 4.
struct HardwareSets : ::testing::Test {
  HardwareSets() {
    std::array<char, 64> name = {"/dev/shm/hardware-sets-XXXXXX"};
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory = name.data();
  }
  ~HardwareSets() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<NodeSegment> begin(std::uint32_t slot, std::uint64_t cores) {
    node::SegmentSpec spec{.job = "job", .slots = 3, .own_slot = slot, .directory = directory};
    spec.cores.words[0] = cores;
    return std::move(*NodeSegment::attach(spec, 10));
  }
  std::vector<std::string> sets_of(NodeSegment& segment) {
    NodeHardware hardware(&segment, {}, two_sockets);
    std::vector<std::string> all;
    for (const NamedGroup& set : hardware_sets(hardware, nodes, 2))
      all.push_back(set.name + " " + set.group->text());
    return all;
  }

  std::string directory;
  const NodeMap nodes{{"a", "b"}, {0, 1, 1, 0, 1}};
};

TEST_F(HardwareSets, ExistOnceAllProcessesOfTheNodeHaveStarted) {
  auto first = begin(0, 0b0011), second = begin(1, 0b0010);
  EXPECT_THAT(sets_of(*second), ElementsAre());
  auto third = begin(2, 0b1100);
  for (NodeSegment* segment : {first.get(), second.get(), third.get()})
    EXPECT_THAT(sets_of(*segment), ElementsAre("mpix://NUMA/b/1 {2}", "mpix://NUMA/b/2 {4}",
                                               "mpix://SOCKET/b/0 {1-2}", "mpix://SOCKET/b/1 {4}"));
}

TEST_F(HardwareSets, AreUnchangedByRebinding) {
  auto first = begin(0, 1), second = begin(1, 1), third = begin(2, 1);
  const auto before = sets_of(*first);
  third.reset();
  third = begin(2, 0b1100);
  EXPECT_EQ(sets_of(*first), before);
  EXPECT_EQ(sets_of(*third), before);
}

TEST_F(HardwareSets, AreListedAndFoundRegardlessOfCase) {
  auto launcher = bootstrap::inmem::Launcher::start(bootstrap::inmem::World::of(1, 1));
  auto self = launcher->open(0);
  ASSERT_TRUE(resolve_node_map(*self));
  const base::Log log(base::LogLevel::off);
  node::CoreSet own;
  own.words[0] = 0b0100;
  NodeHardware hardware(nullptr, own, two_sockets);
  ProcessSets sets({}, *self, log);
  EXPECT_FALSE(sets.find("mpix://SOCKET/node0/1"));
  sets.use_hardware(hardware);
  EXPECT_THAT(sets.names(), Contains("mpix://SOCKET/node0/1"));
  EXPECT_EQ((*sets.find("MPIX://numa/node0/2"))->size(), 1);
  EXPECT_FALSE(sets.find("mpix://SOCKET/node0/0"));
}

TEST_F(HardwareSets, DoNotExistWithoutHardwareInformation) {
  NodeHardware hardware(nullptr, {}, []() -> base::Result<HardwareMap> {
    return base::Error(base::ErrorClass::other, "no hwloc");
  });
  EXPECT_TRUE(hardware_sets(hardware, NodeMap({"a"}, {0}), 0).empty());
}

}  // namespace
}  // namespace shim::sessions
