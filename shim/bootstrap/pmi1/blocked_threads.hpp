// SPDX-License-Identifier: BSD-3-Clause
// ThreadInterrupter moves blocked threads from a descriptor number's old file to its new one.
#pragma once

#include <sys/types.h>

#include <vector>

#include "shim/base/result.hpp"

namespace shim::bootstrap::pmi1 {

/// True if the process has one thread.
bool is_single_threaded();

/// Return the other threads that sleep in read(2), write(2) or a similar call on this number; empty
/// if the kernel does not report them (/proc/self/task/*/syscall).
std::vector<pid_t> threads_blocked_on(int descriptor);

/// Interrupts threads inside system calls. Owned by one connection; not thread-safe.
///
/// A read(2) keeps the file that the number referred to when the call began, also if dup2(2) has
/// changed the number since. A thread seen asleep in any other call is in no such read(2). Every
/// other thread gets a signal whose handler only records that it ran: a handler runs between two
/// calls, and the kernel restarts an interrupted read(2) with the number (SA_RESTART).
///
/// The handler stores its thread's id in one word of a page, chosen by the id; if two threads share
/// a word, the signal is sent again. A signal may arrive late, so the page is never unmapped. The
/// signal is SIGURG, or SIGWINCH if the program handles SIGURG: both are ignored by default, so a
/// late signal is harmless after the old disposition is restored. A call that the kernel does not
/// restart (poll(2), nanosleep(2)) may end early, as with any signal, in a thread that enters it at
/// this moment; threads that already sleep in it are not interrupted.
class ThreadInterrupter {
 public:
  ThreadInterrupter() = default;
  ThreadInterrupter(const ThreadInterrupter&) = delete;
  ThreadInterrupter& operator=(const ThreadInterrupter&) = delete;

  /// Call this after a number got a new file (dup2). On return, every other thread that reads or
  /// writes this number uses the new file. A thread that blocks the signal is observed instead: it
  /// passes if it is not seen on the number for a while. Errors: other (a thread sleeps on the
  /// number and cannot be interrupted; timeout; no memory).
  base::Status redirect_blocked_threads(int number, double seconds);

 private:
  pid_t* words_ = nullptr;
};

}  // namespace shim::bootstrap::pmi1
