// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/log.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "shim/base/clock.hpp"

namespace shim::base {
namespace {
constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warn", "info", "debug"};
}

LogLevel Log::level_of(std::string_view setting) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == setting) return static_cast<LogLevel>(i);
  return LogLevel::warn;
}

void Log::write(LogLevel level, std::string_view text) const {
  if (!wants(level)) return;
  std::string line = "intersession";
  if (!who_.empty()) line += "[" + who_ + "]";
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
