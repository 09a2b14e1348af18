// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/singleton.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap {
namespace {

using testing::bytes_of;
using testing::error_of;
using testing::must;
using testing::text_of;

TEST(Singleton, HasAWorldOfOneProcessOnThisHost) {
  auto alone = open_singleton();
  EXPECT_EQ(alone->name(), "singleton");
  EXPECT_EQ(alone->job().rank, 0u);
  EXPECT_EQ(alone->job().size, 1u);
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(alone->node_map().host(0), host);
  EXPECT_EQ(alone->node_map().size(), 1u);
  EXPECT_TRUE(alone->app_numbers().empty());
  EXPECT_TRUE(must(alone->named_sets()).empty());
}

TEST(Singleton, WarnsIfALauncherHasStartedSeveralProcesses) {
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    SCOPED_TRACE(name);
    ::unsetenv(name);
    EXPECT_EQ(open_singleton()->warning(), std::nullopt);
    for (const char* harmless : {"1", "0", "", "many"}) {
      ::setenv(name, harmless, 1);
      EXPECT_EQ(open_singleton()->warning(), std::nullopt) << harmless;
    }
    ::setenv(name, "3", 1);
    const auto warning = open_singleton()->warning();
    ASSERT_TRUE(warning.has_value());
    EXPECT_THAT(*warning, ::testing::HasSubstr(std::string("although ") + name + " is 3"));
    ::unsetenv(name);
  }
}

TEST(Singleton, ItsWorldHasAUniqueName) {
  std::string mine = open_singleton()->job().world_name;
  EXPECT_EQ(open_singleton()->job().world_name, mine);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    std::string name = open_singleton()->job().world_name;
    ::_exit(::write(ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size()) ? 0
                                                                                            : 1);
  }
  char others[256] = {};
  ASSERT_GT(::read(ends[0], others, sizeof others - 1), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_NE(mine, others);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Singleton, FindsItsOwnPublishedValues) {
  auto alone = open_singleton();
  auto early = must(alone->lookup(0, "k"));
  EXPECT_FALSE(must(early->poll()).has_value());
  ASSERT_TRUE(alone->publish("k", bytes_of("v")));
  EXPECT_EQ(text_of(must(early->poll()).value()), "v");
  EXPECT_EQ(error_of(alone->lookup(1, "k")).error_class(), base::ErrorClass::rank);
  const std::vector<std::uint32_t> me = {0};
  EXPECT_TRUE(must(must(alone->fence(me))->poll()).has_value());
  EXPECT_EQ(alone->counts().publishes, 1u);
  EXPECT_EQ(alone->counts().fences, 1u);
}

TEST(Singleton, ReadsItsOwnLogEntries) {
  auto alone = open_singleton();
  EXPECT_TRUE(must(alone->read_log()).empty());
  ASSERT_TRUE(alone->append_log(bytes_of("a")));
  ASSERT_TRUE(alone->append_log(bytes_of("b")));
  EXPECT_EQ(text_of(must(alone->read_log()).at(1).bytes), "b");
  EXPECT_EQ(must(alone->read_log()).at(1).index, 1u);
  EXPECT_EQ(error_of(alone->append_log(Bytes(kMaxLogEntryBytes + 1))).error_class(),
            base::ErrorClass::arg);
}

}  // namespace
}  // namespace shim::bootstrap
