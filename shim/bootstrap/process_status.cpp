// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/process_status.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "shim/base/descriptor.hpp"

namespace shim::bootstrap {
namespace {

struct Stat {
  char state = '?';
  std::uint64_t start_time = 0;
};

/// Field 2 is the program's name in parentheses and may hold spaces and parentheses itself, so counting starts at the
/// last one.
std::optional<Stat> parse(std::string_view line) {
  auto end_of_name = line.rfind(')');
  if (end_of_name == std::string_view::npos || end_of_name + 2 >= line.size()) return std::nullopt;
  line.remove_prefix(end_of_name + 2);
  Stat stat{line.front(), 0};
  for (int field = 3; field < 22; ++field) {
    auto space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    line.remove_prefix(space + 1);
  }
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), stat.start_time);
  if (error != std::errc()) return std::nullopt;
  return stat;
}

/// Nothing where it cannot be read; errno says why.
std::optional<Stat> read_stat(std::int32_t pid) {
  std::string path = "/proc/" + std::to_string(pid) + "/stat";
  int file = base::above_standard_streams(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file < 0) return std::nullopt;
  std::array<char, 1024> line;
  ssize_t length = ::read(file, line.data(), line.size());
  int reason = errno;
  ::close(file);
  errno = reason;
  if (length <= 0) return std::nullopt;
  return parse({line.data(), static_cast<std::size_t>(length)});
}

}  // namespace

ProcessMark own_mark() {
  ProcessMark mark;
  mark.pid = ::getpid();
  if (auto stat = read_stat(mark.pid)) mark.start_time = stat->start_time;
  struct stat file;
  if (::stat("/proc/self/ns/pid", &file) == 0) mark.pid_namespace = file.st_ino;
  return mark;
}

bool is_running(const ProcessMark& process, const ProcessMark& own) {
  if (process.pid_namespace != own.pid_namespace || process.start_time == 0 || process.pid <= 0) return true;
  if (::kill(process.pid, 0) != 0 && errno == ESRCH) return false;
  errno = 0;
  auto stat = read_stat(process.pid);
  if (!stat) return errno != ENOENT && errno != ESRCH;
  return stat->start_time == process.start_time && stat->state != 'Z' && stat->state != 'X';
}

}  // namespace shim::bootstrap
