// SPDX-License-Identifier: BSD-3-Clause
// Tests the Bootstrap over PMI-1 against a launcher inside the test, which also simulates faults of
// launchers.
#include <sys/wait.h>

#include "tests/bootstrap/pmi1_rig.hpp"

namespace shim::bootstrap::pmi1::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::unique_ptr<Process>> processes_of(FakeServer& server, std::uint32_t size) {
  std::vector<std::unique_ptr<Process>> all;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    all.push_back(std::make_unique<Process>(server, rank));
  return all;
}

TEST(Pmi1Backend, KnowsTheJob) {
  FakeServer server({.size = 3, .mapping = "(vector,(0,1,1),(1,1,2))"});
  Process process(server, 1);
  auto self = process.open();
  EXPECT_EQ(self->name(), "pmi1");
  EXPECT_EQ(self->job().world_name, "kvs_1");
  EXPECT_EQ(self->job().rank, 1u);
  EXPECT_EQ(self->job().size, 3u);
  EXPECT_EQ(self->node_map().host(1), "node1");
  EXPECT_EQ(self->node_map().local_rank(2), 1u);
  EXPECT_TRUE(self->app_numbers().empty());
  EXPECT_TRUE(must(self->named_sets()).empty());
  EXPECT_FALSE(self->has_lost_launcher());
}

TEST(Pmi1Backend, QueriesTheNumbersOfTheLaunch) {
  struct Case {
    const char *universe, *application;
    std::optional<std::uint32_t> expected_universe, expected_application;
  };
  for (const Case& each : {Case{"infinite", "2", std::nullopt, 2u}, Case{"4", "-1", 4u, {}}}) {
    FakeServer server({.universe = each.universe, .application = each.application});
    Process process(server, 0);
    const LaunchNumbers numbers = process.open()->query_launch_numbers();
    EXPECT_EQ(numbers.universe_size, each.expected_universe);
    EXPECT_EQ(numbers.app_number, each.expected_application);
  }
}

TEST(Pmi1Backend, PublishesValuesOfAnyLengthAndBytes) {
  for (std::size_t limit : {100u, 1024u, 70'000u}) {
    FakeServer server({.size = 2, .value_limit = limit});
    auto processes = processes_of(server, 2);
    auto one = processes[0]->open(), other = processes[1]->open();
    for (std::size_t length : {0u, 1u, 16u, 1000u, 5000u}) {
      std::string value;
      for (std::size_t i = 0; i < length; ++i) value += static_cast<char>(i * 7);
      const std::string key = "k " + std::to_string(length);
      ASSERT_TRUE(one->publish(key, bytes_of(value)));
      EXPECT_EQ(look_up(*other, 0, key), value);
      EXPECT_EQ(look_up(*one, 0, key), value);
    }
    EXPECT_LT(server.longest_port().size(), std::min<std::size_t>(limit, 1024));
    EXPECT_EQ(one->counts().publishes, 5u);
    EXPECT_EQ(other->counts().lookups, 5u);
  }
}

TEST(Pmi1Backend, EveryProcessReadsEveryEntry) {
  FakeServer server({.size = 20, .value_limit = 100});
  auto processes = processes_of(server, 20);
  auto one = processes[0]->open(), other = processes[19]->open();
  const int before = server.count("lookup_name");
  EXPECT_TRUE(must(one->read_log()).empty());
  EXPECT_EQ(server.count("lookup_name"), before + 1);
  const std::string longer(5000, 'x');
  ASSERT_TRUE(other->append_log(bytes_of("short")));
  ASSERT_TRUE(other->append_log(bytes_of(longer)));
  for (Bootstrap* self : {one.get(), other.get()}) {
    const auto entries = must(self->read_log());
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].writer, 19u);
    EXPECT_EQ(text_of(entries[0].bytes), "short");
    EXPECT_EQ(text_of(entries[1].bytes), longer);
  }
  other = processes[19]->open();  // the process re-initializes
  ASSERT_TRUE(other->append_log(bytes_of("later")));
  EXPECT_EQ(text_of(must(one->read_log()).back().bytes), "later");
  EXPECT_EQ(error_of(other->append_log(Bytes(kMaxLogEntryBytes + 1))).error_class(),
            base::ErrorClass::arg);
}

