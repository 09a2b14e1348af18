// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace shim::base {
namespace {

constexpr int kLowest = STDERR_FILENO + 1;

void close_keeping_errno(int number) {
  const int reason = errno;
  ::close(number);
  errno = reason;
}

}  // namespace

int above_standard_streams(int made) {
  if (made < 0 || made >= kLowest) return made;
  const bool is_closed_on_exec = (::fcntl(made, F_GETFD) & FD_CLOEXEC) != 0;
  const int above = ::fcntl(made, is_closed_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, kLowest);
  close_keeping_errno(made);
  return above;
}

int above_standard_streams(int result, std::array<int, 2>& ends) {
  if (result != 0) return result;
  for (int& end : ends) end = above_standard_streams(end);
  if (ends[0] >= 0 && ends[1] >= 0) return 0;
  for (int& end : ends)
    if (end >= 0) close_keeping_errno(std::exchange(end, -1));
  return -1;
}

StandardStreamsHeld::StandardStreamsHeld() {
  // open(2) returns the lowest free number.
  for (Held& held : held_) {
    const int number = ::open("/", O_PATH | O_CLOEXEC);
    if (number < 0) return;
    struct stat file;
    if (number >= kLowest || ::fstat(number, &file) != 0) {
      ::close(number);
      return;
    }
    held = {number, file.st_dev, file.st_ino};
  }
}

StandardStreamsHeld::~StandardStreamsHeld() {
  const int reason = errno;
  for (const Held& held : held_) {
    struct stat file;
    if (held.number < 0 || ::fstat(held.number, &file) != 0) continue;
    const int flags = ::fcntl(held.number, F_GETFL);
    if (file.st_dev == held.device && file.st_ino == held.inode && flags >= 0 &&
        (flags & O_PATH) != 0)
      ::close(held.number);
  }
  errno = reason;
}

}  // namespace shim::base
