// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/wake.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "shim/node/doorbell.hpp"

namespace shim::node {

// futex(2) without FUTEX_PRIVATE_FLAG: the word may be in memory that several processes map at
// different addresses.

void sleep_on(WakeWords& words, std::uint32_t ticket, std::int64_t nanoseconds) {
  if (nanoseconds <= 0) return;
  timespec limit{static_cast<time_t>(nanoseconds / 1'000'000'000),
                 static_cast<long>(nanoseconds % 1'000'000'000)};
  // A changed word, a signal and a timeout mean the same to the caller: check again.
  ::syscall(SYS_futex, &words.sequence, FUTEX_WAIT, ticket, &limit, nullptr, 0);
}

void wake_all(WakeWords& words) {
  // The exchange lets one of several senders make the system calls; the others see zero. It clears
  // the announcement before the sequence changes, so a sleeper that announces in between gets a
  // spurious wake-up, but never misses one.
  const std::uint32_t how = words.sleeping.exchange(0, std::memory_order_seq_cst);
  if ((how & kOnFutex) != 0) {
    words.sequence.fetch_add(1, std::memory_order_release);
    ::syscall(SYS_futex, &words.sequence, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
  // relaxed: the exchange above acquired the name together with the announcement
  if ((how & kAtDoorbell) != 0) ring(words.doorbell.load(std::memory_order_relaxed));
}

}  // namespace shim::node
