// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/hardware.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

static int bindings = 0;

/// Replaces the C library's function in this process and counts the calls.
extern "C" int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* cores) noexcept {
  ++bindings;
  return static_cast<int>(::syscall(SYS_sched_setaffinity, thread, size, cores));
}

namespace shim::node {
namespace {

/// Restores this thread's affinity at the end of the scope.
class Affinity {
 public:
  Affinity() { EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0); }
  ~Affinity() { ::sched_setaffinity(0, sizeof before_, &before_); }
  int processors() const { return CPU_COUNT(&before_); }
  void bind_to_one() {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; ++i)
      if (CPU_ISSET(i, &before_)) CPU_SET(i, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }

 private:
  cpu_set_t before_;
};

HardwareResource resource(const std::string& type) {
  const auto map = discover_hardware();
  EXPECT_TRUE(map) << map.error().text();
  const auto all = map->resources_of(CoreSet::of_first_thread());
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const auto& each) { return each.type == type; });
  if (found == all.end()) {
    ADD_FAILURE() << "no " << type;
    return {};
  }
  return *found;
}

TEST(Hardware, FindsTheKindsThatEveryMachineHas) {
  for (const char* type : {"Machine", "NUMANode", "PU"}) EXPECT_EQ(resource(type).type, type);
  EXPECT_TRUE(resource("Machine").is_restricted) << "there is one machine, which runs this process";
}

TEST(Hardware, ProcessIsRestrictedToItsBoundProcessor) {
  Affinity affinity;
  if (affinity.processors() < 2) GTEST_SKIP() << "needs two processors";
  EXPECT_FALSE(resource("PU").is_restricted);
  affinity.bind_to_one();
  EXPECT_TRUE(resource("PU").is_restricted);
}

TEST(Hardware, DiscoveryDoesNotChangeTheAffinity) {
  bindings = 0;
  ASSERT_TRUE(discover_hardware());
  EXPECT_EQ(bindings, 0);
}

}  // namespace
}  // namespace shim::node
