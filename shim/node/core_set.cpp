// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/core_set.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace shim::node {

namespace {

CoreSet cores_of(pid_t thread) {
  CoreSet cores;
  cpu_set_t set;
  static_assert(sizeof set == sizeof cores.words, "both are 1024 bits");
  CPU_ZERO(&set);
  if (sched_getaffinity(thread, sizeof set, &set) != 0)
    for (long core = 0; core < std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, long{CPU_SETSIZE});
         ++core)
      CPU_SET(core, &set);
  std::memcpy(cores.words.data(), &set, sizeof set);
  return cores;
}

}  // namespace

CoreSet CoreSet::of_this_process() { return cores_of(0); }
CoreSet CoreSet::of_first_thread() { return cores_of(getpid()); }

int CoreSet::count() const { return shared_with(*this); }

int CoreSet::shared_with(const CoreSet& other) const {
  int shared = 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (const auto both = words[i] & other.words[i])
      shared += std::popcount(both);  // most words of a set are empty
  return shared;
}

void CoreDemand::add(const CoreSet& other) {
  const int count = other.count();
  if (count != 0) processes_ += static_cast<double>(own_.shared_with(other)) / count;
}

void CoreDemand::add_unknown() {
  if (cores_ > 1) processes_ += 1;
}

}  // namespace shim::node
