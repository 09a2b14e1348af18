// SPDX-License-Identifier: BSD-3-Clause
// How a sender wakes a receiver that sleeps: a few words beside each other, in private or in shared memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace shim::transport {

/// How somebody sleeps.
enum Sleep : std::uint32_t {
  kOnTheWord = 1,      ///< sleep_on
  kAtTheDoorbell = 2,  ///< Doorbell::wait, for who waits for descriptors as well
};

/// Zero is the right initial state, so that freshly mapped memory needs no set-up. Any number of threads of one process may
/// sleep on it, one of them at the doorbell, and any number of processes may wake them.
struct WakeWords {
  std::atomic<std::uint32_t> sleeping;  ///< of Sleep: somebody sleeps so or is about to
  std::atomic<std::uint32_t> sequence;  ///< counts wake-ups; the futex word
  std::atomic<std::uint64_t> doorbell;  ///< its name; set before somebody sleeps there
};
static_assert(sizeof(WakeWords) == 16 && std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// The sleeper's first step. After it the sleeper makes a full barrier of its choice, looks once more for work, and only then
/// calls sleep_on. Answers the ticket for sleep_on.
inline std::uint32_t announce_sleep(WakeWords& words, Sleep how = kOnTheWord) {
  // The ticket is read first: a wake-up that answers this announcement changes the sequence afterwards. Relaxed is enough, the
  // kernel compares the word under its own lock.
  std::uint32_t ticket = words.sequence.load(std::memory_order_relaxed);
  // seq_cst: with the barrier that follows, pairs with the sender's barrier between its publication and wake_sleepers' load:
  // either the sender sees the announcement, or the sleeper sees what was published.
  words.sleeping.fetch_or(how, std::memory_order_seq_cst);
  return ticket;
}

/// Sleeps until somebody wakes us after the ticket was drawn, at most this long. May return early for no reason.
void sleep_on(WakeWords& words, std::uint32_t ticket, std::int64_t nanoseconds);

/// For who has slept at the doorbell: nobody need ring any more. Relaxed: who does not know it yet rings in vain.
inline void leave_doorbell(WakeWords& words) { words.sleeping.fetch_and(~std::uint32_t{kAtTheDoorbell}, std::memory_order_relaxed); }

/// The system calls behind wake_sleepers.
void wake_all(WakeWords& words);

/// For the sender, after it has published something and made its barrier. One load where nobody sleeps.
inline void wake_sleepers(WakeWords& words) {
  // pairs with the announcement in announce_sleep; seq_cst costs nothing here on x86, and makes a seq_cst store a sufficient barrier
  if (words.sleeping.load(std::memory_order_seq_cst) != 0) [[unlikely]] wake_all(words);
}

}  // namespace shim::transport
