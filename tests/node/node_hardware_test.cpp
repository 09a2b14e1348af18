// SPDX-License-Identifier: BSD-3-Clause
// Tests NodeHardware: one process of a node discovers the hardware for all, or fails to.
#include "shim/node/node_hardware.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/node/node_once.hpp"
#include "tests/node/segment_rig.hpp"

namespace shim::node::testing {
namespace {

using base::Error;
using base::ErrorClass;

const HardwareMap kMachine(std::vector<HardwareMap::ResourceType>{{"Package", {0, 0, 1, 1}},
                                                                  {"PU", {0, 1, 2, 3}}});
constexpr double kForEver = 3600;

base::Result<HardwareMap> machine() { return kMachine; }
base::Result<HardwareMap> nothing() { return Error(ErrorClass::other, "no hwloc"); }

struct NodeHardwareTest : SegmentTest {
  std::unique_ptr<NodeSegment> ready(std::uint32_t slot, std::uint32_t slots = 2) {
    auto segment = attach(spec(slot, slots));
    segment->set_ready();
    return segment;
  }
};

TEST_F(NodeHardwareTest, FirstCallerDiscoversForAll) {
  auto zero = ready(0), one = ready(1);
  NodeHardware of_one(one.get(), {}, machine, kForEver), of_zero(zero.get(), {}, nothing, kForEver);
  EXPECT_EQ(*must(of_one.map()), kMachine);
  EXPECT_EQ(*must(of_zero.map()), kMachine);
  EXPECT_TRUE(of_one.has_discovered());
  EXPECT_FALSE(of_zero.has_discovered());
}

TEST_F(NodeHardwareTest, OthersWaitForTheDiscoveringProcess) {
  auto zero = ready(0), one = ready(1);
  std::atomic<bool> has_begun{false}, may_end{false};
  NodeHardware slow(
      zero.get(), {},
      [&]() -> base::Result<HardwareMap> {
        has_begun = true;
        while (!may_end) std::this_thread::yield();
        return kMachine;
      },
      kForEver);
  NodeHardware other(one.get(), {}, nothing, kForEver);
  std::thread first([&] { must(slow.map()); });
  while (!has_begun) std::this_thread::yield();
  std::thread second([&] { EXPECT_EQ(*must(other.map()), kMachine); });
  may_end = true;
  first.join();
  second.join();
  EXPECT_FALSE(other.has_discovered());
}

TEST_F(NodeHardwareTest, WaitForASlowDiscoveryIsLimited) {
  auto zero = ready(0), one = ready(1);
  zero->hardware_storage().control.state = 1;  // slot 0 discovers; it lives, and never publishes
  NodeHardware other(one.get(), {}, machine, 0.02);
  const auto begin = base::now_ns();
  EXPECT_EQ(*must(other.map()), kMachine);
  EXPECT_GE(base::now_ns() - begin, 20'000'000) << "must wait for the time limit";
  EXPECT_TRUE(other.has_discovered());
  EXPECT_EQ(zero->hardware_storage().control.state, 1u) << "the slow process may still publish";
}

TEST_F(NodeHardwareTest, KilledDiscovererIsReplaced) {
  auto zero = ready(0);
  Child child([&](Child& self) {
    auto one = ready(1);
    NodeHardware never(one.get(), {}, [&]() -> base::Result<HardwareMap> {
      self.notify_parent();
      ::pause();
      return kMachine;
    });
    return static_cast<bool>(never.map());
  });
  child.wait_for_child();
  EXPECT_EQ(zero->hardware_storage().control.state, 2u);
  child.kill();
  NodeHardware other(zero.get(), {}, machine, kForEver);
  EXPECT_EQ(*must(other.map()), kMachine);
  EXPECT_EQ(zero->hardware_storage().control.state, NodeOnceControl::kPublished);
}

TEST_F(NodeHardwareTest, NextProcessTriesAfterAFailedDiscovery) {
  auto zero = ready(0), one = ready(1);
  NodeHardware without(zero.get(), {}, nothing, kForEver), with(one.get(), {}, machine, kForEver);
  EXPECT_EQ(error_of(without.map()).text(), "no hwloc");
  EXPECT_EQ(error_of(without.map()).text(), "no hwloc");
  EXPECT_EQ(*must(with.map()), kMachine);
}

TEST_F(NodeHardwareTest, ProcessWithoutASegmentDiscoversForItself) {
  CoreSet own;
  own.words[0] = 4;
  NodeHardware alone(nullptr, own, machine);
  EXPECT_EQ(*must(alone.map()), kMachine);
  ASSERT_EQ(alone.first_cores()->size(), 1u);
  EXPECT_EQ(alone.first_cores()->front().words[0], 4u);
}

TEST_F(NodeHardwareTest, FirstCoresAreKnownOnceAllHaveAttachedAndNeverChange) {
  auto with_cores = [&](std::uint32_t slot, std::uint64_t word) {
    auto wanted = spec(slot, 2);
    wanted.cores.words[0] = word;
    return attach(wanted);
  };
  auto zero = with_cores(0, 1);
  NodeHardware hardware(zero.get(), {}, machine);
  EXPECT_EQ(hardware.first_cores(), std::nullopt);
  auto one = with_cores(1, 2);
  for (int incarnation = 0; incarnation < 2; ++incarnation) {
    const auto cores = hardware.first_cores();
    ASSERT_TRUE(cores);
    EXPECT_EQ((*cores)[0].words[0], 1u);
    EXPECT_EQ((*cores)[1].words[0], 2u) << "incarnation " << incarnation;
    one.reset();
    one = with_cores(1, 8);
  }
}

}  // namespace
}  // namespace shim::node::testing
