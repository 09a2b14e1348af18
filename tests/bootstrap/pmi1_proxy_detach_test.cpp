// SPDX-License-Identifier: BSD-3-Clause
// Tests when the PMI proxy detaches, and what it does with requests that are open then.
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shim/base/files.hpp"
#include "tests/base/thread_count.hpp"
#include "tests/bootstrap/pmi1_proxy_rig.hpp"

namespace shim::bootstrap::pmi1::testing {
namespace {

using ::testing::ElementsAre;

struct Pmi1ProxyDetach : Pmi1Proxy {};

TEST_F(Pmi1ProxyDetach, StaysUntilTheHostClientHasFinalized) {
  make(2);
  auto client = host(0), partner = host(1);
  init_world(*processes[0], client);
  EXPECT_TRUE(is_handed_back(0)) << "MPI_Init needs no proxy";
  for (int round = 0; round < 3; ++round) {
    client.write_line("cmd=barrier_in");
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
    const auto begin = base::now_ns();
    self.reset();
    EXPECT_LT(base::now_ns() - begin, 500'000'000);
    EXPECT_FALSE(is_handed_back(0));
    EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
    EXPECT_EQ(client.read_line(), "cmd=barrier_out");
    send_all_kinds(client, "x" + std::to_string(round));
  }
  EXPECT_EQ(server->count("unpublish_name"), 1) << "it has attached once";
  processes[0]->lifetime->before_mpi_finalize(10);
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  ::shutdown(server->end(0), SHUT_RDWR);
  ::close(server->end(0));
  server->forget(0);
  const auto threads_before = base::thread_count();
  processes[0]->lifetime->after_mpi_finalize();
  EXPECT_EQ(base::wait_for_thread_count(threads_before - 1), threads_before - 1);
  processes.clear();
  EXPECT_THAT(server->finalized(), ElementsAre(0));
}

/// MPI was initialized before this library was loaded.
TEST_F(Pmi1ProxyDetach, StaysBesideADetectedWorld) {
  make(1);
  auto client = host(0);
  send_init(client);
  processes[0]->lifetime->on_mpi_detected(true);
  processes[0]->open();
  EXPECT_FALSE(is_handed_back(0));
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  EXPECT_TRUE(server->finalized().empty());
  processes.clear();
  EXPECT_THAT(server->finalized(), ElementsAre(0));
}

/// A second native library is initialized past this library.
TEST_F(Pmi1ProxyDetach, StaysBesideAnActiveHostClient) {
  make(1);
  auto self = processes[0]->open();
  auto client = host(0);
  send_init(client);
  client.write_line("cmd=get_appnum");
  self.reset();
  EXPECT_FALSE(is_handed_back(0));
  EXPECT_EQ(client.read_line(), "cmd=appnum appnum=0");
  send_all_kinds(client, "x");
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  processes[0]->open();
  processes.clear();
  EXPECT_THAT(server->finalized(), ElementsAre(0));
}

/// MPI_Abort writes a request, and ends the process.
TEST_F(Pmi1ProxyDetach, ForwardsTheHostClientsLastRequestAtTheEnd) {
  make(1);
  for (int round = 0; round < 20; ++round) {
    auto client = host(0);
    init_world(*processes[0], client);
    processes[0]->open();
    client.write_line("cmd=abort exitcode=7");
    restart(0);
    EXPECT_TRUE(eventually([&] { return server->count("abort") == round + 1; }));
    EXPECT_TRUE(is_handed_back(0));
  }
}

TEST_F(Pmi1ProxyDetach, StaysWhileARequestIsOpen) {
  make(2);
  auto self = processes[0]->open();
  auto partner = host(1);
  auto fence = must(self->fence(std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(partner.query("cmd=get_appnum"), "cmd=appnum appnum=0");
  const auto begin = base::now_ns();
  self.reset();
  EXPECT_LT(base::now_ns() - begin, 500'000'000);
  EXPECT_FALSE(is_handed_back(0)) << "the response would reach the next user of the descriptor";
  EXPECT_EQ(partner.query("cmd=barrier_in"), "cmd=barrier_out");
  EXPECT_TRUE(result_of(*fence).has_value());
  processes[0]->open();
  EXPECT_TRUE(is_handed_back(0));
}

/// True if the thread sleeps in a mutex or a condition variable.
bool sleeps_in_futex(pid_t thread) {
  const auto call = base::read_file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  return call && call->starts_with(std::to_string(SYS_futex) + " ");
}

TEST_F(Pmi1ProxyDetach, BootstrapOpensWhileTheLastOneWaitsForAResponse) {
  const auto is_silent = std::make_shared<std::atomic<bool>>(
      false);  // the server outlives the test
  make({.size = 1, .fault = [is_silent](std::uint32_t, const std::string&) {
          return Fault{*is_silent ? Fault::Type::silent : Fault::Type::none};
        }});
  auto self = processes[0]->open();
  const int lookups = server->count("lookup_name");
  *is_silent = true;
  auto unanswered = must(self->lookup(0, "never"));
  EXPECT_FALSE(must(unanswered->poll()).has_value());
  EXPECT_TRUE(eventually([&] { return server->count("lookup_name") == lookups + 1; }));
  *is_silent = false;  // the proxy waits for the one response before it detaches
  std::atomic<pid_t> closing_thread{0};
  std::thread closer([&] {
    closing_thread = ::gettid();
    self.reset();
  });
  EXPECT_TRUE(eventually([&] { return sleeps_in_futex(closing_thread); }));
  const auto begin = base::now_ns();
  auto other = processes[0]->open();
  EXPECT_LT(base::now_ns() - begin, 500'000'000);
  closer.join();
}

TEST_F(Pmi1ProxyDetach, DetachesDespiteAForkedChild) {
  make(1);
  auto self = processes[0]->open();
  std::array<int, 2> hold{};
  ASSERT_EQ(::pipe(hold.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(hold[1]);
    ::_exit(::read(hold[0], &byte, 1) == 0 ? 0 : 1);
  }
  ::close(hold[0]);
  self.reset();
  EXPECT_TRUE(is_handed_back(0));
  auto client = host(0);
  send_all_kinds(client, "x");
  ::close(hold[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
