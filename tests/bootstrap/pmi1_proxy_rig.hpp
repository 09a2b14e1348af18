// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of the PMI proxy: a fake launcher, and processes that share its
// connections with host clients.
#pragma once

#include "tests/bootstrap/pmi1_rig.hpp"

namespace shim::bootstrap::pmi1::testing {

struct Pmi1Proxy : ::testing::Test {
  void make(std::uint32_t size, std::uint32_t subversion = 1) {
    make(ServerOptions{.size = size, .subversion = subversion});
  }
  void make(const ServerOptions& options) {
    server = std::make_unique<FakeServer>(options);
    for (std::uint32_t rank = 0; rank < options.size; ++rank) {
      processes.push_back(std::make_unique<Process>(*server, rank));
      launcher.push_back(identity_of(server->end(rank)).value());
    }
  }
  /// End a process, and start the next program of its rank on the same descriptor.
  void restart(std::uint32_t rank) {
    processes[rank].reset();
    processes[rank] = std::make_unique<Process>(*server, rank);
  }
  HostClient host(std::uint32_t rank) { return HostClient(server->end(rank)); }
  /// True if the descriptor number refers to the launcher's socket again.
  bool is_handed_back(std::uint32_t rank) {
    return identity_of(server->end(rank)) == launcher[rank];
  }
  void TearDown() override {
    processes.clear();
    server.reset();
  }
  std::unique_ptr<FakeServer> server;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<FileIdentity> launcher;
};

/// Send the requests of MPICH's MPI_Init, and check the responses.
inline void send_init(HostClient& host) {
  EXPECT_THAT(host.query("cmd=init pmi_version=1 pmi_subversion=1"),
              ::testing::StartsWith("cmd=response_to_init pmi_version=1"));
  EXPECT_THAT(host.query("cmd=get_maxes"), ::testing::StartsWith("cmd=maxes "));
  EXPECT_EQ(host.query("cmd=get_appnum"), "cmd=appnum appnum=0");
  EXPECT_EQ(host.query("cmd=get_my_kvsname"), "cmd=my_kvsname kvsname=kvs_1");
  EXPECT_THAT(host.query("cmd=get kvsname=kvs_1 key=PMI_process_mapping"),
              ::testing::HasSubstr("value=(vector,"));
}

/// Send each kind of request that this library uses, too, and check the responses.
inline void send_all_kinds(HostClient& host, const std::string& mark) {
  EXPECT_EQ(host.query("cmd=put kvsname=kvs_1 key=" + mark + " value=v" + mark),
            "cmd=put_result rc=0 msg=success");
  EXPECT_EQ(host.query("cmd=get kvsname=kvs_1 key=" + mark),
            "cmd=get_result rc=0 msg=success value=v" + mark);
  EXPECT_THAT(host.query("cmd=publish_name service=" + mark + " port=p" + mark),
              ::testing::HasSubstr("rc=0"));
  EXPECT_THAT(host.query("cmd=lookup_name service=" + mark),
              ::testing::HasSubstr("port=p" + mark + " "));
  EXPECT_THAT(host.query("cmd=lookup_name service=no" + mark),
              ::testing::HasSubstr("service_not_found"));
}

/// Run the steps of MPI_Init, in which no other thread opens a session.
inline void init_world(Process& process, HostClient& client) {
  process.lifetime->before_mpi_init({.may_open_sessions = false});
  send_init(client);
  process.lifetime->after_mpi_init();
}

}  // namespace shim::bootstrap::pmi1::testing
