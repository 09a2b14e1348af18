// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "shim/base/files.hpp"

namespace shim::base {
namespace {

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

/// End the process with the line number as its status if the condition does not hold.
#define REQUIRE(condition) \
  if (!(condition)) ::_exit(__LINE__)

/// Run `body` in a child without standard streams; GoogleTest in the parent needs its own.
template <typename Body>
void in_child_without_streams(Body body) {
  EXPECT_EXIT(
      {
        for (int number = 0; number < 3; ++number) ::close(number);
        body();
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(DescriptorDeathTest, LiftsEachDescriptorAboveTheStandardStreams) {
  in_child_without_streams([] {
    const Descriptor file(above_standard_streams(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    REQUIRE(file.get() > 2);
    REQUIRE((::fcntl(file.get(), F_GETFD) & FD_CLOEXEC) != 0);
    const Descriptor inherited(above_standard_streams(::open("/dev/null", O_RDONLY)));
    REQUIRE(inherited.get() > 2);
    REQUIRE((::fcntl(inherited.get(), F_GETFD) & FD_CLOEXEC) == 0);
    std::array<int, 2> pair{};
    REQUIRE(above_standard_streams(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), pair) == 0);
    REQUIRE(pair[0] > 2 && pair[1] > 2);
    for (int number = 0; number < 3; ++number) REQUIRE(!is_open(number));
  });
}

TEST(Descriptor, PassesFailuresAndHighNumbersThrough) {
  errno = ENOENT;
  EXPECT_EQ(above_standard_streams(-1), -1);
  EXPECT_EQ(errno, ENOENT);
  const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(above_standard_streams(file.get()), file.get());
}

TEST(DescriptorDeathTest, HoldsClosedStreamsAndReleasesThem) {
  in_child_without_streams([] {
    REQUIRE(::open("/dev/null", O_RDONLY) == 0);
    {
      const StandardStreamsHeld streams;
      REQUIRE(::open("/dev/null", O_RDONLY) > 2);
      char byte = 0;
      REQUIRE(::write(1, &byte, 1) < 0 && errno == EBADF);
      REQUIRE(::write(2, &byte, 1) < 0 && errno == EBADF);
    }
    REQUIRE(is_open(0) && !is_open(1) && !is_open(2));
  });
}

TEST(DescriptorDeathTest, LeavesAStreamOpenThatTheProgramOpenedMeanwhile) {
  in_child_without_streams([] {
    {
      const StandardStreamsHeld streams;
      ::close(1);
      REQUIRE(::open("/dev/null", O_WRONLY) == 1);
    }
    REQUIRE(!is_open(0) && is_open(1) && !is_open(2));
  });
}

TEST(DescriptorDeathTest, ReadsFilesAndFoldersAboveTheStandardStreams) {
  in_child_without_streams([] {
    REQUIRE(read_file("/proc/self/stat").has_value());
    for (const std::string& name : names_in("/proc/self/fd")) REQUIRE(std::atoi(name.c_str()) > 2);
  });
}

TEST(Files, RefusesFilesThatCouldBlock) {
  std::string folder = testing::TempDir() + "files_test_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, folder, std::string("/dev/zero")}) {
    const auto text = read_file(path);
    ASSERT_FALSE(text.has_value()) << path;
    EXPECT_EQ(text.error().error_class(), ErrorClass::file) << text.error().text();
  }
  ::unlink(fifo.c_str());
  ::rmdir(folder.c_str());
}

TEST(Files, ReadsAnEmptyFileAndNamesAMissingOne) {
  EXPECT_EQ(read_file("/proc/self/no_such_file").error().foreign_code(), ENOENT);
  std::string path = testing::TempDir() + "files_test_XXXXXX";
  const Descriptor file(::mkstemp(path.data()));
  EXPECT_EQ(read_file(path).value_or("?"), "");
  ASSERT_EQ(::write(file.get(), "two\nlines\n", 10), 10);
  EXPECT_EQ(read_file(path).value_or("?"), "two\nlines\n");
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace shim::base
