// SPDX-License-Identifier: BSD-3-Clause
// Tests LaunchedProcesses over a directory with the layout of /proc.
#include "shim/bootstrap/launched_processes.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace shim::bootstrap {
namespace {

constexpr LaunchedProcesses::ScanPace kAtOnce{.between_scans = 0, .max_load = 1e9};
constexpr int kDaemon = 100, kSelf = 200, kPeer = 201;
/// The number of scans that must agree, plus one.
constexpr int kEnough = 4;

/// A node on which `orterun`, process 100, has started the caller, rank 0 of the job "J".
class Launched : public ::testing::Test {
 protected:
  struct Entry {
    std::string program, environment;
    int parent = kDaemon;
    char state = 'S';
    long start_time = 1000;
    int user_time = 0;
    int threads = 1;
  };

  void SetUp() override {
    std::string name = ::testing::TempDir() + "procXXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    add(1, {"init", "", 0});
    add(kDaemon, {"orterun", "PATH=/bin", 1});
    add(kSelf, {"program", of_rank(0)});
    std::filesystem::create_symlink(std::to_string(kSelf), folder_ / "self");
    write(folder_ / "uptime", "12.00 20.00\n");  // 2 s after these processes started
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  static std::string of_rank(int rank, const std::string& job = "J") {
    using namespace std::string_literals;
    return "PATH=/bin\0PMIX_NAMESPACE="s + job + "\0PMIX_RANK="s + std::to_string(rank) + '\0';
  }
  void add(int pid, const Entry& entry) {
    const auto folder = folder_ / std::to_string(pid);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    std::string stat = std::to_string(pid) + " (a (b) c) " + entry.state + ' ' +
                       std::to_string(entry.parent);
    for (int field = 5; field < 14; ++field) stat += " 0";
    stat += ' ' + std::to_string(entry.user_time);
    for (int field = 15; field < 20; ++field) stat += " 0";
    stat += ' ' + std::to_string(entry.threads) + " 0";
    write(folder / "stat", stat + ' ' + std::to_string(entry.start_time) + " 0 0\n");
    write(folder / "environ", entry.environment);
    std::filesystem::create_symlink("/usr/bin/" + entry.program, folder / "exe");
  }
  void remove(int pid) { std::filesystem::remove_all(folder_ / std::to_string(pid)); }
  bool has_ended(LaunchedProcesses& processes, unsigned rank = 1) {
    bool has_ended = false;
    for (int scan = 0; scan < kEnough; ++scan) has_ended = processes.has_ended(rank);
    return has_ended;
  }
  LaunchedProcesses watch() const {
    return LaunchedProcesses({{"PMIX_NAMESPACE=J"}, "PMIX_RANK"}, folder_.string(), kAtOnce,
                             {.after_busy_s = 0.1, .after_age_s = 5});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Launched, AbsentProcessHasEndedAfterThreeScans) {
  LaunchedProcesses processes = watch();
  EXPECT_FALSE(processes.has_ended(1));
  EXPECT_FALSE(processes.has_ended(1));
  EXPECT_TRUE(processes.has_ended(1));
}

TEST_F(Launched, ProcessOfTheRankRuns) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", of_rank(1)});
  EXPECT_FALSE(has_ended(processes));
  remove(kPeer);
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, StoppedProcessRuns) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", of_rank(1), kDaemon, 'T'});
  EXPECT_FALSE(has_ended(processes));
}

TEST_F(Launched, ZombieHasEnded) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", of_rank(1), kDaemon, 'Z'});
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, ZombieWithThreadsRuns) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", of_rank(1), kDaemon, 'Z', 1000, 0, 2});
  EXPECT_FALSE(has_ended(processes));
}

TEST_F(Launched, ReusedProcessIdIsAnotherProcess) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", of_rank(1)});
  EXPECT_FALSE(has_ended(processes));
  add(kPeer, {"program", of_rank(2), kDaemon, 'S', 2000});
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, WrapperOfTheRankRuns) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"sh", of_rank(1)});
  EXPECT_FALSE(has_ended(processes));
}

TEST_F(Launched, AnotherJobsProcessDoesNotCount) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", of_rank(1, "K")});
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, AnotherDaemonsProcessDoesNotCount) {
  LaunchedProcesses processes = watch();
  add(300, {"hydra_pmi_proxy", "PATH=/bin", 1});
  add(301, {"program", of_rank(1), 300});
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, OrphanedProcessCounts) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", of_rank(1), 1});
  EXPECT_FALSE(has_ended(processes));
}

TEST_F(Launched, OverwrittenEnvironmentIsInconclusive) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", std::string("a title") + std::string(40, '\0')});
  EXPECT_FALSE(has_ended(processes));
}

TEST_F(Launched, OverwrittenEnvironmentOfAnotherRanksChildDoesNotMatter) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"program", std::string("a title") + std::string(40, '\0'), kSelf});
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, DaemonThatIsStartingAProcessIsInconclusive) {
  LaunchedProcesses processes = watch();
  add(kPeer, {"orterun", "PATH=/bin"});  // between fork() and execve()
  EXPECT_FALSE(has_ended(processes));
}

TEST_F(Launched, StoppedDaemonIsInconclusive) {
  LaunchedProcesses processes = watch();
  add(kDaemon, {"orterun", "PATH=/bin", 1, 'T'});
  EXPECT_FALSE(has_ended(processes));
}

TEST_F(Launched, BusyDaemonIsInconclusiveInAYoungJob) {
  LaunchedProcesses processes = watch();
  add(kDaemon, {"orterun", "PATH=/bin", 1, 'R'});
  EXPECT_FALSE(has_ended(processes));
  add(kSelf, {"program", of_rank(0), kDaemon, 'S', 0});
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, BusyDaemonThatStartsNoProcessIsConclusive) {
  LaunchedProcesses processes = watch();
  add(kDaemon, {"orterun", "PATH=/bin", 1, 'R', 1000, 100});
  EXPECT_FALSE(has_ended(processes));
  add(kPeer + 1, {"program", of_rank(2), kDaemon, 'S', 1100});
  add(kDaemon, {"orterun", "PATH=/bin", 1, 'R', 1000, 120});
  EXPECT_FALSE(has_ended(processes));  // the daemon has used that time to start a process
  add(kDaemon, {"orterun", "PATH=/bin", 1, 'R', 1000, 140});
  EXPECT_TRUE(has_ended(processes));
}

TEST_F(Launched, UnknownLauncherIsInconclusive) {
  LaunchedProcesses processes = watch();
  add(kDaemon, {"some_launcher", "PATH=/bin", 1});
  EXPECT_FALSE(has_ended(processes));
}

}  // namespace
}  // namespace shim::bootstrap
