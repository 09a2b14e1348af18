// SPDX-License-Identifier: BSD-3-Clause
// We and a client like MPICH's on one descriptor, at every moment of each other's conversation.
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "shim/bootstrap/pmi1/readers.hpp"
#include "tests/bootstrap/pmi1_rig.hpp"

#ifdef __SANITIZE_THREAD__
/// To the sanitizer, no descriptor of this program orders what two threads do. That is stricter than its default, for which GCC 12's runtime
/// has data about each descriptor; it frees them when another descriptor is put in its place, and crashed, in one of sixty runs, where a
/// thread wrote to it meanwhile, as a guest does here.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options();
const char* __tsan_default_options() { return "io_sync=0"; }
#endif

namespace shim::bootstrap::pmi1::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Pmi1Switchboard : ::testing::Test {
  void make(std::uint32_t size, std::uint32_t subversion = 1) {
    make(ServerOptions{.size = size, .subversion = subversion});
  }
  void make(const ServerOptions& options) {
    server = std::make_unique<FakeServer>(options);
    for (std::uint32_t rank = 0; rank < options.size; ++rank) {
      processes.push_back(std::make_unique<Process>(*server, rank));
      real.push_back(identity_of(server->end(rank)).value());
    }
  }
  Guest guest(std::uint32_t rank) { return Guest(server->end(rank)); }
  /// The launcher's own socket is at its number.
  bool is_handed_back(std::uint32_t rank) { return identity_of(server->end(rank)) == real[rank]; }
  void TearDown() override {
    processes.clear();
    server.reset();
  }
  std::unique_ptr<FakeServer> server;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<FileIdentity> real;
};

/// What MPICH says in MPI_Init, with answers as they must be.
void greet(Guest& guest) {
  EXPECT_THAT(guest.ask("cmd=init pmi_version=1 pmi_subversion=1"), StartsWith("cmd=response_to_init pmi_version=1"));
  EXPECT_THAT(guest.ask("cmd=get_maxes"), StartsWith("cmd=maxes "));
  EXPECT_EQ(guest.ask("cmd=get_appnum"), "cmd=appnum appnum=0");
  EXPECT_EQ(guest.ask("cmd=get_my_kvsname"), "cmd=my_kvsname kvsname=kvs_1");
  EXPECT_THAT(guest.ask("cmd=get kvsname=kvs_1 key=PMI_process_mapping"), HasSubstr("value=(vector,"));
}

/// One turn of a client that uses every kind of request that we use too.
void chat(Guest& guest, const std::string& mark) {
  EXPECT_EQ(guest.ask("cmd=put kvsname=kvs_1 key=" + mark + " value=v" + mark), "cmd=put_result rc=0 msg=success");
  EXPECT_EQ(guest.ask("cmd=get kvsname=kvs_1 key=" + mark), "cmd=get_result rc=0 msg=success value=v" + mark);
  EXPECT_THAT(guest.ask("cmd=publish_name service=" + mark + " port=p" + mark), HasSubstr("rc=0"));
  EXPECT_THAT(guest.ask("cmd=lookup_name service=" + mark), HasSubstr("port=p" + mark + " "));
  EXPECT_THAT(guest.ask("cmd=lookup_name service=no" + mark), HasSubstr("service_not_found"));
}

TEST_F(Pmi1Switchboard, TheDescriptorIsHandedBack) {
  make(1);
  for (int round = 0; round < 3; ++round) {
    auto self = processes[0]->open();
    EXPECT_FALSE(is_handed_back(0));
    self.reset();
    EXPECT_TRUE(is_handed_back(0));
    auto client = guest(0);
    chat(client, std::to_string(round));
  }
}

TEST_F(Pmi1Switchboard, TwoBootstrapsOfAProcessShareIt) {
  make(1);
  auto one = processes[0]->open(), two = processes[0]->open();
  one.reset();
  EXPECT_FALSE(is_handed_back(0));
  ASSERT_TRUE(two->publish("k", bytes_of("v")));
  two.reset();
  EXPECT_TRUE(is_handed_back(0));
}

