// SPDX-License-Identifier: BSD-3-Clause
// Tests Bootstraps of several simulated processes over one session folder of mpirun.
#include "shim/bootstrap/mpirun/backend.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/base/child.hpp"
#include "tests/base/directory.hpp"
#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::mpirun {
namespace {

using base::ErrorClass;
using testing::bytes_of;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must;
using ::testing::SizeIs;
using testing::text_of;

class MpirunBackend : public base::testing::DirectoryTest {
 protected:
  MpirunEnv env(std::uint32_t rank, std::uint32_t size) const {
    MpirunEnv made;
    made.job = {"1636368385", rank, size};
    made.node_map = NodeMap({"machine"}, std::vector<std::uint32_t>(size, 0));
    made.folder = directory_;
    made.mpirun = ::getppid();
    return made;
  }
  std::unique_ptr<Bootstrap> open(std::uint32_t rank, std::uint32_t size = 3) const {
    return std::make_unique<Backend>(env(rank, size));
  }
};

template <typename T>
std::optional<T> wait_for(Pending<T>& pending) {
  const auto deadline = base::Deadline::after_seconds(20);
  while (!deadline.passed())
    if (auto answer = must(pending.poll())) return answer;
  return std::nullopt;
}

std::string look_up(Bootstrap& asker, std::uint32_t rank, std::string_view key) {
  auto found = wait_for(*must(asker.lookup(rank, key)));
  return found ? text_of(*found) : "nothing in time";
}

TEST_F(MpirunBackend, LookupWaitsUntilTheValueIsPublished) {
  auto asker = open(0), owner = open(1);
  auto pending = must(asker->lookup(1, "address"));
  EXPECT_FALSE(must(pending->poll()));
  must(asker->publish("address", bytes_of("of the asker")));
  EXPECT_FALSE(must(pending->poll()));
  must(owner->publish("address", bytes_of("here")));
  const auto found = wait_for(*pending);
  ASSERT_TRUE(found);
  EXPECT_EQ(text_of(*found), "here");
  EXPECT_EQ(look_up(*owner, 0, "address"), "of the asker");
  EXPECT_EQ(asker->counts().publishes, 1u);
  EXPECT_EQ(asker->counts().lookups, 1u);
  EXPECT_EQ(asker->counts().connections, 0u);
}

TEST_F(MpirunBackend, AcceptsAnyKeysAndValues) {
  auto one = open(0), other = open(1);
  const std::string all_bytes = [] {
    std::string text;
    for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
    return text;
  }();
  const std::string value = std::string(70'000, 'x') + all_bytes;
  // without escaping, these keys would name one file, or a file of another process
  for (const std::string key : {"a/b", "a-2fb", "../a", "a b", "ä", "", ".", "value.a"})
    must(one->publish(key, bytes_of(key + value)));
  for (const std::string key : {"a/b", "a-2fb", "../a", "a b", "ä", "", ".", "value.a"})
    EXPECT_EQ(look_up(*other, 0, key), key + value) << key;
  must(one->publish("nothing", {}));
  EXPECT_EQ(look_up(*other, 0, "nothing"), "");
  EXPECT_THAT(files(), SizeIs(9)) << "and no temporary files";
}

TEST_F(MpirunBackend, JobsInOneFolderAreSeparate) {
  auto ours = open(0);
  auto of_another = env(0, 3);
  of_another.job.world_name = "1636368386";
  Backend theirs(of_another);
  must(theirs.publish("k", bytes_of("theirs")));
  EXPECT_FALSE(must(must(ours->lookup(0, "k"))->poll()));
}

TEST_F(MpirunBackend, FenceCompletesWhenAllMembersHaveEntered) {
  auto zero = open(0), one = open(1), two = open(2);
  auto first = must(zero->fence(std::vector<std::uint32_t>{2, 0}));
  EXPECT_FALSE(must(first->poll()));
  auto of_others = must(one->fence(
      std::vector<std::uint32_t>{1, 2}));  // another set than the fence in which rank 0 waits
  auto second = must(two->fence(std::vector<std::uint32_t>{0, 2}));
  EXPECT_TRUE(wait_for(*first));
  EXPECT_TRUE(wait_for(*second));
  EXPECT_FALSE(must(of_others->poll()));

  // the next fence of this set is separate, for re-initialized processes, too
  zero = open(0);
  auto again = must(zero->fence(std::vector<std::uint32_t>{0, 2}));
  EXPECT_FALSE(must(again->poll()));
  two = open(2);
  auto theirs = must(two->fence(std::vector<std::uint32_t>{0, 2}));
  EXPECT_TRUE(wait_for(*again));
  EXPECT_TRUE(wait_for(*theirs));
  EXPECT_TRUE(wait_for(*must(zero->fence(std::vector<std::uint32_t>{0}))))
      << "a fence of one process completes at once";
}

TEST_F(MpirunBackend, EntriesExistAsLongAsTheFolder) {
  EXPECT_THAT(must(open(2)->read_log()), IsEmpty());
  must(open(1)->append_log(bytes_of("first")));
  must(open(1)->append_log(bytes_of("second")));
  const auto found = must(open(2)->read_log());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].writer, 1u);
  EXPECT_EQ(text_of(found[0].bytes), "first");
  EXPECT_EQ(text_of(found[1].bytes), "second");
}

