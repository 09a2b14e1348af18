// SPDX-License-Identifier: BSD-3-Clause
// Stand-ins for what a part of the engine calls, so that a test can make one part alone.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/p2p/context.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::p2p {

/// Processes 0 to size-1 of world 0, in rank order.
class FirstRanks final : public Members {
 public:
  explicit FirstRanks(int size) : size_(size) {}
  int size() const override { return size_; }
  base::ProcessId at(int rank) const override { return {0, static_cast<std::uint32_t>(rank)}; }

 private:
  int size_;
};

/// Return the specification of a communicator of `size` processes at rank 0.
inline ContextSpec spec_of(int size, std::uint32_t base = 100) {
  auto bases = std::make_shared<ContextBases>();
  bases->common = base;
  return {.members = std::make_shared<FirstRanks>(size),
          .own_rank = 0,
          .bases = bases,
          .own_base = base};
}

/// A router without routes; the test sets which processes are dead or have left.
class ToldRouter final : public Router {
 public:
  base::Result<Route> route_to(base::ProcessId) override {
    return base::Error(base::ErrorClass::other, "no routes");
  }
  bool is_alive(base::ProcessId process) override { return !dead.contains(process.rank); }
  bool receives_packets(base::ProcessId process) override { return !left.contains(process.rank); }
  std::string describe(base::ProcessId process) override {
    return "process " + std::to_string(process.rank) + ", node n0";
  }
  std::set<std::uint32_t> dead, left;
};

/// A log that the test reads.
class PipedLog {
 public:
  PipedLog() {
    if (::pipe(ends_.data()) == 0)
      log_ = std::make_unique<base::Log>(base::LogLevel::warn, "n0:0", ends_[1]);
  }
  ~PipedLog() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  PipedLog(const PipedLog&) = delete;
  PipedLog& operator=(const PipedLog&) = delete;
  const base::Log* log() const { return log_.get(); }
  /// Return what was written since the last call.
  std::string text() const {
    std::string read;
    pollfd readable{ends_[0], POLLIN, 0};
    while (::poll(&readable, 1, 0) == 1) {
      std::array<char, 4096> some;
      const ssize_t count = ::read(ends_[0], some.data(), some.size());
      if (count <= 0) break;
      read.append(some.data(), static_cast<std::size_t>(count));
    }
    return read;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::unique_ptr<base::Log> log_;
};

}  // namespace shim::p2p
