// SPDX-License-Identifier: BSD-3-Clause
// Tests the node segment with invalid files and full file systems.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstddef>
#include <fstream>

#include "shim/node/segment_layout.hpp"
#include "tests/node/segment_rig.hpp"

namespace shim::node {
namespace {

using base::ErrorClass;
using testing::Child;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SegmentFaultsTest : public testing::SegmentTest {
 protected:
  template <typename T>
  void write_at(std::size_t offset, T value) {
    int file = ::open(path().c_str(), O_RDWR);
    ASSERT_EQ(::pwrite(file, &value, sizeof value, static_cast<off_t>(offset)),
              static_cast<ssize_t>(sizeof value));
    ::close(file);
  }
  base::Error refused(const SegmentSpec& spec) { return error_of(NodeSegment::attach(spec, 10)); }
};

TEST_F(SegmentFaultsTest, RefusesAFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change the owner of a file";
  auto owner = attach(spec(0));
  ASSERT_EQ(::chown(path().c_str(), 4711, 4711), 0);
  auto error = refused(spec(1));
  EXPECT_EQ(error.error_class(), ErrorClass::access);
  EXPECT_THAT(error.text(), HasSubstr(path() + " belongs to user 4711"));
  ASSERT_EQ(::chown(path().c_str(), 0, 0), 0);
}

TEST_F(SegmentFaultsTest, RefusesAFileThatOthersMayOpen) {
  auto owner = attach(spec(0));
  ASSERT_EQ(::chmod(path().c_str(), 0640), 0);
  auto error = refused(spec(1));
  EXPECT_EQ(error.error_class(), ErrorClass::access);
  EXPECT_THAT(error.text(), HasSubstr("not 0600"));
}

TEST_F(SegmentFaultsTest, RefusesLinksAndPipes) {
  const std::string victim = directory_ + "/victim";
  std::ofstream(victim) << "data";
  ASSERT_EQ(::symlink(victim.c_str(), path().c_str()), 0);
  EXPECT_THAT(refused(spec(0)).text(), HasSubstr("symbolic link"));
  ASSERT_EQ(::unlink(path().c_str()), 0);
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(refused(spec(0)).text(), HasSubstr("not a regular file"));
  EXPECT_EQ(std::filesystem::file_size(victim), 4u);
}

TEST_F(SegmentFaultsTest, ErrorNamesAnotherLayout) {
  auto owner = attach(spec(0));
  auto wanted = [&](auto change) {
    auto s = spec(1);
    change(s);
    auto error = refused(s);
    EXPECT_EQ(error.error_class(), ErrorClass::other);
    EXPECT_THAT(error.text(), HasSubstr(path()));
    return error.text();
  };
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.slots = 3; }), HasSubstr("number of processes (2)"));
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.slot_bytes = 5001; }),
              HasSubstr("(5000) than this process expects (5001)"));
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.store_bytes = 1; }), HasSubstr("store size (0)"));
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.pair_bytes = 1; }),
              HasSubstr("INTERSESSION_RING_BYTES"));
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.cell_pool_bytes = 1; }),
              HasSubstr("INTERSESSION_CELL_POOL_BYTES"));
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.node_map_bytes = 100; }),
              HasSubstr("node map size (0) than this process expects (100)"));
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.job_size = 9; }), HasSubstr("size of the job (0)"));
  EXPECT_THAT(wanted([](SegmentSpec& s) { s.vcis = 2; }),
              HasSubstr("number of VCIs (INTERSESSION_VCIS) (1)"));
  EXPECT_NO_THROW(attach(spec(1)));
}

TEST_F(SegmentFaultsTest, RefusesAnotherVersionJobOrKind) {
  auto owner = attach(spec(0));
  write_at<std::uint32_t>(offsetof(SegmentHeader, version), kSegmentVersion + 1);
  EXPECT_THAT(refused(spec(1)).text(), HasSubstr("another version"));
  write_at<std::uint32_t>(offsetof(SegmentHeader, version), kSegmentVersion);
  write_at<char>(offsetof(SegmentHeader, job) + 2, 'X');  // simulates two job names with one hash
  EXPECT_THAT(refused(spec(1)).text(), HasSubstr("another job (joX)"));
  write_at<std::uint64_t>(0, 1);
  EXPECT_THAT(refused(spec(1)).text(), HasSubstr("another kind"));
}

TEST_F(SegmentFaultsTest, RefusesATruncatedFileWithoutMappingIt) {
  auto owner = attach(spec(0));
  const auto size = static_cast<off_t>(std::filesystem::file_size(path()));
  ASSERT_EQ(::truncate(path().c_str(), size - 4096), 0);
  EXPECT_THAT(refused(spec(1)).text(), HasSubstr("bytes instead of"));
  ASSERT_EQ(::truncate(path().c_str(), 100), 0);
  EXPECT_THAT(refused(spec(1)).text(), HasSubstr("too short"));
  ASSERT_EQ(::truncate(path().c_str(), size), 0);  // so that the owner can still detach
}

