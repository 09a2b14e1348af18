// SPDX-License-Identifier: BSD-3-Clause
// The cores that a process may run on.
#pragma once

#include <array>
#include <cstdint>

namespace shim::bootstrap {

/// Hardware threads as the kernel numbers them. Those from 1024 on, which sched_getaffinity(2) does not tell of in its usual form,
/// are nobody's.
struct CoreSet {
  std::array<std::uint64_t, 16> words{};

  /// Local; of the calling thread, as a launcher binds it before the program begins. Empty where the kernel does not say.
  static CoreSet of_this_process();
  int count() const;
  int shared_with(const CoreSet& other) const;
};

/// Who else wants the cores of one process: with a demand of more than 1, some process on them waits for another to get off.
class CoreDemand {
 public:
  explicit CoreDemand(const CoreSet& own) : own_(own), cores_(own.count()) {}
  /// Somebody who may run anywhere in this set, the process itself included.
  void add(const CoreSet& other);
  /// Somebody of whom nothing is known yet: bound to other cores if this process is bound, else bound as little as this process.
  void add_unknown(int cores_of_machine);
  /// Processes for each core; 0 where the own cores are not known.
  double per_core() const { return cores_ == 0 ? 0 : processes_ / cores_; }

 private:
  CoreSet own_;
  int cores_;
  double processes_ = 0;
};

}  // namespace shim::bootstrap
