// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/other_segment.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/files.hpp"
#include "shim/base/parsing.hpp"

namespace shim::node {

std::optional<std::int32_t> process_with_another_file(const std::string& path) {
  struct stat own, other;
  if (::lstat(path.c_str(), &own) != 0) return std::nullopt;
  for (const std::string& name : base::names_in("/proc")) {
    const auto pid = base::to_number(name);
    if (!pid) continue;
    // Uses the mounts of that process (proc(5), /proc/pid/root); fails for processes of other
    // users.
    if (::lstat(("/proc/" + name + "/root" + path).c_str(), &other) != 0 ||
        other.st_uid != ::geteuid())
      continue;
    if (other.st_dev != own.st_dev || other.st_ino != own.st_ino)
      return static_cast<std::int32_t>(*pid);
  }
  return std::nullopt;
}

}  // namespace shim::node
