// SPDX-License-Identifier: BSD-3-Clause
// Threads of this process that are still with the file that a descriptor's number meant before it was given another meaning.
#pragma once

#include <sys/types.h>

#include <vector>

#include "shim/base/result.hpp"

namespace shim::bootstrap::pmi1 {

bool is_single_threaded();

/// The other threads that sleep in read(2), write(2) or the like on this number; none where the kernel does not say
/// (/proc/self/task/*/syscall).
std::vector<pid_t> readers_of(int descriptor);

/// Brings threads out of calls. A connection's own, and used by one at a time.
///
/// A read(2) stays with the file that it began on. A thread that is seen asleep in another call has left it behind. Every other
/// one is sent a signal whose handler does nothing: it runs between two calls, and a read(2) that it interrupts is begun anew by the
/// kernel (SA_RESTART), from the number. The handler writes down which thread it has run on, in one of a page of words. Two threads
/// may have the same word: then the signal is sent again. It may come late, so the page stays when the object goes.
/// The signal is SIGURG, or SIGWINCH where the program has its own use for SIGURG: both mean nothing to a program that has not
/// asked for them, so one that arrives after the old disposition is back is lost without harm. A call that the kernel does not begin
/// anew (poll(2), nanosleep(2)) may end early, as by any signal, in a thread that enters it at this moment; sleeping ones are not
/// touched.
class Interruption {
 public:
  Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Call it after a number was given another meaning (dup2): when it returns, every other thread that reads or writes this number
  /// does so on what it means now. A thread that blocks the signal is watched instead: it is passed over when it has not been
  /// seen on the number for a while.
  /// Errors: other (one sleeps on the number and cannot be interrupted; or not all in time; no memory).
  base::Status bring_readers_over(int number, double seconds);

 private:
  pid_t* notes_ = nullptr;
};

}  // namespace shim::bootstrap::pmi1
