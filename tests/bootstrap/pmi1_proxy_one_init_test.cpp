// SPDX-License-Identifier: BSD-3-Clause
// Tests the PMI proxy with a launcher that answers the init request only once.
#include "tests/bootstrap/pmi1_proxy_rig.hpp"

namespace shim::bootstrap::pmi1::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Run the steps of MPI_Init and of its host client, and check the responses.
void start_world(Process& process, HostClient& client, bool may_open_sessions = false) {
  process.lifetime->before_mpi_init({.may_open_sessions = may_open_sessions, .seconds = 5});
  EXPECT_THAT(client.query("cmd=init pmi_version=1 pmi_subversion=1"),
              StartsWith("cmd=response_to_init"));
  EXPECT_THAT(client.query("cmd=get_maxes"), StartsWith("cmd=maxes "));
  EXPECT_EQ(client.query("cmd=barrier_in"), "cmd=barrier_out");
  process.lifetime->after_mpi_init();
}

void end_world(Process& process, HostClient& client) {
  process.lifetime->before_mpi_finalize(5);
  EXPECT_EQ(client.query("cmd=barrier_in"), "cmd=barrier_out");
  EXPECT_EQ(client.query("cmd=finalize"), "cmd=finalize_ack");
  process.lifetime->after_mpi_finalize();
}

void use_bootstrap(Process& process, const std::string& key) {
  auto self = must(process.try_open(5));
  EXPECT_EQ(self->job().world_name, "7.0");
  ASSERT_TRUE(self->publish(key, bytes_of("v")));
  EXPECT_EQ(look_up(*self, 0, key), "v");
}

struct Pmi1OneInit : Pmi1Proxy {
  Pmi1OneInit() { make(ServerOptions{.size = 1, .one_init = true}); }
  void TearDown() override {
    processes.clear();
    EXPECT_EQ(server->count("init"), 1);
    EXPECT_THAT(server->finalized(), ElementsAre(0));
    server.reset();
  }
};

TEST_F(Pmi1OneInit, MpiFinalizeAttachesWithoutSessions) {
  auto client = host(0);
  start_world(*processes[0], client, true);
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, BootstrapOpensAfterMpiInit) {
  auto client = host(0);
  start_world(*processes[0], client);
  use_bootstrap(*processes[0], "a");
  use_bootstrap(*processes[0], "b");
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, MpiInitWorksAfterABootstrap) {
  auto client = host(0);
  use_bootstrap(*processes[0], "a");
  start_world(*processes[0], client);
  use_bootstrap(*processes[0], "b");
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, MpiInitAndFinalizeWorkDuringABootstrap) {
  auto client = host(0);
  auto self = must(processes[0]->try_open(5));
  start_world(*processes[0], client);
  end_world(*processes[0], client);
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
}

TEST_F(Pmi1OneInit, BootstrapOpensAfterMpiFinalize) {
  auto client = host(0);
  start_world(*processes[0], client);
  end_world(*processes[0], client);
  use_bootstrap(*processes[0], "a");
}

TEST_F(Pmi1OneInit, BootstrapOpensOnAnotherThreadDuringMpiInit) {
  std::thread other([&] { use_bootstrap(*processes[0], "a"); });
  auto client = host(0);
  start_world(*processes[0], client, true);
  other.join();
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, BootstrapOpensBetweenMpiInitAndPmiInit) {
  std::thread idle([&] {
    EXPECT_TRUE(eventually([&] { return server->count("init") > 0; }));
  });  // time for an init request to arrive
  processes[0]->lifetime->before_mpi_init({.may_open_sessions = true, .seconds = 5});
  std::thread other([&] { use_bootstrap(*processes[0], "a"); });
  other.join();
  auto client = host(0);
  EXPECT_THAT(client.query("cmd=init pmi_version=1 pmi_subversion=1"),
              StartsWith("cmd=response_to_init"));
  processes[0]->lifetime->after_mpi_init();
  idle.join();
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, FinalizeIsSentAtTheEndBesideAnOpenBootstrap) {
  auto self = must(processes[0]->try_open(5));
  processes[0]->lifetime.reset();
  EXPECT_THAT(server->finalized(), ElementsAre(0));
}

struct Pmi1ProxyInit : Pmi1Proxy {};

TEST_F(Pmi1ProxyInit, DoesNotWaitForALibraryWithoutPmi1) {
  make(ServerOptions{.size = 1, .one_init = true});
  ProcessLifetime& lifetime = *processes[0]->lifetime;
  lifetime.before_mpi_init({.speaks_pmi1 = false});
  lifetime.after_mpi_init();
  use_bootstrap(*processes[0], "a");
  lifetime.before_mpi_finalize(5);
  lifetime.after_mpi_finalize();
  EXPECT_EQ(server->count("init"), 1);
}

TEST_F(Pmi1ProxyInit, SecondInitIsSentIfTheLauncherAnswersIt) {
  make(1, 2);
  processes[0]->lifetime->before_mpi_init({.may_open_sessions = false});
  auto client = host(0);
  send_init(client);
  processes[0]->lifetime->after_mpi_init();
  auto self = processes[0]->open();
  auto fence = must(self->fence(std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(result_of(*fence).has_value()) << "the response shows that the launcher has PMI 1.2";
  EXPECT_EQ(server->count("init"), 2);
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
