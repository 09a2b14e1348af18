// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/child.hpp"

#include <gmock/gmock.h>

#include "shim/info/mpi_library.hpp"

namespace shim::info {
namespace {

using ::testing::HasSubstr;

base::Result<Outcome> shell(const std::string& script, double seconds = 30) { return run({"/bin/sh", "-c", script}, seconds); }

TEST(Child, OutputAndExitCode) {
  const auto outcome = shell("echo one; echo two; exit 3");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->output, "one\ntwo\n");
  EXPECT_EQ(outcome->exit_code, 3);
}

TEST(Child, MoreThanAPipeHolds) {
  const auto outcome = shell("head -c 300000 /dev/zero");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->output.size(), 300000u);
}

TEST(Child, ASignalIsAnError) {
  const auto outcome = shell("kill -SEGV $$");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("signal"));
}

TEST(Child, OneThatDoesNotEndIsKilled) {
  const auto outcome = shell("exec sleep 600", 0.1);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("not answered"));
}

TEST(Child, OneThatIsNotThereIsAnError) { EXPECT_FALSE(run({"/nowhere/command"}, 30)); }

TEST(MpiLibrary, TheLoadersWordsAreKept) {
  const auto library = load_and_ask("libnonesuch.so.1");
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().text(), HasSubstr("libnonesuch.so.1"));
}

TEST(MpiLibrary, ALibraryThatIsNoMpiIsRefused) {
  const auto library = load_and_ask("libm.so.6");
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().text(), HasSubstr("MPI_Get_library_version"));
}

TEST(MpiLibrary, WhatTheOtherProcessSaysIsTaken) {
  // Stands for the command: it says what answer_about would.
  EXPECT_FALSE(ask_apart("/bin/false", "x", 30));
  const auto echoed = ask_apart("/bin/echo", "libx.so", 30);
  ASSERT_TRUE(echoed);
  EXPECT_EQ(echoed->file, std::string(kAskOption) + " libx.so");
  EXPECT_EQ(echoed->version, "");
}

}  // namespace
}  // namespace shim::info
