// SPDX-License-Identifier: BSD-3-Clause
// How many threads this process has, once those that have ended are gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <thread>

#include "shim/base/thread_count.hpp"

namespace shim::base {

/// The number, once it is no more than `most` or a second has passed: the kernel counts a thread that has been joined for a moment
/// longer (pthread_join waits for the word that the thread clears, not for the end of its listing).
inline std::size_t threads_down_to(std::size_t most) {
  std::size_t threads = thread_count();
  for (int tries = 0; threads > most && tries < 1000; ++tries, threads = thread_count())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threads;
}

}  // namespace shim::base
