// SPDX-License-Identifier: BSD-3-Clause
// Lines on standard error for the person who runs the job; quiet by default, never on a hot path.
#pragma once

#include <string>
#include <string_view>

namespace shim::base {

enum class LogLevel : int { off, error, warn, info, debug };

/// Writes whole lines, each with one write(2), so that the lines of many processes do not mix:
/// "intersession[host:rank] level: text". One per Process object; thread-safe.
class Log {
 public:
  explicit Log(LogLevel level = LogLevel::warn, std::string who = {}, int descriptor = 2)
      : level_(level), descriptor_(descriptor), who_(std::move(who)) {}

  static LogLevel level_of(std::string_view setting);
  bool wants(LogLevel level) const { return level <= level_; }
  void write(LogLevel level, std::string_view text) const;
  void set_who(std::string who) { who_ = std::move(who); }

 private:
  LogLevel level_;
  int descriptor_;
  std::string who_;
};

}  // namespace shim::base
