// SPDX-License-Identifier: BSD-3-Clause
// CoreSet and CoreDemand describe the cores that a process may run on, and their load.
#pragma once

#include <array>
#include <cstdint>

namespace shim::node {

/// Set of hardware threads in the kernel's numbering, up to 1024.
struct CoreSet {
  std::array<std::uint64_t, 16> words{};

  /// Return the affinity of the calling thread, as the launcher binds it before the program begins.
  /// All online cores if the kernel does not report it, as with more than 1024 cores. Local.
  static CoreSet of_this_process();
  /// Return the affinity of the process's first thread; all online cores if the kernel does not
  /// report it.
  static CoreSet of_first_thread();
  int count() const;
  int shared_with(const CoreSet& other) const;
};

/// Number of processes that compete for the cores of one process. If per_core() exceeds 1, some
/// process has to wait for a core.
class CoreDemand {
 public:
  explicit CoreDemand(const CoreSet& own) : own_(own), cores_(own.count()) {}
  /// Add a process that may run on any core of this set; call it for this process as well.
  void add(const CoreSet& other);
  /// Add a process with unknown affinity. If this process is bound to one core, assume another
  /// core, because launchers bind all processes alike; else assume this process's set, which may be
  /// all that the job has.
  void add_unknown();
  /// Return the number of processes per core.
  double per_core() const { return processes_ / cores_; }

 private:
  CoreSet own_;
  int cores_;
  double processes_ = 0;
};

}  // namespace shim::node
