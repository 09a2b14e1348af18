// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/log.hpp"

#include <unistd.h>

#include <array>

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
  // a log that cannot be written has nowhere to complain
  [[maybe_unused]] auto written = ::write(descriptor_, line.data(), line.size());
}

}  // namespace shim::base