TEST(Pmi1Backend, ReassemblesFragmentedResponses) {
  FakeServer server({.size = 2, .byte_by_byte = true});
  auto processes = processes_of(server, 2);
  auto one = processes[0]->open(), other = processes[1]->open();
  ASSERT_TRUE(one->publish("k", bytes_of("v")));
  EXPECT_EQ(look_up(*other, 0, "k"), "v");
}

TEST(Pmi1Backend, LookupCompletesWhenTheValueIsPublished) {
  FakeServer server({.size = 2});
  auto processes = processes_of(server, 2);
  auto one = processes[0]->open(), other = processes[1]->open();
  auto pending = must(other->lookup(0, "late"));
  EXPECT_TRUE(eventually(
      [&] { return !must(pending->poll()).has_value() && other->counts().lookup_retries >= 3; }));
  ASSERT_TRUE(one->publish("late", bytes_of("v")));
  EXPECT_EQ(text_of(must(result_of(*pending))), "v");
  EXPECT_EQ(error_of(other->lookup(2, "k")).error_class(), base::ErrorClass::rank);
}

/// Return the number of requests sent in 1.5 s by a process that waits for `searches` values.
int lookups_while_waiting(std::size_t searches) {
  FakeServer server({.size = 1});
  Process process(server, 0);
  auto self = process.open();
  const int before = server.count("lookup_name");
  std::vector<std::unique_ptr<Pending<Bytes>>> lookups;
  for (std::size_t i = 0; i < searches; ++i)
    lookups.push_back(must(self->lookup(0, "never" + std::to_string(i))));
  const auto end = base::Deadline::after_seconds(1.5);
  while (!end.passed())
    for (auto& pending : lookups) EXPECT_FALSE(must(pending->poll()).has_value());
  return server.count("lookup_name") - before;
}

TEST(Pmi1Backend, PendingLookupsLimitTheirRequestRate) {
  // One search: 25 pauses of up to 50 ms within the first 0.2 s, then 20 requests a second.
  EXPECT_LE(lookups_while_waiting(1), 55);
  EXPECT_GE(lookups_while_waiting(1), 10);
  // Forty searches share the rate: pauses are ten times as long. Each search sends 6 requests until
  // its pauses reach 0.5 s, and then 3; a single search would send 45.
  EXPECT_LE(lookups_while_waiting(40), 40 * 10);
}

TEST(Pmi1Backend, SendsOneLookupAtATime) {
  std::atomic<base::Nanoseconds> answered_at{0};
  std::atomic<int> too_early{0}, seen{0};
  FakeServer server({.size = 1, .fault = [&](std::uint32_t, const std::string& line) {
                       if (line.find("lookup_name") == std::string::npos ||
                           line.find(".turn.") != std::string::npos)
                         return Fault{};
                       if (base::now_ns() < answered_at) ++too_early;
                       answered_at = base::now_ns() + 10'000'000;
                       ++seen;
                       return Fault{.delay_s = 0.01};
                     }});
  Process process(server, 0);
  auto self = process.open();
  std::vector<std::unique_ptr<Pending<Bytes>>> lookups;
  for (int i = 0; i < 20; ++i)
    lookups.push_back(must(self->lookup(0, "never" + std::to_string(i))));
  EXPECT_TRUE(eventually([&] {
    for (auto& pending : lookups) EXPECT_FALSE(must(pending->poll()).has_value());
    return seen >= 25;
  }));
  EXPECT_EQ(too_early, 0);
}

