// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>

namespace shim::base::testing {

/// A forked process that runs a function. `wait_for_child` in the parent waits for `notify_parent`
/// in the child; `wait_for_parent` in the child waits for `notify_child` in the parent.
class Child {
 public:
  using Body = std::function<bool(Child&)>;  ///< returns true if the child succeeded

  explicit Child(const Body& body) {
    if (::pipe2(up_.data(), O_CLOEXEC) != 0 || ::pipe2(down_.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    pid_ = ::fork();
    if (pid_ != 0) {
      ::close(up_[1]);
      ::close(down_[0]);
      return;
    }
    ::close(up_[0]);
    ::close(down_[1]);
    bool good = false;
    try {
      good = body(*this);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(good ? 0 : 1);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!reaped_) kill();
    ::close(up_[0]);
    ::close(down_[1]);
  }

  // in the child
  void notify_parent() const { [[maybe_unused]] auto written = ::write(up_[1], "w", 1); }
  bool wait_for_parent() const { return char_from(down_[0]); }

  // in the parent
  bool wait_for_child() const { return char_from(up_[0]); }
  void notify_child() const { [[maybe_unused]] auto written = ::write(down_[1], "w", 1); }
  void kill() {
    ::kill(pid_, SIGKILL);
    finish();
  }
  /// Wait for the end of the child; return true if its body returned true.
  bool finish() {
    int status = 0;
    reaped_ = ::waitpid(pid_, &status, 0) == pid_;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  /// Wait until the child has exited, but leave it a zombie.
  void wait_until_zombie() const {
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  pid_t pid() const { return pid_; }

 private:
  static bool char_from(int descriptor) {
    char word;
    return ::read(descriptor, &word, 1) == 1;
  }
  std::array<int, 2> up_, down_;
  pid_t pid_ = -1;
  bool reaped_ = false;
};

}  // namespace shim::base::testing
