// SPDX-License-Identifier: BSD-3-Clause
// One descriptor, two owners: we and the client inside the MPI library below (the guest) talk to the same launcher.
//
// The guest reads and writes lines on PMI_FD, at any time and on any thread, and keeps what it has read in a buffer of its own, so
// an answer to us must never reach it. So the launcher's socket is moved aside, a pair of sockets takes its number, and one thread
// passes lines between the guest, us and the launcher (Exchange). When nobody of ours is left, the socket goes back to its number.
//
// The guest may be anywhere in its conversation when that happens. W is the moment at which its write(2), R that at which its
// read(2) looks the number up; D is our dup2.
//
// What both ways rest on: after D, bring_readers_over returns when no thread is in a call any more that looked the number up before
// D. Each is seen asleep in another call, or has run a signal's handler since D; that runs between two calls only, and a
// read(2) that it ends begins anew with the number. So nothing is waited for with a clock but threads that block the signals.
//
// Coming (D puts the pair in place), where the process has other threads:
//   D before W and R   both on the pair.
//   R before D         the thread may sleep or run in read(2) on the socket, where our answers would reach it. So before we say a word,
//                      readers are brought over.
//   W before D         its answer comes to the socket, and it reads from the pair. So what it had asked before is answered, and passed
//                      on, before we ask anything (take_turn). The answer of a barrier or a spawn may come much later, whether or not its
//                      reader was seen: Exchange gives it to the guest, also while questions of ours are open.
//
// Going (D puts the socket back), only while no request that we know of is open, and the guest has read all its answers (else it
// would look for them at the socket) and is not reading (else it waits for what we have not seen, and we stay until that has
// come). Then readers are brought over, writers too, so the pair holds all that was ever written to it:
//   D before W         it is not in the pair, and R is later: both on the socket.
//   W before D         the request is in the pair. The same pair is put back in its place, with all that is in it, and the readers are
//                      brought over again. Going is tried again when the request is answered. What another thread may have asked
//                      on the socket in between is treated as in coming.
//   W before we came   a barrier whose reader has not been seen yet. It goes over to the socket, where its answer comes.
// That an open pair is silent for a while proves nothing: its writer may not have had the processor. Nor does its end-of-file come as
// long as a child made by fork() holds it.
//
// Once the guest's cmd=finalize has come, the socket never goes back: MPICH shuts its number down and closes it at a moment that
// nobody can know, and that must not be the socket, which is needed for our own finalize. The pair is left to it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "shim/bootstrap/pmi1/exchange.hpp"
#include "shim/bootstrap/pmi1/place.hpp"
#include "shim/bootstrap/pmi1/readers.hpp"
#include "shim/bootstrap/pmi1/surroundings.hpp"

namespace shim::bootstrap::pmi1 {

/// What is known of the conversation when a switchboard comes into it.
struct Conversation {
  Greeting greeting;
  bool library_has_begun = false;  ///< the guest has sent init, or may have
  bool library_is_silent = false;  ///< the guest has asked nothing so far, for certain
};

/// Thread-safe. Counts those who use it; the last one's leave() makes it go, at once or when the guest's request is answered.
class Switchboard {
 public:
  /// With one user, the caller. `way` and `interruption` must outlive it and be nobody else's
  /// meanwhile; who this process is is asked if need be.
  /// Errors: other (as in arrival.hpp), those of the system.
  static base::Result<std::unique_ptr<Switchboard>> put_in_place(Way& way,
                                                                 Interruption& interruption,
                                                                 Conversation conversation,
                                                                 double seconds);
  /// Goes, whatever is open.
  ~Switchboard();

  /// False: it has gone.
  bool enter();
  void leave();
  bool has_gone() const;
  bool is_used() const;

  void ask(QuestionPtr question);
  /// A request that has no answer.
  void tell(const std::string& request);
  bool has_lost_launcher() const { return is_lost_.load(std::memory_order_relaxed); }
  bool has_held_finalize() const;
  Greeting greeting() const;
  /// The guest has sent init, and its answer was not seen.
  bool has_unseen_greeting() const;
  /// The launcher answers init again.
  void allow_second_init();

 private:
  Switchboard(Place& place, Interruption& interruption, Conversation conversation, double seconds);
  base::Status take_place();
  base::Status settle();
  bool guest_has_unread() const;
  bool guest_waits_for_something() const;
  base::Status find_position(Way& way, double seconds);
  void begin();
  void run();
  void wait_for_work();
  void read_from_server();
  void read_from_guest();
  void write(std::string& text, int descriptor);
  void flush();
  void lose(const std::string& why);
  bool may_go() const;
  bool keeps_number() const;
  void restore_number();
  bool go();
  bool postpone();
  bool has_come_late();
  void come_back(const Descriptor& guests_side);
  void leave_place();
  void wake();

  Place& place_;
  Interruption& interruption_;
  const double seconds_;  ///< to wait for the launcher and for threads
  Descriptor real_;    ///< the launcher's
  Descriptor mine_;    ///< our side of the pair
  Descriptor alarm_;   ///< eventfd; wakes the thread
  bool has_guest_side_ = false;  ///< false where the number is somebody else's by now
  const bool library_has_begun_;
  const bool is_alone_;  ///< no guest was in the midst of anything when it came
  bool guest_has_closed_ = false;
  LineBuffer from_server_, from_guest_;

  mutable std::mutex mutex_;  ///< guards all but place_ and the descriptors, which belong to the thread once it runs
  std::condition_variable changed_;
  Exchange exchange_;
  int users_ = 1;
  int postponed_ms_ = 0;  ///< it could not go: tries again after this time; 0: there is nothing to try
  bool has_gone_ = false, must_stop_ = false;
  std::atomic<bool> is_lost_{false};  // a latch: pairs with nothing
  std::thread thread_;
};

}  // namespace shim::bootstrap::pmi1
