// SPDX-License-Identifier: BSD-3-Clause
// Threads of this process that sleep in read(2) on a descriptor whose number has just been given another meaning.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <set>
#include <vector>

namespace shim::bootstrap::pmi1 {

bool is_single_threaded();

/// The other threads that sleep in read(2) or recv(2) on this number; none where the kernel does not say
/// (/proc/self/task/*/syscall).
std::vector<pid_t> readers_of(int descriptor);

/// A read(2) that sleeps stays with the file that it began on, whatever the number means by now. This brings a thread out of
/// it: a signal whose handler does nothing interrupts the call, and the MPI library, as every careful reader, calls again.
///
/// The signal is SIGURG, or SIGWINCH where the program has its own use for SIGURG: both mean nothing to a program that has not
/// asked for them, so one that arrives after the old disposition is back is lost without harm. The handler counts (through a
/// pointer in the signal's value), so that it is known when a thread has left its call. Not for threads that keep the signal
/// blocked: they stay where they are, and the caller has to wait.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// True once the thread is known to have left the call it was in. Each thread is interrupted once.
  bool interrupt(pid_t thread);

 private:
  struct Handler;  // what sigaction gave, and the count
  std::unique_ptr<Handler> handler_;
  std::set<pid_t> done_;
};

}  // namespace shim::bootstrap::pmi1