TEST(Pmi1Backend, ThreadsOfManyProcessesExchangeValues) {
  constexpr std::uint32_t kSize = 4, kThreads = 3;
  FakeServer server({.size = kSize});
  auto processes = processes_of(server, kSize);
  std::vector<std::unique_ptr<Bootstrap>> selves;
  for (auto& process : processes) selves.push_back(process->open());
  std::vector<std::thread> threads;
  for (auto& self : selves)
    for (std::uint32_t worker = 0; worker < kThreads; ++worker)
      threads.emplace_back([&self, worker] {
        for (int round = 0; round < 10; ++round) {
          const std::string key = std::to_string(worker) + "." + std::to_string(round);
          const std::string value = key + std::string(worker == 0 ? 3000 : 3, 'x');
          ASSERT_TRUE(self->publish(key, bytes_of(value)));
          for (std::uint32_t rank = 0; rank < kSize; ++rank)
            EXPECT_EQ(look_up(*self, rank, key), value);
        }
      });
  for (auto& thread : threads) thread.join();
}

TEST(Pmi1Backend, FenceOfAllIsTheBarrierOfPmi11) {
  FakeServer server({.size = 3});
  auto processes = processes_of(server, 3);
  const std::vector<std::uint32_t> all = {0, 1, 2}, some = {0, 2}, self_only = {0};
  std::vector<std::unique_ptr<Bootstrap>> selves;
  for (auto& process : processes) selves.push_back(process->open());
  auto first = must(selves[0]->fence(all)), second = must(selves[1]->fence(all));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(must(first->poll()).has_value());
  EXPECT_FALSE(must(second->poll()).has_value());
  auto third = must(selves[2]->fence(all));
  for (auto* fence : {&first, &second, &third}) EXPECT_TRUE(result_of(**fence).has_value());
  EXPECT_TRUE(must(must(selves[0]->fence(self_only))->poll()).has_value());
  const auto refused = error_of(selves[0]->fence(some));
  EXPECT_THAT(refused.text(), HasSubstr("INTERSESSION_EXCHANGE=modex"));
  EXPECT_EQ(refused.error_class(), base::ErrorClass::unsupported_operation);
}

TEST(Pmi1Backend, FenceOfSomeIsTheGroupBarrierOfPmi12) {
  FakeServer server({.size = 3, .subversion = 2});
  auto processes = processes_of(server, 3);
  const std::vector<std::uint32_t> some = {0, 2}, back = {2, 0}, others = {0, 1};
  auto zero = processes[0]->open(), two = processes[2]->open();
  auto waiting = must(zero->fence(others));  // the other member never enters
  for (int round = 0; round < 5; ++round) {
    auto first = must(zero->fence(some)), second = must(two->fence(back));
    EXPECT_TRUE(result_of(*first).has_value());
    EXPECT_TRUE(result_of(*second).has_value());
  }
  EXPECT_FALSE(must(waiting->poll()).has_value());
  EXPECT_THAT(server.barriers().back(), HasSubstr("cmd=barrier_in group=0,2:"));
}

TEST(Pmi1Backend, UsesOnlyTheVersionInTheResponse) {
  FakeServer server({.size = 1, .fault = [](std::uint32_t, const std::string& line) {
                       EXPECT_EQ(line.find("pmi_subversion=2"), std::string::npos)
                           << "hydra 4.0.2 ends the job";
                       return Fault{};
                     }});
  Process(server, 0).open();
}

// ---- faults of the launcher

struct ServerFault {
  const char* at;  ///< the request that triggers the fault
  Fault::Type kind;
  const char* text;      ///< text that the server sends
  const char* expected;  ///< text that the error must contain
};

