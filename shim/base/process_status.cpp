// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/process_status.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "shim/base/descriptor.hpp"
#include "shim/base/parsing.hpp"

namespace shim::base {
namespace {

/// Return the stat of a process; nothing with errno if it cannot be read.
std::optional<ProcessStat> read_stat(std::int32_t pid) {
  std::string path = "/proc/" + std::to_string(pid) + "/stat";
  int file = base::above_standard_streams(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file < 0) return std::nullopt;
  std::array<char, 1024> line;
  ssize_t length = ::read(file, line.data(), line.size());
  int reason = errno;
  ::close(file);
  errno = reason;
  if (length <= 0) return std::nullopt;
  return parse_stat({line.data(), static_cast<std::size_t>(length)});
}

}  // namespace

ProcessIdentity own_identity() { return identity_of(::getpid()); }

ProcessIdentity identity_of(std::int32_t pid) {
  ProcessIdentity identity;
  identity.pid = pid;
  if (auto stat = read_stat(identity.pid)) identity.start_time = stat->start_time;
  struct stat file;
  if (::stat("/proc/self/ns/pid", &file) == 0) identity.pid_namespace = file.st_ino;
  return identity;
}

std::optional<ProcessStat> parse_stat(std::string_view text) {
  const auto begin = text.find('('), end = text.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end + 2 >= text.size())
    return std::nullopt;
  ProcessStat stat{.name = std::string(text.substr(begin + 1, end - begin - 1))};
  std::string_view rest = text.substr(end + 2);
  const std::string_view state = take_word(rest);
  if (state.empty()) return std::nullopt;
  stat.state = state.front();
  const auto parent = number_in<std::int32_t>(take_word(rest));
  for (int field = 5; field < 14; ++field) take_word(rest);
  const auto user_time = number_in<std::uint64_t>(take_word(rest)),
             system_time = number_in<std::uint64_t>(take_word(rest));
  for (int field = 16; field < 20; ++field) take_word(rest);
  const auto threads = number_in<std::uint64_t>(take_word(rest));
  take_word(rest);
  const auto start_time = number_in<std::uint64_t>(take_word(rest));
  if (!parent || !user_time || !system_time || !threads || !start_time) return std::nullopt;
  stat.parent = *parent;
  stat.used_time = *user_time + *system_time;
  stat.threads = *threads;
  stat.start_time = *start_time;
  return stat;
}

bool is_running(const ProcessIdentity& process, const ProcessIdentity& own) {
  if (process.pid_namespace != own.pid_namespace || process.start_time == 0 || process.pid <= 0)
    return true;
  if (::kill(process.pid, 0) != 0 && errno == ESRCH) return false;
  errno = 0;
  auto stat = read_stat(process.pid);
  if (!stat) return errno != ENOENT && errno != ESRCH;
  return stat->start_time == process.start_time && !stat->has_ended();
}

}  // namespace shim::base
