// SPDX-License-Identifier: BSD-3-Clause
// How many threads this process has.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace shim::base {

inline std::size_t listed_threads() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

/// The number, once it is no more than `most` or a second has passed: the kernel lists a thread that has been joined for a moment
/// longer (pthread_join waits for the word that the thread clears, not for the end of its listing).
inline std::size_t threads_down_to(std::size_t most) {
  std::size_t threads = listed_threads();
  for (int tries = 0; threads > most && tries < 1000; ++tries, threads = listed_threads())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threads;
}

}  // namespace shim::base