TEST_F(MpirunBackend, ValuesOfConcurrentProcessesAreAllFound) {
  constexpr std::uint32_t kProcesses = 16;
  std::vector<std::thread> processes;
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank)
    processes.emplace_back([this, rank] {
      auto self = open(rank, kProcesses);
      std::vector<std::uint32_t> all;
      for (std::uint32_t other = 0; other < kProcesses; ++other) all.push_back(other);
      for (int round = 0; round < 5; ++round) {
        const std::string key = std::to_string(round);
        must(self->publish(key, bytes_of(key + "/" + std::to_string(rank))));
        must(self->append_log(bytes_of(key)));
        EXPECT_TRUE(wait_for(*must(self->fence(all))));
        EXPECT_GE(must(self->read_log()).size(), kProcesses * (static_cast<unsigned>(round) + 1));
        for (const std::uint32_t other : all)
          EXPECT_EQ(look_up(*self, other, key), key + "/" + std::to_string(other));
      }
    });
  for (auto& process : processes) process.join();
}

TEST_F(MpirunBackend, ReportsAMissingFolder) {
  auto self = open(0);
  std::filesystem::remove_all(directory_);
  EXPECT_THAT(error_of(self->publish("k", bytes_of("v"))).text(), HasSubstr(directory_));
  EXPECT_THAT(error_of(self->append_log(bytes_of("v"))).text(), HasSubstr(directory_));
  EXPECT_EQ(error_of(self->lookup(3, "k")).error_class(), ErrorClass::rank);
}

TEST_F(MpirunBackend, DetectsTheEndOfMpirun) {
  base::testing::Child mpirun([](base::testing::Child& self) { return self.wait_for_parent(); });
  auto wrapped = env(0, 3);
  wrapped.mpirun = mpirun.pid();
  Backend self(wrapped);
  EXPECT_FALSE(self.has_lost_launcher());
  mpirun.notify_child();
  mpirun.wait_until_zombie();
  EXPECT_TRUE(self.has_lost_launcher()) << "a process that its parent does not wait for has ended";
  ASSERT_TRUE(mpirun.finish());
  EXPECT_TRUE(self.has_lost_launcher());

  base::testing::Child child(
      [this](base::testing::Child& report) {  // its parent, in the role of mpirun, exits
        base::testing::Child grandchild([&](base::testing::Child& end) {
          auto made = env(0, 3);
          made.mpirun = ::getppid();
          Backend backend(made);
          const bool before = backend.has_lost_launcher();
          end.notify_parent();
          const auto deadline = base::Deadline::after_seconds(20);
          while (!backend.has_lost_launcher() && !deadline.passed()) ::usleep(1000);
          if (!before && backend.has_lost_launcher()) report.notify_parent();
          return true;
        });
        grandchild.wait_for_child();
        ::_exit(0);
        return true;
      });
  EXPECT_TRUE(child.wait_for_child());
}

}  // namespace
}  // namespace shim::bootstrap::mpirun
