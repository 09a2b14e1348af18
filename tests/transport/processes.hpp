// SPDX-License-Identifier: BSD-3-Clause
// Provides forked children for tests, and shared memory for their addresses and steps.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "shim/base/clock.hpp"
#include "shim/transport/transport.hpp"
#include "tests/node/anonymous_area.hpp"

namespace shim::transport::testing {

using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

/// A forked child. Its exit status must be 0 unless the test kills it.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    std::fflush(nullptr);
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  void join() {
    int status = wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "child ended with status " << status;
  }
  pid_t pid() const { return pid_; }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  int wait() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    return status;
  }
  pid_t pid_;
};

/// Shared by all processes forked after its construction.
class ProcessSync {
 public:
  ProcessSync() : segment_(1, sizeof(Notes), 0) {}

  void post_address(int who, const Bytes& address) {
    Note& note = notes().address[who];
    std::copy(address.begin(), address.end(), note.bytes);
    note.size.store(address.size(),
                    std::memory_order_release);  // pairs with the acquire in address_of
  }
  /// Wait for the address of this process.
  Bytes address_of(int who) {
    Note& note = notes().address[who];
    wait_until([&] { return note.size.load(std::memory_order_acquire) != 0; });
    return Bytes(note.bytes, note.bytes + note.size);
  }
  /// Publish that a step has been reached.
  void reach(int step) { notes().step[step] = true; }
  bool has_reached(int step) { return notes().step[step]; }
  void await(int step) {
    wait_until([&] { return has_reached(step); });
  }

 private:
  struct Note {
    std::atomic<std::size_t> size;
    std::byte bytes[512];
  };
  struct Notes {
    Note address[8];
    std::atomic<bool> step[8];
  };
  static void wait_until(const std::function<bool()>& condition) {
    auto deadline = base::Deadline::after_seconds(40);
    while (!condition()) {
      sched_yield();
      if (deadline.passed()) {
        std::fprintf(stderr, "a process waited 40 s for another one\n");
        std::_Exit(9);
      }
    }
  }
  Notes& notes() { return *reinterpret_cast<Notes*>(segment_.slot(0)); }
  AnonymousSegment segment_;
};

}  // namespace shim::transport::testing
