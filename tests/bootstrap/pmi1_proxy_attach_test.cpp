// SPDX-License-Identifier: BSD-3-Clause
// Tests that the PMI proxy attaches while a host client uses the descriptor.
#include <signal.h>

#include "shim/bootstrap/pmi1/blocked_threads.hpp"
#include "tests/bootstrap/pmi1_proxy_rig.hpp"

namespace shim::bootstrap::pmi1::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Pmi1ProxyAttach : Pmi1Proxy {};

/// A host client blocked in a barrier when the proxy attaches; `prepare` runs on its thread.
struct InBarrier {
  InBarrier(
      Pmi1Proxy& test, std::uint32_t rank, std::function<void()> prepare = [] {})
      : thread([this, client = test.host(rank), prepare]() mutable {
          prepare();
          answer = client.query("cmd=barrier_in");
          afterwards = client.query("cmd=get_appnum");
        }) {
    EXPECT_TRUE(eventually([&] { return !threads_blocked_on(test.server->end(rank)).empty(); }));
  }
  ~InBarrier() {
    if (thread.joinable()) thread.join();
  }
  std::string answer, afterwards;
  std::thread thread;
};

TEST_F(Pmi1ProxyAttach, BlockedReaderIsRedirected) {
  make(2);
  for (int round = 0; round < 20; ++round) {
    InBarrier waiting(*this, 0);
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
    auto partner = host(1);
    EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
    waiting.thread.join();
    EXPECT_EQ(waiting.answer, "cmd=barrier_out");
    EXPECT_EQ(waiting.afterwards, "cmd=appnum appnum=0");
  }
}

TEST_F(Pmi1ProxyAttach, RestoresTheProgramsSignalHandlers) {
  make(2);
  struct sigaction before {
  }, after{};
  before.sa_handler = [](int) {};
  before.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGURG, &before, nullptr),
            0);  // SIGURG is in use, so the library takes SIGWINCH
  {
    InBarrier waiting(*this, 0);
    auto self = processes[0]->open();
    auto partner = host(1);
    EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
  }
  ASSERT_EQ(::sigaction(SIGURG, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_TRUE((after.sa_flags & SA_RESTART) != 0);
  ASSERT_EQ(::sigaction(SIGWINCH, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
  ::signal(SIGURG, SIG_DFL);
}

TEST_F(Pmi1ProxyAttach, ReportsAReaderThatBlocksSignals) {
  make(2);
  InBarrier waiting(*this, 0, [] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  });
  EXPECT_THAT(error_of(processes[0]->try_open(0.3)).text(), HasSubstr("blocks SIGURG"));
  EXPECT_TRUE(is_handed_back(0));
  auto partner = host(1);
  EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
  waiting.thread.join();
  EXPECT_EQ(waiting.answer, "cmd=barrier_out") << "the reader was not interrupted";
  processes[0]->open();
}

TEST_F(Pmi1ProxyAttach, RequestSentBeforeAttachIsAnswered) {
  make(1);
  int round = 0;
  for (const char* request :
       {"get_appnum", "get_maxes", "lookup_name service=x", "publish_name service=x port=y",
        "lookup_name service=x", "publish_name service=x port=y",
        "init pmi_version=1 pmi_subversion=1"}) {
    auto client = host(0);
    client.write_line(
        "cmd=" +
        std::string(request));  // sent to the launcher; the client reads after the proxy attached
    auto self = processes[0]->open();
    EXPECT_THAT(client.read_line(),
                ::testing::AnyOf(HasSubstr("appnum=0"), HasSubstr("maxes"),
                                 HasSubstr(round < 4 ? "not_found" : "port=y"),
                                 HasSubstr(round < 5 ? "rc=0 msg=success" : "key_already_present"),
                                 HasSubstr("response_to_init")));
    send_all_kinds(client, "r" + std::to_string(round++));
    self.reset();
    restart(0);
  }
}

TEST_F(Pmi1ProxyAttach, BarrierSentBeforeAttachBelongsToTheHostClient) {
  make(2);
  auto client = host(0), partner = host(1);
  client.write_line("cmd=barrier_in");  // sent to the launcher; no thread is blocked in read(2)
  auto self = processes[0]->open();
  auto pending = must(self->lookup(1, "never"));
  EXPECT_FALSE(must(pending->poll()).has_value());
  EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
  EXPECT_EQ(client.read_line(), "cmd=barrier_out");
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  send_all_kinds(client, "x");
}

TEST_F(Pmi1ProxyAttach, FenceDoesNotJoinABarrierSentBeforeAttach) {
  make(2);
  auto client = host(0), partner = host(1);
  client.write_line("cmd=barrier_in");
  auto self = processes[0]->open();
  std::thread reader([&] { EXPECT_EQ(client.read_line(), "cmd=barrier_out"); });
  EXPECT_TRUE(eventually([&] { return !threads_blocked_on(server->end(0)).empty(); }));
  auto fence = must(self->fence(std::vector<std::uint32_t>{0, 1}));
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  EXPECT_EQ(server->count("barrier_in"), 1);
  EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
  reader.join();
  EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
  EXPECT_TRUE(result_of(*fence).has_value());
}

TEST_F(Pmi1ProxyAttach, AttachWorksUnderLoad) {
  make(1);
  for (int round = 0; round < 150; ++round) {
    std::atomic<bool> is_over{false};
    std::atomic<int> turns{0};
    std::thread talker([&] {
      auto client = host(0);
      for (; !is_over; ++turns)
        send_all_kinds(client, "t" + std::to_string(round) + "." + std::to_string(turns));
    });
    EXPECT_TRUE(eventually([&] { return turns > 0; }));
    auto self = processes[0]->open();
    const std::string key = "k" + std::to_string(round);
    ASSERT_TRUE(self->publish(key, bytes_of("v")));
    EXPECT_EQ(look_up(*self, 0, key), "v");
    is_over = true;
    talker.join();
    self.reset();
    restart(0);
  }
}

TEST_F(Pmi1ProxyAttach, AttachWorksDuringBarriers) {
  make(2);
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> is_over{false};
    std::atomic<int> turns{0};
    std::vector<std::thread> clients;
    for (std::uint32_t rank : {0u, 1u})
      clients.emplace_back([&, rank] {
        auto client = host(rank);
        for (bool returns_at_once = true; returns_at_once; turns += rank == 0 ? 1 : 0) {
          // both clients end after one barrier: rank 0 puts a value that rank 1 reads after it
          if (rank == 0) {
            EXPECT_THAT(client.query("cmd=put kvsname=k key=over value=" + std::to_string(is_over)),
                        HasSubstr("rc=0"));
          }
          EXPECT_EQ(client.query("cmd=barrier_in"), "cmd=barrier_out");
          const std::string got = client.query("cmd=get kvsname=k key=over");
          EXPECT_THAT(got, StartsWith("cmd=get_result rc=0"));
          returns_at_once = got.find("value=1") == std::string::npos && !HasFailure();
          EXPECT_EQ(client.query("cmd=barrier_in"), "cmd=barrier_out");
        }
      });
    EXPECT_TRUE(eventually([&] { return turns > 0; }));
    const auto rank = static_cast<std::uint32_t>(round % 2);
    auto self = processes[rank]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
    is_over = true;
    for (auto& talker : clients) talker.join();
    self.reset();
    restart(rank);
  }
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
