// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/log.hpp"

#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/lock.hpp"

namespace shim::base {
namespace {

/// A pipe: the log writes to descriptor(), and text() returns the bytes written.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int descriptor() const { return ends_[1]; }
  std::string text() const {
    std::array<char, 4096> bytes;
    const auto length = ::read(ends_[0], bytes.data(), bytes.size());
    return std::string(bytes.data(), static_cast<std::size_t>(length));
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(Logs, EachLineNamesTheProcessAndTheLevel) {
  Pipe pipe;
  Log log(LogLevel::warn, "node3:17", pipe.descriptor());
  log.write(LogLevel::info, "not wanted");
  log.write(LogLevel::warn, "first");
  log.write(LogLevel::error, "second");
  EXPECT_EQ(pipe.text(),
            "intersession[node3:17] warn: first\nintersession[node3:17] error: second\n");
}

TEST(Logs, AtInfoAndDebugEachLineNamesTimeAndThread) {
  for (const LogLevel level : {LogLevel::info, LogLevel::debug}) {
    Pipe pipe;
    const Log log(level, "node3:17", pipe.descriptor());
    log.write(LogLevel::warn, "first");
    const std::string text = pipe.text();
    EXPECT_THAT(text,
                testing::MatchesRegex("intersession.node3:17. [0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
                                      "\\.[0-9][0-9][0-9][0-9][0-9][0-9] thread [0-9]+ "
                                      "warn: first\n"));
    EXPECT_THAT(text, testing::HasSubstr("thread " + std::to_string(::gettid()) + " "));
  }
}

TEST(Logs, ComposeNoTextOfALevelThatIsNotWritten) {
  Pipe pipe;
  const Log log(LogLevel::info, "node3:17", pipe.descriptor());
  bool is_composed = false;
  const auto compose = [&] {
    is_composed = true;
    return std::string("text");
  };
  log.write_if_wanted(LogLevel::debug, compose);
  EXPECT_FALSE(is_composed);
  log.write_if_wanted(LogLevel::info, compose);
  EXPECT_TRUE(is_composed);
}

TEST(Logs, EachLevelIncludesMoreSevereLevels) {
  EXPECT_TRUE(Log(Log::level_of("debug")).wants(LogLevel::info));
  EXPECT_TRUE(Log(Log::level_of("error")).wants(LogLevel::error));
  EXPECT_FALSE(Log(Log::level_of("error")).wants(LogLevel::warn));
  EXPECT_FALSE(Log(Log::level_of("off")).wants(LogLevel::error));
}

TEST(WaitUntilRead, ReturnsOnceTheReaderHasReadAll) {
  Pipe pipe;
  Log(LogLevel::error, "last", pipe.descriptor()).write(LogLevel::error, "words");
  int unread = -1;
  std::thread writer([&] {
    wait_until_read(pipe.descriptor(), 60);
    EXPECT_EQ(::ioctl(pipe.descriptor(), FIONREAD, &unread), 0);
  });
  EXPECT_EQ(pipe.text(), "intersession[last] error: words\n");
  writer.join();
  EXPECT_EQ(unread, 0);
}

TEST(WaitUntilRead, TimesOutWithoutAReader) {
  Pipe pipe;
  Log(LogLevel::error, "last", pipe.descriptor()).write(LogLevel::error, "words");
  const auto start = now_ns();
  wait_until_read(pipe.descriptor(), 0.05);
  EXPECT_GE(now_ns() - start, 50'000'000);
  wait_until_read(-1, 60);
}

TEST(Deadlines, PassAfterTheirTimeOrNever) {
  EXPECT_FALSE(Deadline::never().passed());
  EXPECT_FALSE(Deadline::from_setting(0).passed()) << "0 means no time limit";
  EXPECT_FALSE(Deadline::after_seconds(60).passed());
  EXPECT_EQ(Deadline::never().poll_timeout(), -1) << "poll(2): no limit";
  EXPECT_EQ(Deadline::after_seconds(-1).poll_timeout(), 0);
  const int left = Deadline::after_seconds(60).poll_timeout();
  EXPECT_TRUE(left > 0 && left <= 60'000) << left;
  EXPECT_EQ(Deadline::after_seconds(1e9).poll_timeout(), std::numeric_limits<int>::max());
  EXPECT_TRUE(Deadline::after_seconds(0).passed());
}

TEST(Locks, ProvideMutualExclusion) {
  Lock lock;
  int counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 10'000; ++round) {
        std::lock_guard guard(lock);
        ++counter;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, 40'000);
}

}  // namespace
}  // namespace shim::base
