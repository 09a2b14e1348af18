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

/// Waits until a pipe's reader has taken all that was written to it, for `seconds` at most; returns at once where the descriptor
/// is no pipe. For the last words of a process whose launcher forwards its output: hydra drops what it has not read yet when
/// the next thing that it hears is that the job is to be ended.
void wait_until_read(int descriptor, double seconds);

}  // namespace shim::base