const ServerFault kServerFaults[] = {
    {"cmd=init", Fault::Type::closes, "", "has closed its connection"},
    {"cmd=get_maxes", Fault::Type::closes, "", "has closed its connection"},
    {"PMI_process_mapping", Fault::Type::closes, "", "has closed its connection"},
    {"cmd=init", Fault::Type::silent, "", "has not answered"},
    {"cmd=get_maxes", Fault::Type::silent, "", "has not answered \"cmd=get_maxes\""},
    {"cmd=get_my_kvsname", Fault::Type::text, "HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1 400"},
    {"cmd=init", Fault::Type::text, "what?\n", "what?"},
    {"cmd=get_maxes", Fault::Type::text, "cmd=max", "has not answered"},
    {"cmd=get_maxes", Fault::Type::text, "cmd=appnum appnum=0\n", "cmd=appnum appnum=0"},
    {"cmd=get_my_kvsname", Fault::Type::text, "cmd=my_kvsname kvsname=\n", "the name of the job"},
    {"cmd=init", Fault::Type::text, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n",
     "PMI 2.0"},
    {"cmd=init", Fault::Type::text, "cmd=response_to_init pmi_version=x rc=0\n", "PMI x.?"},
    {"cmd=init", Fault::Type::text, "cmd=response_to_init rc=-1 msg=go away\n", "rc=-1, go away"},
    {"PMI_process_mapping", Fault::Type::text, "cmd=get_result rc=-1 msg=key_not_found\n",
     "key_not_found"},
    {"PMI_process_mapping", Fault::Type::text, "cmd=get_result rc=0 value=(vector,\n", "(vector,"},
};

struct Pmi1BadServer : ::testing::TestWithParam<ServerFault> {};

