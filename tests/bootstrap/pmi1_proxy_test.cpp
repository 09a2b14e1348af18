// SPDX-License-Identifier: BSD-3-Clause
// Tests the PMI proxy: this library and a host client use one descriptor at overlapping times.
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shim/base/files.hpp"
#include "shim/bootstrap/pmi1/blocked_threads.hpp"
#include "tests/base/thread_count.hpp"
#include "tests/bootstrap/pmi1_rig.hpp"

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

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
void send_init(HostClient& host) {
  EXPECT_THAT(host.query("cmd=init pmi_version=1 pmi_subversion=1"),
              StartsWith("cmd=response_to_init pmi_version=1"));
  EXPECT_THAT(host.query("cmd=get_maxes"), StartsWith("cmd=maxes "));
  EXPECT_EQ(host.query("cmd=get_appnum"), "cmd=appnum appnum=0");
  EXPECT_EQ(host.query("cmd=get_my_kvsname"), "cmd=my_kvsname kvsname=kvs_1");
  EXPECT_THAT(host.query("cmd=get kvsname=kvs_1 key=PMI_process_mapping"),
              HasSubstr("value=(vector,"));
}

/// Send each kind of request that this library uses, too, and check the responses.
void send_all_kinds(HostClient& host, const std::string& mark) {
  EXPECT_EQ(host.query("cmd=put kvsname=kvs_1 key=" + mark + " value=v" + mark),
            "cmd=put_result rc=0 msg=success");
  EXPECT_EQ(host.query("cmd=get kvsname=kvs_1 key=" + mark),
            "cmd=get_result rc=0 msg=success value=v" + mark);
  EXPECT_THAT(host.query("cmd=publish_name service=" + mark + " port=p" + mark), HasSubstr("rc=0"));
  EXPECT_THAT(host.query("cmd=lookup_name service=" + mark), HasSubstr("port=p" + mark + " "));
  EXPECT_THAT(host.query("cmd=lookup_name service=no" + mark), HasSubstr("service_not_found"));
}

TEST_F(Pmi1Proxy, DetachRestoresTheDescriptor) {
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

TEST_F(Pmi1Proxy, BootstrapsOfOneProcessShareTheProxy) {
  make(1);
  auto one = processes[0]->open(), two = processes[0]->open();
  one.reset();
  EXPECT_FALSE(is_handed_back(0));
  ASSERT_TRUE(two->publish("k", bytes_of("v")));
  two.reset();
  EXPECT_TRUE(is_handed_back(0));
}

TEST_F(Pmi1Proxy, HostClientAndBootstrapSendConcurrently) {
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

TEST_F(Pmi1Proxy, LookupsCompleteWhileTheHostClientIsInABarrier) {
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

TEST_F(Pmi1Proxy, FenceWaitsForTheHostClientsBarrier) {
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

TEST_F(Pmi1Proxy, GroupBarriersOfBothClientsOverlap) {
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

// ---- attach

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

TEST_F(Pmi1Proxy, BlockedReaderIsRedirected) {
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

TEST_F(Pmi1Proxy, RestoresTheProgramsSignalHandlers) {
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

TEST_F(Pmi1Proxy, ReportsAReaderThatBlocksSignals) {
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

TEST_F(Pmi1Proxy, RequestSentBeforeAttachIsAnswered) {
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

TEST_F(Pmi1Proxy, BarrierSentBeforeAttachBelongsToTheHostClient) {
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

TEST_F(Pmi1Proxy, FenceDoesNotJoinABarrierSentBeforeAttach) {
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

TEST_F(Pmi1Proxy, AttachWorksUnderLoad) {
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

TEST_F(Pmi1Proxy, AttachWorksDuringBarriers) {
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

// ---- detach

/// Run the steps of MPI_Init, in which no other thread opens a session.
void init_world(Process& process, HostClient& client) {
  process.lifetime->before_mpi_init({.may_open_sessions = false});
  send_init(client);
  process.lifetime->after_mpi_init();
}

TEST_F(Pmi1Proxy, StaysUntilTheHostClientHasFinalized) {
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
TEST_F(Pmi1Proxy, StaysBesideADetectedWorld) {
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
TEST_F(Pmi1Proxy, StaysBesideAnActiveHostClient) {
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
TEST_F(Pmi1Proxy, ForwardsTheHostClientsLastRequestAtTheEnd) {
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

TEST_F(Pmi1Proxy, StaysWhileARequestIsOpen) {
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

TEST_F(Pmi1Proxy, BootstrapOpensWhileTheLastOneWaitsForAResponse) {
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

TEST_F(Pmi1Proxy, DetachesDespiteAForkedChild) {
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

// ---- the host client's end

TEST_F(Pmi1Proxy, FinalizeOfTheHostClientLeavesItsDescriptor) {
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

TEST_F(Pmi1Proxy, HostClientMayCloseAfterTheLastBootstrap) {
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

TEST_F(Pmi1Proxy, FinalizeIsNotForwardedWithoutABootstrap) {
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

TEST_F(Pmi1Proxy, ProgramMayCloseAllDescriptors) {
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

TEST_F(Pmi1Proxy, NamesPublishedForDrainingAreUnpublished) {
  make(1);
  for (int round = 0; round < 3; ++round) {
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
  }
  EXPECT_EQ(server->names(), 3u);
}

TEST_F(Pmi1Proxy, WorldWithoutBootstrapSendsFinalizeAtExit) {
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

TEST_F(Pmi1Proxy, SendsNoFinalizeForAWorldNotFinalized) {
  make(1);
  processes[0]->lifetime->before_mpi_init({});
  auto client = host(0);
  send_init(client);
  processes[0]->open();
  processes.clear();
  EXPECT_TRUE(server->finalized().empty()) << "the launcher must detect the missing finalize";
}

// ---- a launcher that answers init only once

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

TEST_F(Pmi1Proxy, DoesNotWaitForALibraryWithoutPmi1) {
  make(ServerOptions{.size = 1, .one_init = true});
  ProcessLifetime& lifetime = *processes[0]->lifetime;
  lifetime.before_mpi_init({.speaks_pmi1 = false});
  lifetime.after_mpi_init();
  use_bootstrap(*processes[0], "a");
  lifetime.before_mpi_finalize(5);
  lifetime.after_mpi_finalize();
  EXPECT_EQ(server->count("init"), 1);
}

TEST_F(Pmi1Proxy, SecondInitIsSentIfTheLauncherAnswersIt) {
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

TEST_F(Pmi1Proxy, HostClientSeesTheLossOfTheLauncher) {
  make(1);
  auto self = processes[0]->open();
  auto client = host(0);
  server->close_all();
  EXPECT_EQ(client.read_line(), "");
  EXPECT_TRUE(eventually([&] { return self->has_lost_launcher(); }));
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
