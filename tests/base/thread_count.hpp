// SPDX-License-Identifier: BSD-3-Clause
// Counts the threads of this process after joined threads have left the kernel's list.
#pragma once

#include <chrono>
#include <cstddef>
#include <thread>

#include "shim/base/thread_count.hpp"

namespace shim::base {

/// Wait until the process has at most `most` threads, or for a second; return the number. The
/// kernel lists a thread for a moment after pthread_join() has returned, because pthread_join()
/// waits for the word that the thread clears at its end, not for its removal from the list.
inline std::size_t wait_for_thread_count(std::size_t most) {
  std::size_t threads = thread_count();
  for (int tries = 0; threads > most && tries < 1000; ++tries, threads = thread_count())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threads;
}

}  // namespace shim::base