TEST_P(Pmi1BadServer, OpenReportsWhyItFailed) {
  const ServerFault& server_fault = GetParam();
  FakeServer server({.size = 2, .fault = [&](std::uint32_t, const std::string& line) {
                       if (line.find(server_fault.at) == std::string::npos) return Fault{};
                       return Fault{server_fault.kind, server_fault.text};
                     }});
  Process process(server, 0);
  const auto begin = base::now_ns();
  const auto error = error_of(process.try_open(0.3));
  EXPECT_THAT(error.text(), HasSubstr(server_fault.expected));
  EXPECT_LT(base::now_ns() - begin, 3'000'000'000) << error.text();
}

INSTANTIATE_TEST_SUITE_P(Pmi1, Pmi1BadServer, ::testing::ValuesIn(kServerFaults));

TEST(Pmi1Backend, OverlongLineFailsTheConnection) {
  FakeServer server({.size = 1, .fault = [](std::uint32_t, const std::string& line) {
                       const bool is_it = line.find("get_maxes") != std::string::npos;
                       return is_it ? Fault{Fault::Type::text, std::string(150'000, 'x')} : Fault{};
                     }});
  Process process(server, 0);
  EXPECT_THAT(error_of(process.try_open(0.3)).text(), HasSubstr("has not answered"));
}

TEST(Pmi1Backend, WaitsForASlowServer) {
  FakeServer server({.size = 2, .fault = [](std::uint32_t, const std::string&) {
                       return Fault{.delay_s = 0.03};
                     }});
  auto processes = processes_of(server, 2);
  auto one = processes[0]->open(), other = processes[1]->open();
  ASSERT_TRUE(one->publish("k", bytes_of("v")));
  EXPECT_EQ(look_up(*other, 0, "k"), "v");
}

TEST(Pmi1Backend, OpenCanBeRetried) {
  std::atomic<int> asked{0};
  FakeServer server({.size = 1, .fault = [&](std::uint32_t, const std::string& line) {
                       const bool is_first = line.find("get_my_kvsname") != std::string::npos &&
                                             asked++ == 0;
                       return Fault{.delay_s = is_first ? 0.4 : 0};
                     }});
  Process process(server, 0);
  EXPECT_THAT(error_of(process.try_open(0.1)).text(),
              HasSubstr("has not answered \"cmd=get_my_kvsname\""));
  auto self = process.open();
  EXPECT_EQ(self->job().world_name, "kvs_1");
  EXPECT_EQ(asked, 2) << "the late response must not complete the new request";
}

TEST(Pmi1Backend, DetectsTheLossOfTheLauncher) {
  FakeServer server({.size = 2});
  Process process(server, 0);
  auto self = process.open();
  auto pending = must(self->lookup(1, "never"));
  auto fence = must(self->fence(std::vector<std::uint32_t>{0, 1}));
  EXPECT_FALSE(must(pending->poll()).has_value());
  server.close_all();
  EXPECT_TRUE(eventually([&] { return self->has_lost_launcher(); }));
  EXPECT_THAT(error_of(result_of(*pending)).text(), HasSubstr("has closed its connection"));
  EXPECT_THAT(error_of(result_of(*fence)).text(), HasSubstr("has closed its connection"));
  EXPECT_THAT(error_of(self->publish("k", bytes_of("v"))).text(),
              HasSubstr("cannot publish \"k\": the launcher"));
  self.reset();
  EXPECT_FALSE(process.try_open());
}

TEST(Pmi1Backend, ErrorsQuoteTheServersMessage) {
  FakeServer server(
      {.size = 2, .fault = [](std::uint32_t, const std::string& line) {
         if (line.find("bad.value") != std::string::npos &&
             line.find("lookup") != std::string::npos)
           return Fault{Fault::Type::text, "cmd=lookup_result port=tag#0$ rc=0\n"};
         if (line.find("no.server") != std::string::npos)
           return Fault{Fault::Type::text, "cmd=lookup_result rc=-1 msg=no_name_server\n"};
         return Fault{};
       }});
  Process process(server, 0);
  auto self = process.open();
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  EXPECT_THAT(error_of(self->publish("k", bytes_of("w"))).text(), HasSubstr("key_already_present"));
  EXPECT_THAT(error_of(result_of(*must(self->lookup(1, "bad.value")))).text(),
              HasSubstr("not written by Intersession: \"tag#0$\""));
  EXPECT_THAT(error_of(result_of(*must(self->lookup(1, "no.server")))).text(),
              HasSubstr("no_name_server"));
}

// ---- the lifetime of the process

TEST(Pmi1Lifetime, SendsFinalizeOnceAtProcessEnd) {
  FakeServer server({.size = 2});
  auto processes = processes_of(server, 2);
  for (int round = 0; round < 3; ++round) {
    auto self = processes[0]->open();
    ASSERT_TRUE(self->publish("k" + std::to_string(round), bytes_of("v")));
  }
  EXPECT_TRUE(server.finalized().empty());
  processes.clear();
  EXPECT_THAT(server.finalized(), ElementsAre(0)) << "a process without a Bootstrap sends none";
  EXPECT_EQ(server.count("finalize"), 1);
}

TEST(Pmi1Lifetime, WithoutALifetimeFinalizeIsSentWhenTheBootstrapCloses) {
  FakeServer server({.size = 1});
  must(Backend::open(server.env(0), {.ready_timeout_s = 10})).reset();
  EXPECT_THAT(server.finalized(), ElementsAre(0));
}

TEST(Pmi1Lifetime, RequestsMayOutliveTheBootstrap) {
  FakeServer server({.size = 2});
  Process process(server, 0);
  auto self = process.open();
  auto asked = must(self->lookup(1, "never")), not_asked = must(self->lookup(1, "never"));
  EXPECT_FALSE(must(asked->poll()).has_value());
  self.reset();
  EXPECT_FALSE(not_asked->poll());
  process.lifetime.reset();
  asked.reset();
}

TEST(Pmi1Lifetime, ForkedChildSendsNeitherRequestsNorFinalize) {
  FakeServer server({.size = 2});
  auto process = std::make_unique<Process>(server, 0);
  auto self = process->open();
  auto fence = must(self->fence(std::vector<std::uint32_t>{0, 1}));
  const int lookups = server.count("lookup_name"), publishes = server.count("publish_name");
  const pid_t child = ::fork();
  if (child == 0) {
    bool is_right = !self->publish("k", bytes_of("v")) && !process->try_open(1);
    auto pending = self->lookup(0, "k");
    is_right = is_right && pending && !(*pending)->poll();
    pending = base::Error(base::ErrorClass::other, "");
    self.reset();
    process.reset();
    ::_exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(self->publish("k", bytes_of("v")));
  EXPECT_EQ(server.count("lookup_name"), lookups);
  EXPECT_EQ(server.count("publish_name"), publishes + 1);
  EXPECT_TRUE(server.finalized().empty());
  self.reset();
  process.reset();
  EXPECT_EQ(server.count("finalize"), 1);
}

}  // namespace
}  // namespace shim::bootstrap::pmi1::testing
