// SPDX-License-Identifier: BSD-3-Clause
// Counts the threads of this process.
#pragma once

#include <sys/stat.h>

#include <cstddef>

namespace shim::base {

/// Return the current number of threads, including threads of other libraries: the link count of
/// /proc/self/task (proc(5)). 0 if unknown. One system call.
inline std::size_t thread_count() {
  struct stat folder {};
  constexpr std::size_t kOfAnyFolder = 2;  // links of an empty directory: its name, and "."
  return ::stat("/proc/self/task", &folder) == 0 && folder.st_nlink > kOfAnyFolder
             ? folder.st_nlink - kOfAnyFolder
             : 0;
}

}  // namespace shim::base
