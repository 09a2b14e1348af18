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
// Coming (D puts the pair in place), where the process has other threads:
//   D before W and R   both on the pair.
//   W and R before D   it sleeps in read(2) on the socket, where our answers would reach it. So before we say a word, it is
//                      interrupted and reads again, from the pair (Interruption). What it asked we do not know: Exchange
//                      gives it the first answer that is nobody's.
//   W before D before R  its answer comes to the socket, and it reads from the pair. It does not sleep, so nobody knows. Hence
//                      take_turn: what it had asked before is answered, and passed on, before we ask anything.
//   A thread that runs may be on its way into read(2), with the number looked up already. So the threads that run are interrupted
//   too: one that has run the handler looks numbers up anew, and one that sleeps in another call will.
//
// Going (D puts the socket back), only while no request of anybody is open:
//   D before W and R   both on the socket.
//   R after D, W long before  its answer would stay in the pair. So we go only when the guest has read all that is in it, and look
//                      every millisecond meanwhile.
//   W before D         the request is in the pair when D is done (it was not before, or one would be open). Then the place is taken
//                      again: a new pair, and a reader that sleeps on the socket or on the old pair is brought over as above. The
//                      request is the first of the new pair's, and going is tried again when it is answered.
//   After D we read the old pair to its end, which comes when no write(2) holds the other side any more. A child made by fork() may
//   hold it for long; then 20 ms of silence are the end.
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

/// Thread-safe. Counts those who use it; the last one's leave() makes it go, at once or when the guest's request is answered.
class Switchboard {
 public:
  /// With one user, the caller. `way` and `interruption` must outlive it and be nobody else's meanwhile; who this process is is asked if need be.
  /// Errors: other (as in arrival.hpp), those of the system.
  static base::Result<std::unique_ptr<Switchboard>> put_in_place(Way& way, Interruption& interruption, double seconds);
  /// Goes, whatever is open.
  ~Switchboard();

  /// False: it has gone.
  bool enter();
  void leave();
  bool has_gone() const;

  void ask(QuestionPtr question);
  /// A request that has no answer.
  void tell(const std::string& request);
  bool has_lost_launcher() const { return is_lost_.load(std::memory_order_relaxed); }
  bool has_held_finalize() const;

 private:
  Switchboard(Place& place, Interruption& interruption);
  base::Status take_place();
  base::Status settle(double seconds);
  base::Status find_position(Way& way, double seconds);
  void begin();
  void run();
  void wait_for_work();
  void read_from_server();
  void read_from_guest();
  void write(std::string& text, int descriptor);
  void flush();
  void lose(const std::string& why);
  bool is_ready_to_go() const;
  bool guest_has_unread() const;
  bool keeps_number() const;
  void restore_number();
  bool go();
  bool has_come_late();
  bool come_back();
  void wake();

  Place& place_;
  Interruption& interruption_;
  Descriptor real_;    ///< the launcher's
  Descriptor mine_;    ///< our side of the pair
  Descriptor alarm_;   ///< eventfd; wakes the thread
  bool has_guest_side_ = false;  ///< false where the number is somebody else's by now
  bool is_alone_ = false;        ///< no other thread when it came: no guest in the midst of anything
  bool guest_has_closed_ = false;
  LineBuffer from_server_, from_guest_;

  mutable std::mutex mutex_;  ///< guards all but place_ and the descriptors, which belong to the thread once it runs
  std::condition_variable changed_;
  Exchange exchange_;
  int users_ = 1;
  bool has_gone_ = false, must_stop_ = false;
  std::atomic<bool> is_lost_{false};  // a latch: pairs with nothing
  std::thread thread_;
};

}  // namespace shim::bootstrap::pmi1
