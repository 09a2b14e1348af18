// SPDX-License-Identifier: BSD-3-Clause
// Provides helpers for tests of the node segment: a private directory, and forked processes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "shim/bootstrap/node_segment.hpp"
#include "shim/bootstrap/segment_file.hpp"
#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::testing {

/// A directory in shared memory, removed at the end of the test.
class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest() {
    std::array<char, 64> name = {"/dev/shm/segment-test-XXXXXX"};
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name.data();
  }
  ~SegmentTest() override { std::filesystem::remove_all(directory_); }

  SegmentSpec spec(std::uint32_t own_slot = 0, std::uint32_t slots = 2,
                   const std::string& job = "job") const {
    SegmentSpec spec;
    spec.job = job;
    spec.slots = slots;
    spec.own_slot = own_slot;
    spec.world_rank = own_slot + 10;
    spec.slot_bytes = 5000;
    spec.pair_bytes = 9000;
    spec.directory = directory_;
    return spec;
  }
  static std::unique_ptr<NodeSegment> attach(const SegmentSpec& spec) {
    auto segment = NodeSegment::attach(spec, 10);
    if (!segment) throw std::runtime_error(segment.error().text());
    return std::move(*segment);
  }
  std::string path(const std::string& job = "job") const {
    return segment_location(directory_, job, 0).path();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.push_back(entry.path());
    return names;
  }

  std::string directory_;
};

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

}  // namespace shim::bootstrap::testing
