// SPDX-License-Identifier: BSD-3-Clause
// PmiProxy shares one PMI-1 descriptor between this library and the native MPI library.
// The client inside the native MPI library is called the host client.
//
// The host client reads and writes lines on PMI_FD at any time, on any thread, and buffers what it
// has read, so it must never receive a response to a request of this library. Therefore attach
// moves the launcher's socket to another number and puts one end of a socket pair at PMI_FD. One
// thread forwards lines between the host client, this library and the launcher (RequestBroker).
// When this library needs the launcher no more, detach moves the socket back.
//
// At attach and at detach, a request of the host client may be in progress. In the lists below, D
// is the moment of the proxy's dup3(2), which changes the file at the number. W and R are the
// moments at which the kernel resolves the number to a file, for the write(2) of the request and
// for the read(2) of its response.
//
// Both directions rely on redirect_blocked_threads: once it has returned after D, no thread is
// inside a call that resolved the number before D. Each thread was seen asleep in another call, or
// has run a signal handler since D. A thread runs a handler between two calls only, and the kernel
// restarts an interrupted read(2) with the number. A thread that blocks the signals runs no
// handler; for it, redirect_blocked_threads checks for a while that it is not seen on the number.
//
// Attach (D puts the pair in place), if the process has other threads:
//
//   D before W and R   both use the pair.
//   R before D         the thread may be inside read(2) on the socket, asleep or not, and would
//                      receive responses to this library. So the proxy redirects blocked threads
//                      before its first request.
//   W before D         the response arrives at the socket, and the thread reads from the pair. So
//                      the proxy receives and forwards the responses to earlier requests before its
//                      first request (drain_pending_requests). The response to a barrier or a spawn
//                      may arrive much later, whether or not a thread was seen reading:
//                      RequestBroker then forwards it to the host client, also while requests of
//                      this library are open.
//
// Detach (D puts the socket back) needs three conditions:
//
// - No request that the proxy has seen is open.
// - The host client has read all its responses; it would not find the rest at the socket.
// - No thread of the host client is reading. If one is, it waits for the response to a request that
//   the proxy has not seen, and the proxy stays until that response has arrived.
//
// After D, the proxy redirects blocked threads, writers too, so the pair holds all bytes that were
// ever written to it:
//
//   D before W             the request is not in the pair, and R is after W: both use the socket.
//   W before D             the request is in the pair. The proxy puts the same pair, with its
//                          contents, back in place, redirects the blocked threads again, and
//                          retries later. It treats traffic on the socket in between as in attach.
//   W before the attach    the request is a barrier, and no thread was seen reading. The reading
//                          thread moves to the socket, where the response arrives.
//
// Two simpler tests for requests in the pair do not work. If the pair is silent for a while, its
// writer may have been preempted. An end-of-file does not arrive while a child made by fork() holds
// the pair.
//
// After the host client's cmd=finalize the socket never moves back: MPICH calls shutdown(2) and
// close(2) on PMI_FD at an unknown moment, and this library needs the socket for its own finalize.
// The pair stays with the host client.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "shim/bootstrap/pmi1/blocked_threads.hpp"
#include "shim/bootstrap/pmi1/pmi_env.hpp"
#include "shim/bootstrap/pmi1/request_broker.hpp"
#include "shim/bootstrap/pmi1/shared_descriptor.hpp"

namespace shim::bootstrap::pmi1 {

/// State of the connection when a PMI proxy attaches.
struct AttachState {
  InitState init_state;
  bool host_has_sent_init = false;  ///< the host client has sent init, or may have
  bool host_is_silent = false;      ///< the host client has certainly sent no request yet
};

/// Thread-safe. Reference-counted by its users; after the last remove_user() it detaches, at once
/// or after the host client's last response.
///
/// Size: one state machine over two descriptors and two clients, whose races the head of this file
/// lists. Each function is a step or a condition of attaching, forwarding or detaching.
class PmiProxy {
 public:
  /// Attach with one user, the caller. `endpoint` and `interrupter` must outlive the proxy and not
  /// be used elsewhere meanwhile; the rank is queried if unknown. Errors: other (as in attach.hpp),
  /// errors of the system.
  static base::Result<std::unique_ptr<PmiProxy>> install(ServerEndpoint& endpoint,
                                                         ThreadInterrupter& interrupter,
                                                         AttachState state, double seconds);
  ~PmiProxy();

  /// Add a user. Return false if the proxy has detached. Waits for a detachment in progress.
  bool add_user();
  /// Wait up to 1 s for the detachment if this was the last user.
  void remove_user();
  /// Detach, also with open requests. Call it once at a time; the destructor calls it, too.
  void stop();
  bool has_detached() const;
  bool is_used() const;

  void submit(PendingRequestPtr pending);
  /// Send a request that has no response.
  void send_oneway(const std::string& request);
  bool has_lost_launcher() const { return is_lost_.load(std::memory_order_relaxed); }
  bool has_held_finalize() const;
  InitState init_state() const;
  /// True if the host client has sent init, and its response was not seen.
  bool has_unseen_init_response() const;
  /// Forward further inits to the launcher, which responds to them.
  void allow_second_init();

 private:
  PmiProxy(SharedDescriptor& shared_descriptor, ThreadInterrupter& interrupter, AttachState state,
           double seconds);
  base::Status take_over_descriptor();
  base::Status redirect_host(std::unique_lock<std::mutex>& lock);
  bool host_has_unread() const;
  bool host_is_waiting() const;
  base::Status find_position(ServerEndpoint& endpoint, double seconds);
  void start_thread();
  void run();
  void wait_for_work();
  void read_from_server();
  void read_from_host();
  void write(std::string& text, int descriptor);
  void flush();
  void on_launcher_lost(const std::string& why);
  bool can_detach() const;
  bool leaves_pair_in_place() const;
  void duplicate_launcher();
  bool detach(std::unique_lock<std::mutex>& lock);
  bool retry_detach_later();
  bool has_late_request();
  void reattach(const Descriptor& host_side, std::unique_lock<std::mutex>& lock);
  void restore_descriptor();
  void wake();

  SharedDescriptor& shared_descriptor_;
  ThreadInterrupter& interrupter_;
  const double seconds_;        ///< limit for waiting for the launcher and for threads
  Descriptor launcher_;         ///< the launcher's socket
  Descriptor proxy_end_;        ///< our side of the pair
  Descriptor wakeup_;           ///< eventfd; wakes the thread
  bool has_host_side_ = false;  ///< false if the program has reused the number
  const bool host_has_sent_init_;
  /// true if no request of the host client can have been in progress at attach
  const bool has_quiet_host_;
  bool host_has_closed_ = false;
  LineBuffer from_server_, from_host_;

  /// guards all members except shared_descriptor_, the descriptors and the buffers, which the
  /// thread owns once it runs; released while the thread waits for other threads or the launcher
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RequestBroker broker_;
  int users_ = 1;
  int retry_detach_ms_ = 0;  ///< delay until the next attempt to detach; 0: no attempt pending
  bool is_detaching_ = false, has_detached_ = false, must_stop_ = false;
  std::atomic<bool> is_lost_{false};  // set once; pairs with nothing
  std::thread thread_;
};

}  // namespace shim::bootstrap::pmi1
