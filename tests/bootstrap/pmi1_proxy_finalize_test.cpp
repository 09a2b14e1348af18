// SPDX-License-Identifier: BSD-3-Clause
// Tests the end of the host client, and the finalize request that the PMI proxy sends for it.
#include <sys/ioctl.h>

#include "tests/bootstrap/pmi1_proxy_rig.hpp"

namespace shim::bootstrap::pmi1::testing {
namespace {

using ::testing::ElementsAre;

struct Pmi1ProxyFinalize : Pmi1Proxy {};

TEST_F(Pmi1ProxyFinalize, FinalizeOfTheHostClientLeavesItsDescriptor) {
  make(1);
  auto self = processes[0]->open();
  auto client = host(0);
  send_init(client);
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  // As MPICH does; the number is then reused for an unrelated descriptor.
  const int number = server->end(0);
  ::shutdown(number, SHUT_RDWR);
  ::close(number);
  const int unrelated = ::dup(STDIN_FILENO);
  ASSERT_EQ(unrelated, number) << "dup() returns the lowest free number";
  const auto unrelated_id = identity_of(unrelated);
  server->forget(0);
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  self.reset();
  EXPECT_EQ(identity_of(unrelated), unrelated_id);
  self = processes[0]->open();
  EXPECT_EQ(look_up(*self, 0, "k"), "v");
  self.reset();
  EXPECT_EQ(identity_of(unrelated), unrelated_id);
  EXPECT_EQ(server->count("finalize"), 0);
  processes.clear();
  EXPECT_EQ(server->count("finalize"), 1);
  EXPECT_EQ(identity_of(unrelated), unrelated_id);
  ::close(unrelated);
}

TEST_F(Pmi1ProxyFinalize, HostClientMayCloseAfterTheLastBootstrap) {
  make(1);
  auto self = processes[0]->open();
  auto client = host(0);
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  self.reset();  // between the host client's finalize and its close
  ::shutdown(server->end(0), SHUT_RDWR);
  ::close(server->end(0));
  server->forget(0);
  self = processes[0]->open();
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
}

TEST_F(Pmi1ProxyFinalize, FinalizeIsNotForwardedWithoutABootstrap) {
  make(1);
  ProcessLifetime& lifetime = *processes[0]->lifetime;
  auto client = host(0);
  lifetime.before_mpi_init({});
  send_init(client);
  lifetime.after_mpi_init();
  lifetime.before_mpi_finalize(10);
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  ::shutdown(server->end(0), SHUT_RDWR);
  ::close(server->end(0));
  server->forget(0);
  lifetime.after_mpi_finalize();
  EXPECT_EQ(server->count("finalize"), 0);
  auto self = processes[0]->open();
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  self.reset();
  processes.clear();
  EXPECT_EQ(server->count("finalize"), 1);
}

TEST_F(Pmi1ProxyFinalize, ProgramMayCloseAllDescriptors) {
  make(1);
  auto client = host(0);
  init_world(*processes[0], client);
  processes[0]->lifetime->before_mpi_finalize(10);
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  ::close(server->end(0));
  server->forget(0);
  processes[0]->lifetime->after_mpi_finalize();
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  int kept = -1;
  for (int number = 200; number < 300; ++number)  // as duplicate_high() chooses it
    if (identity_of(number) == launcher[0]) kept = number;
  ASSERT_GE(kept, 0);
  ASSERT_EQ(::dup2(pair[1], kept), kept) << "the program closes it, and reuses the number";
  EXPECT_FALSE(processes[0]->try_open(1));
  EXPECT_TRUE(identity_of(kept) == identity_of(pair[1]));
  processes.clear();
  char byte = 0;
  EXPECT_EQ(::recv(pair[0], &byte, 1, MSG_DONTWAIT), -1)
      << "the library has written to the program's socket";
  for (const int number : pair) ::close(number);
}

TEST_F(Pmi1ProxyFinalize, NamesPublishedForDrainingAreUnpublished) {
  make(1);
  for (int round = 0; round < 3; ++round) {
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
  }
  EXPECT_EQ(server->names(), 3u);
}

TEST_F(Pmi1ProxyFinalize, WorldWithoutBootstrapSendsFinalizeAtExit) {
  make(1);
  auto client = host(0);
  processes[0]->lifetime->before_mpi_init({});
  send_init(client);
  processes[0]->lifetime->before_mpi_finalize(10);
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  processes[0]->lifetime->after_mpi_finalize();
  processes.clear();
  EXPECT_THAT(server->finalized(), ElementsAre(0));
}

TEST_F(Pmi1ProxyFinalize, SendsNoFinalizeForAWorldNotFinalized) {
  make(1);
  processes[0]->lifetime->before_mpi_init({});
  auto client = host(0);
  send_init(client);
  processes[0]->open();
  processes.clear();
  EXPECT_TRUE(server->finalized().empty()) << "the launcher must detect the missing finalize";
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
