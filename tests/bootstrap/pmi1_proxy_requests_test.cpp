// SPDX-License-Identifier: BSD-3-Clause
// Tests that this library and a host client send requests over one proxy at overlapping times.
#include "tests/bootstrap/pmi1_proxy_rig.hpp"

#ifdef __SANITIZE_THREAD__
/// Disable ThreadSanitizer's synchronization through descriptors. This is stricter than the
/// default, for which the runtime of GCC 12 keeps data for each descriptor. The runtime frees the
/// data when dup2() replaces the descriptor. It crashed in one of sixty runs when a thread, such as
/// the host client's here, wrote to the descriptor at that moment.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options();
const char* __tsan_default_options() { return "io_sync=0"; }
#endif

namespace shim::bootstrap::pmi1::testing {
namespace {

struct Pmi1ProxyRequests : Pmi1Proxy {};

TEST_F(Pmi1ProxyRequests, DetachRestoresTheDescriptor) {
  make(1);
  for (int round = 0; round < 3; ++round) {
    auto self = processes[0]->open();
    EXPECT_FALSE(is_handed_back(0));
    self.reset();
    EXPECT_TRUE(is_handed_back(0));
    auto client = host(0);
    send_all_kinds(client, std::to_string(round));
  }
}

TEST_F(Pmi1ProxyRequests, BootstrapsOfOneProcessShareTheProxy) {
  make(1);
  auto one = processes[0]->open(), two = processes[0]->open();
  one.reset();
  EXPECT_FALSE(is_handed_back(0));
  ASSERT_TRUE(two->publish("k", bytes_of("v")));
  two.reset();
  EXPECT_TRUE(is_handed_back(0));
}

TEST_F(Pmi1ProxyRequests, HostClientAndBootstrapSendConcurrently) {
  make(2);
  auto self = processes[0]->open(), other = processes[1]->open();
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    auto client = host(0);
    for (int i = 0; i < 100; ++i) {
      send_init(client);
      send_all_kinds(client, "g" + std::to_string(i));
    }
  });
  for (auto* mine : {&self, &other})
    threads.emplace_back([mine] {
      for (int i = 0; i < 100; ++i) {
        const std::string key = "k" + std::to_string(i);
        ASSERT_TRUE((*mine)->publish(key, bytes_of(std::string(i % 3 == 0 ? 2000 : 1, 'x'))));
        for (std::uint32_t rank : {0u, 1u})
          EXPECT_EQ(look_up(**mine, rank, key).size(), i % 3 == 0 ? 2000u : 1u);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST_F(Pmi1ProxyRequests, LookupsCompleteWhileTheHostClientIsInABarrier) {
  make(2);
  auto self = processes[0]->open(), other = processes[1]->open();
  auto client = host(0), partner = host(1);
  client.write_line("cmd=barrier_in");
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  EXPECT_EQ(look_up(*other, 0, "k"), "v");
  partner.write_line("cmd=barrier_in");
  EXPECT_EQ(client.read_line(), "cmd=barrier_out");
  EXPECT_EQ(partner.read_line(), "cmd=barrier_out");
}

TEST_F(Pmi1ProxyRequests, FenceWaitsForTheHostClientsBarrier) {
  make(1);
  auto self = processes[0]->open();
  auto client = host(0);
  for (int round = 0; round < 20; ++round) {
    client.write_line("cmd=barrier_in");
    auto fence = must(self->fence(std::vector<std::uint32_t>{0}));
    EXPECT_EQ(client.read_line(), "cmd=barrier_out");
    EXPECT_TRUE(result_of(*fence).has_value());
  }
}

TEST_F(Pmi1ProxyRequests, GroupBarriersOfBothClientsOverlap) {
  make(2, 2);
  auto self = processes[0]->open(), other = processes[1]->open();
  auto client = host(0), partner = host(1);
  const std::vector<std::uint32_t> all = {0, 1};
  client.write_line("cmd=barrier_in");
  auto one = must(self->fence(all)), two = must(other->fence(all));
  EXPECT_TRUE(result_of(*one).has_value());
  EXPECT_TRUE(result_of(*two).has_value());
  partner.write_line("cmd=barrier_in group=WORLD:0");
  EXPECT_EQ(partner.query("cmd=get_appnum"), "cmd=appnum appnum=0");
}

TEST_F(Pmi1ProxyRequests, HostClientSeesTheLossOfTheLauncher) {
  make(1);
  auto self = processes[0]->open();
  auto client = host(0);
  server->close_all();
  EXPECT_EQ(client.read_line(), "");
  EXPECT_TRUE(eventually([&] { return self->has_lost_launcher(); }));
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
