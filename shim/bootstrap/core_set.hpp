// SPDX-License-Identifier: BSD-3-Clause
// The cores that a process may run on.
#pragma once

#include <array>
#include <cstdint>

namespace shim::bootstrap {

/// Hardware threads as the kernel numbers them, up to 1024.
struct CoreSet {
  std::array<std::uint64_t, 16> words{};

  /// Local; of the calling thread, as a launcher binds it before the program begins. All that are online where the kernel does not
  /// say, as on machines with more than 1024.
  static CoreSet of_this_process();
  /// Of the whole process, as its first thread has it; likewise.
  static CoreSet of_first_thread();
  int count() const;
  int shared_with(const CoreSet& other) const;
};

/// Who else wants the cores of one process: with a demand of more than 1, some process on them waits for another to get off.
class CoreDemand {
 public:
  explicit CoreDemand(const CoreSet& own) : own_(own), cores_(own.count()) {}
  /// Somebody who may run anywhere in this set, the process itself included.
  void add(const CoreSet& other);
  /// Somebody of whom nothing is known yet: elsewhere if this process is bound to one core, as launchers bind all alike; else anywhere
  /// in the same set, which may be all that the job has.
  void add_unknown();
  /// Processes for each core.
  double per_core() const { return processes_ / cores_; }

 private:
  CoreSet own_;
  int cores_;
  double processes_ = 0;
};

}  // namespace shim::bootstrap