TEST_F(Pmi1Switchboard, BothTalkAtOnce) {
  make(2);
  auto self = processes[0]->open(), other = processes[1]->open();
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    auto client = guest(0);
    for (int i = 0; i < 100; ++i) {
      greet(client);
      chat(client, "g" + std::to_string(i));
    }
  });
  for (auto* mine : {&self, &other})
    threads.emplace_back([mine] {
      for (int i = 0; i < 100; ++i) {
        const std::string key = "k" + std::to_string(i);
        ASSERT_TRUE((*mine)->publish(key, bytes_of(std::string(i % 3 == 0 ? 2000 : 1, 'x'))));
        for (std::uint32_t rank : {0u, 1u}) EXPECT_EQ(look_up(**mine, rank, key).size(), i % 3 == 0 ? 2000u : 1u);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST_F(Pmi1Switchboard, OursGoOnWhileTheGuestIsInABarrier) {
  make(2);
  auto self = processes[0]->open(), other = processes[1]->open();
  auto client = guest(0), partner = guest(1);
  client.write_line("cmd=barrier_in");
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  EXPECT_EQ(look_up(*other, 0, "k"), "v");
  partner.write_line("cmd=barrier_in");
  EXPECT_EQ(client.read_line(), "cmd=barrier_out");
  EXPECT_EQ(partner.read_line(), "cmd=barrier_out");
}

TEST_F(Pmi1Switchboard, AFenceOfOursWaitsForTheGuestsBarrier) {
  make(1);
  auto self = processes[0]->open();
  auto client = guest(0);
  for (int round = 0; round < 20; ++round) {
    client.write_line("cmd=barrier_in");
    auto fence = must(self->fence(std::vector<std::uint32_t>{0}));
    EXPECT_EQ(client.read_line(), "cmd=barrier_out");
    EXPECT_TRUE(answer_of(*fence).has_value());
  }
}

TEST_F(Pmi1Switchboard, GroupBarriersOfBothGoBesideEachOther) {
  make(2, 2);
  auto self = processes[0]->open(), other = processes[1]->open();
  auto client = guest(0), partner = guest(1);
  const std::vector<std::uint32_t> all = {0, 1};
  client.write_line("cmd=barrier_in");
  auto one = must(self->fence(all)), two = must(other->fence(all));
  EXPECT_TRUE(answer_of(*one).has_value());
  EXPECT_TRUE(answer_of(*two).has_value());
  partner.write_line("cmd=barrier_in group=WORLD:0");
  EXPECT_EQ(partner.ask("cmd=get_appnum"), "cmd=appnum appnum=0");
}

// ---- coming

/// A guest that sleeps in its barrier when we come; `prepare` runs on its thread.
struct InBarrier {
  InBarrier(Pmi1Switchboard& test, std::uint32_t rank, std::function<void()> prepare = [] {})
      : thread([this, client = test.guest(rank), prepare]() mutable {
          prepare();
          answer = client.ask("cmd=barrier_in");
          afterwards = client.ask("cmd=get_appnum");
        }) {
    EXPECT_TRUE(eventually([&] { return !readers_of(test.server->end(rank)).empty(); }));
  }
  ~InBarrier() {
    if (thread.joinable()) thread.join();
  }
  std::string answer, afterwards;
  std::thread thread;
};

TEST_F(Pmi1Switchboard, AReaderOnTheSocketIsBroughtOver) {
  make(2);
  for (int round = 0; round < 20; ++round) {
    InBarrier waiting(*this, 0);
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
    auto partner = guest(1);
    EXPECT_EQ(partner.ask("cmd=barrier_in"), "cmd=barrier_out");
    waiting.thread.join();
    EXPECT_EQ(waiting.answer, "cmd=barrier_out");
    EXPECT_EQ(waiting.afterwards, "cmd=appnum appnum=0");
  }
}

TEST_F(Pmi1Switchboard, TheProgramsSignalHandlersAreAsBefore) {
  make(2);
  struct sigaction before {}, after {};
  before.sa_handler = [](int) {};
  before.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGURG, &before, nullptr), 0);  // so that SIGWINCH is taken
  {
    InBarrier waiting(*this, 0);
    auto self = processes[0]->open();
    auto partner = guest(1);
    EXPECT_EQ(partner.ask("cmd=barrier_in"), "cmd=barrier_out");
  }
  ASSERT_EQ(::sigaction(SIGURG, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_TRUE((after.sa_flags & SA_RESTART) != 0);
  // the guest has read its last answer, and the socket goes back to it about now
  EXPECT_TRUE(eventually([&] { return ::sigaction(SIGWINCH, nullptr, &after) == 0 && after.sa_handler == SIG_DFL; }));
  ::signal(SIGURG, SIG_DFL);
}

TEST_F(Pmi1Switchboard, AReaderThatCannotBeInterruptedIsNamed) {
  make(2);
  InBarrier waiting(*this, 0, [] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  });
  EXPECT_THAT(error_of(processes[0]->try_open(0.3)).text(), HasSubstr("blocks SIGURG"));
  EXPECT_TRUE(is_handed_back(0));
  auto partner = guest(1);
  EXPECT_EQ(partner.ask("cmd=barrier_in"), "cmd=barrier_out");
  waiting.thread.join();
  EXPECT_EQ(waiting.answer, "cmd=barrier_out") << "it was left alone";
  processes[0]->open();
}

TEST_F(Pmi1Switchboard, WhatTheGuestHadAskedBeforeIsAnswered) {
  make(1);
  int round = 0;
  for (const char* request : {"get_appnum", "get_maxes", "lookup_name service=x", "publish_name service=x port=y",
                              "lookup_name service=x", "publish_name service=x port=y", "init pmi_version=1 pmi_subversion=1"}) {
    auto client = guest(0);
    client.write_line("cmd=" + std::string(request));  // on the socket; it reads when we are there
    auto self = processes[0]->open();
    EXPECT_THAT(client.read_line(), ::testing::AnyOf(HasSubstr("appnum=0"), HasSubstr("maxes"), HasSubstr(round < 4 ? "not_found" : "port=y"),
                                                     HasSubstr(round < 5 ? "rc=0 msg=success" : "key_already_present"), HasSubstr("response_to_init")));
    chat(client, "r" + std::to_string(round++));
  }
}

TEST_F(Pmi1Switchboard, ABarrierAskedBeforeAndReadAfterIsTheGuests) {
  make(2);
  auto client = guest(0), partner = guest(1);
  client.write_line("cmd=barrier_in");  // on the socket, and not seen to read
  auto self = processes[0]->open();
  auto question = must(self->lookup(1, "never"));
  EXPECT_FALSE(must(question->poll()).has_value());
  EXPECT_EQ(partner.ask("cmd=barrier_in"), "cmd=barrier_out");
  EXPECT_EQ(client.read_line(), "cmd=barrier_out");
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  chat(client, "x");
}

TEST_F(Pmi1Switchboard, AFenceOfOursDoesNotJoinABarrierAskedBefore) {
  make(2);
  auto client = guest(0), partner = guest(1);
  client.write_line("cmd=barrier_in");
  auto self = processes[0]->open();
  std::thread reader([&] { EXPECT_EQ(client.read_line(), "cmd=barrier_out"); });
  EXPECT_TRUE(eventually([&] { return !readers_of(server->end(0)).empty(); }));
  auto fence = must(self->fence(std::vector<std::uint32_t>{0, 1}));
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  EXPECT_EQ(server->count("barrier_in"), 1);
  EXPECT_EQ(partner.ask("cmd=barrier_in"), "cmd=barrier_out");
  reader.join();
  EXPECT_EQ(partner.ask("cmd=barrier_in"), "cmd=barrier_out");
  EXPECT_TRUE(answer_of(*fence).has_value());
}

// ---- going

TEST_F(Pmi1Switchboard, ItStaysUntilTheGuestHasReadItsAnswer) {
  make(1);
  auto self = processes[0]->open();
  auto client = guest(0);
  client.write_line("cmd=get_appnum");
  EXPECT_TRUE(eventually([&] {
    int bytes = 0;
    return ::ioctl(server->end(0), FIONREAD, &bytes) == 0 && bytes > 0;
  }));
  self.reset();
  EXPECT_FALSE(is_handed_back(0));
  EXPECT_EQ(client.read_line(), "cmd=appnum appnum=0");
  EXPECT_TRUE(eventually([&] { return is_handed_back(0); }));
  chat(client, "x");
}

TEST_F(Pmi1Switchboard, ComingAndGoingUnderFire) {
  make(1);
  std::atomic<bool> is_over{false};
  std::atomic<int> turns{0};
  std::thread talker([&] {
    auto client = guest(0);
    for (; !is_over; ++turns) chat(client, "t" + std::to_string(turns));
  });
  for (int round = 0; round < 150 || turns < 150; ++round) {
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
    EXPECT_EQ(look_up(*self, 0, "k" + std::to_string(round)), "v");
  }
  is_over = true;
  talker.join();
  EXPECT_TRUE(eventually([&] { return is_handed_back(0); }));
}

TEST_F(Pmi1Switchboard, ComingAndGoingWhileProcessesMeetInBarriers) {
  make(2);
  std::atomic<bool> is_over{false};
  std::atomic<int> turns{0};
  std::vector<std::thread> talkers;
  for (std::uint32_t rank : {0u, 1u})
    talkers.emplace_back([&, rank] {
      auto client = guest(rank);
      for (bool goes_on = true; goes_on; turns += rank == 0 ? 1 : 0) {
        // both leave after the same barrier: the first says so by a value that the second reads after it
        if (rank == 0) {
          EXPECT_THAT(client.ask("cmd=put kvsname=k key=over value=" + std::to_string(is_over)), HasSubstr("rc=0"));
        }
        EXPECT_EQ(client.ask("cmd=barrier_in"), "cmd=barrier_out");
        const std::string got = client.ask("cmd=get kvsname=k key=over");
        EXPECT_THAT(got, StartsWith("cmd=get_result rc=0"));
        goes_on = got.find("value=1") == std::string::npos && !HasFailure();
        EXPECT_EQ(client.ask("cmd=barrier_in"), "cmd=barrier_out");
      }
    });
  for (int round = 0; round < 100 || turns < 100; ++round) {
    auto self = processes[static_cast<std::size_t>(round % 2)]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
  }
  is_over = true;
  for (auto& talker : talkers) talker.join();
}

TEST_F(Pmi1Switchboard, ItStaysWhileTheGuestWaitsAndGoesAfterwards) {
  make(2);
  auto self = processes[0]->open();
  auto client = guest(0), partner = guest(1);
  client.write_line("cmd=barrier_in");
  EXPECT_EQ(partner.ask("cmd=get_appnum"), "cmd=appnum appnum=0");
  ASSERT_TRUE(eventually([&] { return server->count("barrier_in") == 1; }));
  const auto begin = base::now_ns();
  self.reset();
  EXPECT_LT(base::now_ns() - begin, 500'000'000);
  EXPECT_FALSE(is_handed_back(0));
  partner.write_line("cmd=barrier_in");
  EXPECT_EQ(client.read_line(), "cmd=barrier_out");
  EXPECT_TRUE(eventually([&] { return is_handed_back(0); }));
  chat(client, "x");
  auto again = processes[0]->open();
  ASSERT_TRUE(again->publish("k", bytes_of("v")));
}

TEST_F(Pmi1Switchboard, AChildThatHoldsTheDescriptorDoesNotKeepIt) {
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
  auto client = guest(0);
  chat(client, "x");
  ::close(hold[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// ---- the guest's end

TEST_F(Pmi1Switchboard, TheGuestsGoodbyeIsHeldBackAndItsNumberLeftToIt) {
  make(1);
  auto self = processes[0]->open();
  auto client = guest(0);
  greet(client);
  EXPECT_EQ(client.ask("cmd=finalize"), "cmd=finalize_ack");
  // As MPICH does it; the number goes to somebody else.
  const int number = server->end(0);
  ::shutdown(number, SHUT_RDWR);
  ::close(number);
  const int stranger = ::dup(STDIN_FILENO);
  ASSERT_EQ(stranger, number) << "the lowest free number";
  const auto strangers = identity_of(stranger);
  server->forget(0);
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  self.reset();
  EXPECT_EQ(identity_of(stranger), strangers);
  self = processes[0]->open();
  EXPECT_EQ(look_up(*self, 0, "k"), "v");
  self.reset();
  EXPECT_EQ(identity_of(stranger), strangers);
  EXPECT_EQ(server->count("finalize"), 0);
  processes.clear();
  EXPECT_EQ(server->count("finalize"), 1);
  EXPECT_EQ(identity_of(stranger), strangers);
  ::close(stranger);
}

TEST_F(Pmi1Switchboard, AGuestMayCloseItsNumberAfterTheLastBootstrap) {
  make(1);
  auto self = processes[0]->open();
  auto client = guest(0);
  EXPECT_EQ(client.ask("cmd=finalize"), "cmd=finalize_ack");
  self.reset();  // between its finalize and its close
  ::shutdown(server->end(0), SHUT_RDWR);
  ::close(server->end(0));
  server->forget(0);
  self = processes[0]->open();
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
}

TEST_F(Pmi1Switchboard, TheWorldsEndIsHeldBackWithoutABootstrap) {
  make(1);
  ProcessLife& life = *processes[0]->life;
  auto client = guest(0);
  life.before_world_starts({});
  greet(client);
  life.before_world_ends(10);
  EXPECT_EQ(client.ask("cmd=finalize"), "cmd=finalize_ack");
  ::shutdown(server->end(0), SHUT_RDWR);
  ::close(server->end(0));
  server->forget(0);
  life.after_world_ended();
  EXPECT_EQ(server->count("finalize"), 0);
  auto self = processes[0]->open();
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  self.reset();
  processes.clear();
  EXPECT_EQ(server->count("finalize"), 1);
}

TEST_F(Pmi1Switchboard, WhatIsOnlySaidToTakeATurnIsTakenBack) {
  make(1);
  for (int round = 0; round < 3; ++round) {
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
  }
  EXPECT_EQ(server->names(), 3u);
}

TEST_F(Pmi1Switchboard, AWorldThatEndsWithoutABootstrapEverSaysGoodbyeInTheEnd) {
  make(1);
  auto client = guest(0);
  processes[0]->life->before_world_starts({});
  greet(client);
  processes[0]->life->before_world_ends(10);
  EXPECT_EQ(client.ask("cmd=finalize"), "cmd=finalize_ack");
  processes[0]->life->after_world_ended();
  processes.clear();
  EXPECT_THAT(server->finalized(), ElementsAre(0));
}

TEST_F(Pmi1Switchboard, NoGoodbyeForAWorldThatIsNotFinalized) {
  make(1);
  processes[0]->life->before_world_starts({});
  auto client = guest(0);
  greet(client);
  processes[0]->open();
  processes.clear();
  EXPECT_TRUE(server->finalized().empty()) << "the launcher is to notice";
}

// ---- a launcher that answers init once

/// The MPI library's client in MPI_Init, with answers as they must be.
void start_world(Process& process, Guest& client, bool sessions_may_come = false) {
  process.life->before_world_starts({.sessions_may_come = sessions_may_come, .seconds = 5});
  EXPECT_THAT(client.ask("cmd=init pmi_version=1 pmi_subversion=1"),
              StartsWith("cmd=response_to_init"));
  EXPECT_THAT(client.ask("cmd=get_maxes"), StartsWith("cmd=maxes "));
  EXPECT_EQ(client.ask("cmd=barrier_in"), "cmd=barrier_out");
  process.life->after_world_started();
}

void end_world(Process& process, Guest& client) {
  process.life->before_world_ends(5);
  EXPECT_EQ(client.ask("cmd=barrier_in"), "cmd=barrier_out");
  EXPECT_EQ(client.ask("cmd=finalize"), "cmd=finalize_ack");
  process.life->after_world_ended();
}

void use_bootstrap(Process& process, const std::string& key) {
  auto self = must(process.try_open(5));
  EXPECT_EQ(self->job().world_name, "7.0");
  ASSERT_TRUE(self->publish(key, bytes_of("v")));
  EXPECT_EQ(look_up(*self, 0, key), "v");
}

struct Pmi1OneInit : Pmi1Switchboard {
  Pmi1OneInit() { make(ServerOptions{.size = 1, .one_init = true}); }
  void TearDown() override {
    processes.clear();
    EXPECT_EQ(server->count("init"), 1);
    EXPECT_THAT(server->finalized(), ElementsAre(0));
    server.reset();
  }
};

TEST_F(Pmi1OneInit, AWorldWithoutSessionsIsSharedAtItsEnd) {
  auto client = guest(0);
  start_world(*processes[0], client, true);
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, ABootstrapOpensAfterTheWorldHasStarted) {
  auto client = guest(0);
  start_world(*processes[0], client);
  use_bootstrap(*processes[0], "a");
  use_bootstrap(*processes[0], "b");
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, AWorldStartsAfterABootstrap) {
  auto client = guest(0);
  use_bootstrap(*processes[0], "a");
  start_world(*processes[0], client);
  use_bootstrap(*processes[0], "b");
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, AWorldStartsAndEndsBesideABootstrap) {
  auto client = guest(0);
  auto self = must(processes[0]->try_open(5));
  start_world(*processes[0], client);
  end_world(*processes[0], client);
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
}

TEST_F(Pmi1OneInit, ABootstrapOpensAfterTheWorldHasEnded) {
  auto client = guest(0);
  start_world(*processes[0], client);
  end_world(*processes[0], client);
  use_bootstrap(*processes[0], "a");
}

TEST_F(Pmi1OneInit, ABootstrapOpensOnAnotherThreadWhileTheWorldStarts) {
  std::thread other([&] { use_bootstrap(*processes[0], "a"); });
  auto client = guest(0);
  start_world(*processes[0], client, true);
  other.join();
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, ABootstrapOpensBetweenTheWorldsBeginningAndItsInit) {
  std::thread idle([&] {
    EXPECT_TRUE(eventually([&] { return server->count("init") > 0; }));
  });  // so that it may have come
  processes[0]->life->before_world_starts({.sessions_may_come = true, .seconds = 5});
  std::thread other([&] { use_bootstrap(*processes[0], "a"); });
  other.join();
  auto client = guest(0);
  EXPECT_THAT(client.ask("cmd=init pmi_version=1 pmi_subversion=1"),
              StartsWith("cmd=response_to_init"));
  processes[0]->life->after_world_started();
  idle.join();
  end_world(*processes[0], client);
}

TEST_F(Pmi1OneInit, FinalizeIsSentAtTheEndBesideAnOpenBootstrap) {
  auto self = must(processes[0]->try_open(5));
  processes[0]->life.reset();
  EXPECT_THAT(server->finalized(), ElementsAre(0));
}

TEST_F(Pmi1Switchboard, ALibraryThatIsNoClientOfPmi1IsNotWaitedFor) {
  make(ServerOptions{.size = 1, .one_init = true});
  ProcessLife& life = *processes[0]->life;
  life.before_world_starts({.speaks_pmi1 = false});
  life.after_world_started();
  use_bootstrap(*processes[0], "a");
  life.before_world_ends(5);
  life.after_world_ended();
  EXPECT_EQ(server->count("init"), 1);
}

TEST_F(Pmi1Switchboard, ASecondInitIsSentToALauncherThatAnswersIt) {
  make(1, 2);
  processes[0]->life->before_world_starts({.sessions_may_come = false});
  auto client = guest(0);
  greet(client);
  processes[0]->life->after_world_started();
  auto self = processes[0]->open();
  auto fence = must(self->fence(std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(answer_of(*fence).has_value()) << "a launcher of PMI 1.2 is known as one";
  EXPECT_EQ(server->count("init"), 2);
}

TEST_F(Pmi1Switchboard, ALostLauncherIsLostToTheGuestToo) {
  make(1);
  auto self = processes[0]->open();
  auto client = guest(0);
  server->close_all();
  EXPECT_EQ(client.read_line(), "");
  EXPECT_TRUE(eventually([&] { return self->has_lost_launcher(); }));
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