TEST_F(SegmentFaultsTest, ProcessOfAnotherPidNamespaceIsNeverReportedDead) {
  auto watcher = attach(spec(0)), other = attach(spec(1));
  other->set_ready();
  const std::size_t control = SegmentLayout::of(spec(0))->control(1);
  write_at<std::uint64_t>(control + offsetof(SlotControl, start_time), 1);
  EXPECT_FALSE(watcher->is_alive(1));  // the process id was reused
  write_at<std::uint64_t>(control + offsetof(SlotControl, pid_namespace), 1);
  EXPECT_TRUE(watcher->is_alive(1));
  EXPECT_EQ(watcher->pid(1), 0);
}

TEST_F(SegmentFaultsTest, ErrorNamesAMissingOrForbiddenDirectory) {
  auto elsewhere = spec(0);
  elsewhere.directory = directory_ + "/missing";
  EXPECT_THAT(refused(elsewhere).text(),
              HasSubstr(directory_ + "/missing (it must be a writable tmpfs"));
  if (::geteuid() == 0) {
    Child unprivileged([&](Child&) {
      if (::chmod(directory_.c_str(), 0755) != 0 || ::setuid(65534) != 0) return false;
      return refused(spec(0)).error_class() == ErrorClass::access;
    });
    EXPECT_TRUE(unprivileged.finish());
  }
}

TEST_F(SegmentFaultsTest, FileSizeLimitIsAnErrorWithoutASignal) {
  Child limited([&](Child&) {
    rlimit small{8192, 8192};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return false;
    auto error = refused(spec(0));
    return error.error_class() == ErrorClass::no_space &&
           error.text().find("ulimit -f") != std::string::npos;
  });
  EXPECT_TRUE(limited.finish());
  EXPECT_THAT(files(), IsEmpty());
}

/// Run `body` in a process for which `directory` is a file system with `pages` pages. Return false
/// if this process may not mount.
bool with_little_room(const std::string& directory, int pages, const std::function<bool()>& body,
                      bool& good) {
  constexpr int kForbidden = 77;
  Child child([&](Child&) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      ::_exit(kForbidden);
    const std::string options = "size=" + std::to_string(pages * static_cast<int>(page_bytes()));
    if (::mount("none", "/", "none", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", directory.c_str(), "tmpfs", 0, options.c_str()) != 0)
      ::_exit(kForbidden);
    return body();
  });
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  if (info.si_code == CLD_EXITED && info.si_status == kForbidden) return false;
  good = child.finish();
  return true;
}

bool is_no_room(const base::Error& error, const std::string& directory) {
  return error.error_class() == ErrorClass::no_space &&
         error.text().find("no space in " + directory) == 0 &&
         error.text().find("INTERSESSION_RING_BYTES") != std::string::npos;
}

TEST_F(SegmentFaultsTest, FullDirectoryIsAnErrorWithoutASignal) {
  for (int pages = 1; pages <= 2; ++pages) {  // the header needs one page; with one slot, three
    bool good = false;
    if (!with_little_room(
            directory_, pages,
            [&] { return is_no_room(refused(spec(0)), directory_) && files().empty(); }, good))
      GTEST_SKIP() << "mounting is not allowed here";
    EXPECT_TRUE(good) << pages << " pages";
  }
}

TEST_F(SegmentFaultsTest, DirectoryThatFillsUpLaterIsAnErrorWithoutASignal) {
  bool good = false;
  auto body = [&] {
    auto segment = attach(spec(0));
    if (!segment->back(segment->pair(0, 1), 9000)) return false;  // three pages
    segment->pair(0, 1)[8999] = std::byte{1};
    auto failed = segment->back(segment->pair(1, 0), 9000);
    // Existing data is unchanged.
    return !failed && is_no_room(failed.error(), directory_) &&
           segment->pair(0, 1)[8999] == std::byte{1};
  };
  if (!with_little_room(directory_, 6, body, good)) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_TRUE(good);
}

TEST_F(SegmentFaultsTest, SpaceForAVciCoversItsRingsAndThoseOfLowerVcis) {
  bool good = false;
  auto body = [&] {
    auto wanted = spec(0);
    wanted.vcis = 3;
    auto segment = attach(wanted);
    auto refused = segment->check_space_for_vci(2);
    if (!segment->check_space_for_vci(1) || refused || !is_no_room(refused.error(), directory_))
      return false;
    // memory that this VCI already uses does not count twice
    if (!segment->back(segment->pair(0, 1), 9000) || !segment->open_vci(1) ||
        !segment->check_space_for_vci(1))
      return false;
    std::ofstream(directory_ + "/others") << std::string(16 * page_bytes(), 'x');
    return !segment->check_space_for_vci(1);
  };
  // a VCI needs three pages, and each of three pairs seven
  if (!with_little_room(directory_, 60, body, good)) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_TRUE(good);
}

}  // namespace
}  // namespace shim::node
