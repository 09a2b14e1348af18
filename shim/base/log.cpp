// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/log.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "shim/base/clock.hpp"

namespace shim::base {
namespace {
constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warn", "info", "debug"};

/// Return " 12:34:56.789012 thread 4711": local time, and the number by which ps -L and gdb name
/// the thread.
std::string time_and_thread() {
  timeval now{};
  tm local{};
  if (gettimeofday(&now, nullptr) != 0 || localtime_r(&now.tv_sec, &local) == nullptr) return {};
  char text[64];
  std::snprintf(text, sizeof text, " %02d:%02d:%02d.%06ld thread %ld", local.tm_hour, local.tm_min,
                local.tm_sec, static_cast<long>(now.tv_usec), ::syscall(SYS_gettid));
  return text;
}
}  // namespace

LogLevel Log::level_of(std::string_view setting) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == setting) return static_cast<LogLevel>(i);
  return LogLevel::warn;
}

void Log::write(LogLevel level, std::string_view text) const {
  if (!wants(level)) return;
  std::string line = "intersession";
  if (!who_.empty()) line += "[" + who_ + "]";
  if (wants(LogLevel::info)) line += time_and_thread();
  line += " ";
  line += kNames[static_cast<std::size_t>(level)];
  line += ": ";
  line += text;
  line += '\n';
  // ignored: there is no other place to report an error of the log
  [[maybe_unused]] auto written = ::write(descriptor_, line.data(), line.size());
}

void wait_until_read(int descriptor, double seconds) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  const auto deadline = Deadline::after_seconds(seconds);
  // FIONREAD returns the number of unread bytes on the write end as well (pipe(7)).
  for (int unread = 0;
       ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0 && !deadline.passed();)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace shim::base
