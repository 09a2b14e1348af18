// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/child.hpp"

#include <gmock/gmock.h>

#include "shim/info/mpi_library.hpp"

namespace shim::info {
namespace {

using ::testing::HasSubstr;

base::Result<ChildResult> shell(const std::string& script, double seconds = 30) {
  return run({"/bin/sh", "-c", script}, seconds);
}

TEST(Child, ReturnsOutputAndExitCode) {
  const auto outcome = shell("echo one; echo two; exit 3");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->output, "one\ntwo\n");
  EXPECT_EQ(outcome->exit_code, 3);
}

TEST(Child, ReturnsOutputLongerThanThePipeBuffer) {
  const auto outcome = shell("head -c 300000 /dev/zero");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->output.size(), 300000u);
}

TEST(Child, SignalIsAnError) {
  const auto outcome = shell("kill -SEGV $$");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("signal"));
}

TEST(Child, HangingCommandIsKilled) {
  const auto outcome = shell("exec sleep 600", 0.1);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("not answered"));
}

TEST(Child, CommandThatWritesWithoutPauseIsKilled) {
  const auto outcome = shell("exec cat /dev/zero", 0.1);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("not answered"));
}

TEST(Child, CommandThatRunsOnAfterItsOutputIsKilled) {
  const auto outcome = shell("exec sleep 600 >&-", 0.1);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("not answered"));
}

TEST(Child, LimitOfZeroSecondsIsNoLimit) {
  const auto outcome = shell("head -c 50000000 /dev/zero | wc -c", 0);
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->output, "50000000\n");
}

TEST(Child, MissingCommandIsAnError) { EXPECT_FALSE(run({"/nowhere/command"}, 30)); }

TEST(MpiLibrary, LoaderMessageIsKept) {
  const auto library = load_and_query("libnonesuch.so.1");
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().text(), HasSubstr("libnonesuch.so.1"));
}

TEST(MpiLibrary, LibraryThatIsNoMpiIsRejected) {
  const auto library = load_and_query("libm.so.6");
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().text(), HasSubstr("MPI_Get_library_version"));
}

TEST(MpiLibrary, ChildProcessReportIsUsed) {
  // A stand-in for the command: it prints the report that print_library would print.
  EXPECT_FALSE(query_in_child("/bin/false", "x", 30));
  const auto echoed = query_in_child("/bin/echo", "libx.so", 30);
  ASSERT_TRUE(echoed);
  EXPECT_EQ(echoed->file, std::string(kQueryOption) + " libx.so");
  EXPECT_EQ(echoed->version, "");
}

TEST(MpiLibrary, ChildProcessWithoutReportIsAnError) {
  // a stand-in for a library that ends the process while it is loaded
  const auto silent = query_in_child("/bin/true", "x", 30);
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().text(), HasSubstr("no report"));
}

}  // namespace
}  // namespace shim::info
