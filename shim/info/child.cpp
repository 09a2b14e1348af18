// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "shim/base/clock.hpp"
#include "shim/base/descriptor.hpp"

namespace shim::info {
namespace {

using base::Error;
using base::ErrorClass;

/// Both ends of a pipe (0: read, 1: write); closes them.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
};

/// Start the command with the pipe's write end as its standard output.
base::Result<pid_t> start(const std::vector<std::string>& words, const Pipe& pipe) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(),
                                  environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return base::system_error(error, words[0] + " cannot be started");
  return child;
}

/// Wait until the descriptor is readable or at its end. Return false if the time has passed.
bool wait_until_readable(int descriptor, base::Deadline deadline) {
  for (;;) {
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, deadline.poll_timeout());
    if (ready > 0) return true;
    if (ready == 0 && deadline.passed()) return false;
  }
}

/// Append to `output` until all write ends of the pipe are closed, and return true. Return false if
/// one is open when the time has passed.
bool read_all(int descriptor, base::Deadline deadline, std::string& output) {
  while (wait_until_readable(descriptor, deadline)) {
    char bytes[4096];
    const ssize_t count = ::read(descriptor, bytes, sizeof bytes);
    if (count == 0) return true;
    if (count > 0) output.append(bytes, static_cast<std::size_t>(count));
    if (deadline.passed()) return false;
  }
  return false;
}

/// Wait until the child has exited. Return false if the time has passed. A system without
/// pidfd_open(2) has no limit.
bool wait_for_exit(pid_t child, base::Deadline deadline) {
  const base::Descriptor exit(
      base::above_standard_streams(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))));
  return !exit.is_open() || wait_until_readable(exit.get(), deadline);
}

/// Wait until the child has exited, without limit; return its wait status (waitpid(2)).
int status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

base::Result<ChildResult> run(const std::vector<std::string>& words, double seconds) {
  Pipe pipe;
  if (base::above_standard_streams(::pipe2(pipe.ends.data(), O_CLOEXEC), pipe.ends) != 0)
    return base::system_error(errno, "pipe");
  const auto deadline = base::Deadline::from_setting(seconds);
  SHIM_TRY_ASSIGN(const pid_t child, start(words, pipe));
  pipe.close_end(1);
  ChildResult outcome;
  const bool has_ended = read_all(pipe.ends[0], deadline, outcome.output) &&
                         wait_for_exit(child, deadline);
  if (!has_ended) ::kill(child, SIGKILL);
  const int status = status_of(child);
  if (!has_ended)
    return Error(ErrorClass::other, "the query process has not answered within " +
                                        std::to_string(static_cast<int>(seconds)) + " s");
  if (WIFSIGNALED(status))
    return Error(ErrorClass::other, std::string("the query process was killed by a signal: ") +
                                        ::strsignal(WTERMSIG(status)));
  outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace shim::info
