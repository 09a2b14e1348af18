// SPDX-License-Identifier: BSD-3-Clause
// Threads of this process that sleep in read(2) on a descriptor whose number has just been given another meaning.
#pragma once

#include <sys/types.h>

#include <vector>

namespace shim::bootstrap::pmi1 {

bool is_single_threaded();

/// A thread of this process: `reading` sleeps in read(2) or recv(2) on a certain number, `elsewhere` sleeps in another call, `running`
/// is anywhere else, also on its way into a call.
struct Thread {
  enum class State { reading, elsewhere, running } state;
  pid_t id;
};
/// All threads but the caller. Where the kernel does not say what they do (/proc/self/task/*/syscall), all are running.
std::vector<Thread> other_threads(int descriptor);
/// Those that are reading.
std::vector<pid_t> readers_of(int descriptor);

/// A read(2) that sleeps stays with the file that it began on, whatever the number means by now. This brings a thread out of
/// it: a signal with a handler that does nothing interrupts the call, and the MPI library, as every careful reader, calls again.
/// Threads that run are interrupted too, in case they are on their way into that call; for these the kernel begins calls anew
/// (SA_RESTART), number and all.
///
/// The signal is SIGURG, or SIGWINCH where the program has its own use for SIGURG: both mean nothing to a program that has not
/// asked for them, so one that arrives after the old disposition is back is lost without harm. The handler is there for the
/// time of one call of interrupt(); where two of them overlap, one may have to try again. It writes down which thread it ran on (through a
/// pointer in the signal's value), so that it is known when a thread has left its call. A handler may be late, so that word of memory
/// stays when the object goes: a page for each object that was used. Not for threads that keep the signal
/// blocked: they stay where they are. A call that the kernel does not begin anew (poll(2), nanosleep(2)) may end early, as by any
/// signal, in a thread that enters it at this moment; sleeping ones are not touched.
class Interruption {
 public:
  Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// True once the thread is known to have left the call it was in; false where it has not left it soon, which may be tried again.
  bool interrupt(const Thread& thread);

 private:
  pid_t* last_ = nullptr;  ///< the thread that has left its call last
};

}  // namespace shim::bootstrap::pmi1
