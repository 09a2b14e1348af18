// SPDX-License-Identifier: BSD-3-Clause
// Log writes lines to standard error for the user who runs the job. Never used on a hot path.
#pragma once

#include <string>
#include <string_view>

namespace shim::base {

enum class LogLevel : int { off, error, warn, info, debug };

/// Writes each line, "intersession[who] level: text", with one write(2), so that lines of different
/// processes do not mix. At levels info and debug each line, also of other levels, has time and
/// thread: "intersession[who] 12:34:56.789012 thread 4711 level: text". One object per
/// sessions::Process. write() is thread-safe; set_who() is not: call it before other threads use
/// the object.
class Log {
 public:
  explicit Log(LogLevel level = LogLevel::warn, std::string who = {}, int descriptor = 2)
      : level_(level), descriptor_(descriptor), who_(std::move(who)) {}

  /// Return the level with this name; warn if there is none.
  static LogLevel level_of(std::string_view setting);
  /// True if lines of this level are written.
  bool wants(LogLevel level) const { return level <= level_; }
  void write(LogLevel level, std::string_view text) const;
  /// Write a line of this level whose text compose() returns; nothing is composed if the level is
  /// not written.
  template <typename Compose>
  void write_if_wanted(LogLevel level, const Compose& compose) const {
    if (wants(level)) [[unlikely]]
      write(level, compose());
  }
  /// Set this process's name in the lines, "host:rank".
  void set_who(std::string who) { who_ = std::move(who); }

 private:
  LogLevel level_;
  int descriptor_;
  std::string who_;
};

/// Wait until a pipe's reader has read all data, for at most `seconds`; return at once if the
/// descriptor is no pipe. For the last output of a process: if the job is aborted next, hydra
/// discards output that it has not read.
void wait_until_read(int descriptor, double seconds);

}  // namespace shim::base
