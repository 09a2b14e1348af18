// SPDX-License-Identifier: BSD-3-Clause
// WakeWords let a sender wake a sleeping receiver. They are in private or in shared memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace shim::node {

/// How a process sleeps.
enum Sleep : std::uint32_t {
  kOnFutex = 1,     ///< sleep_on
  kAtDoorbell = 2,  ///< Doorbell::wait, for a sleeper that also waits for descriptors
};

/// Zero is the initial state, so freshly mapped memory needs no set-up. Any number of threads of
/// one process may sleep, one of them at the doorbell, and any number of processes may wake them.
struct WakeWords {
  std::atomic<std::uint32_t> sleeping;  ///< Sleep bits, set before a thread sleeps
  std::atomic<std::uint32_t> sequence;  ///< counts wake-ups; the futex word
  std::atomic<std::uint64_t> doorbell;  ///< its name, set before a thread sleeps there
};
static_assert(sizeof(WakeWords) == 16 && std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

/// Announce a sleeper and return the ticket for sleep_on. The caller then executes a full barrier,
/// checks once more for work, and only then calls sleep_on.
inline std::uint32_t announce_sleep(WakeWords& words, Sleep how = kOnFutex) {
  // The ticket is read first: a wake-up that answers this announcement changes the sequence
  // afterwards. Relaxed is enough, because the kernel compares the word under its own lock.
  std::uint32_t ticket = words.sequence.load(std::memory_order_relaxed);
  // seq_cst: with the caller's barrier, pairs with the sender's barrier between its publication and
  // wake_sleepers' load: either the sender sees the announcement, or the sleeper sees the published
  // data.
  words.sleeping.fetch_or(how, std::memory_order_seq_cst);
  return ticket;
}

/// Sleep until a wake-up that is later than the ticket, at most this long. May return spuriously.
void sleep_on(WakeWords& words, std::uint32_t ticket, std::int64_t nanoseconds);

/// Cancel the announcement of a doorbell sleeper. Relaxed: if a sender still sees the announcement
/// and rings, the next wait at the doorbell returns at once.
inline void leave_doorbell(WakeWords& words) {
  words.sleeping.fetch_and(~std::uint32_t{kAtDoorbell}, std::memory_order_relaxed);
}

/// Wake all sleepers by system calls; called by wake_sleepers.
void wake_all(WakeWords& words);

/// Sender, after its publication and barrier: wake all sleepers. One load if there are none.
inline void wake_sleepers(WakeWords& words) {
  // pairs with the announcement in announce_sleep; seq_cst is free on x86, and makes a seq_cst
  // store a sufficient barrier
  if (words.sleeping.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    wake_all(words);
}

}  // namespace shim::node
