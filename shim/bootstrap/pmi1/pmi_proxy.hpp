// SPDX-License-Identifier: BSD-3-Clause
// PmiProxy shares one PMI-1 descriptor between this library and the native MPI library.
// The client inside the native MPI library is called the host client.
//
// The host client reads and writes lines on PMI_FD at any time, on any thread, and buffers what it
// has read, so it must never receive a response to a request of this library. Therefore attach
// moves the launcher's socket to another number and puts one end of a socket pair at PMI_FD. One
// thread forwards lines between the host client, this library and the launcher (RequestBroker).
//
// At attach, a request of the host client may be in progress. In the list below, D is the moment of
// the proxy's dup3(2), which changes the file at the number. W and R are the moments at which the
// kernel resolves the number to a file, for the write(2) of the request and for the read(2) of its
// response.
//
// Attaching relies on redirect_blocked_threads: once it has returned after D, no thread is inside a
// call that resolved the number before D. Each thread was seen asleep in another call, or has run a
// signal handler since D. A thread runs a handler between two calls only, and the kernel restarts
// an interrupted read(2) with the number. A thread that blocks the signals runs no handler; for it,
// redirect_blocked_threads checks for a while that it is not seen on the number.
//
// If the process has other threads:
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
// Detaching moves the socket back to PMI_FD, for a program that replaces this one (exec) or that
// this one starts. A request of the host client in progress would be lost, so Connection detaches
// only while the host client sends none: before MPI_Init and after MPI_Finalize
// (docs/decisions/0023-pmi1-under-hydra.md). After the host client's cmd=finalize the pair stays at
// the number: the host client closes it, and this library needs the socket for its own finalize.
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

/// Thread-safe.
///
/// Size: one state machine over two descriptors and two clients, whose races the head of this file
/// lists. Each function is a step or a condition of attaching or forwarding.
class PmiProxy {
 public:
  /// Attach. `endpoint` and `interrupter` must outlive the proxy and not be used elsewhere
  /// meanwhile; the rank is queried if unknown. Errors: other (as in attach.hpp), errors of the
  /// system.
  static base::Result<std::unique_ptr<PmiProxy>> install(ServerEndpoint& endpoint,
                                                         ThreadInterrupter& interrupter,
                                                         AttachState state, double seconds);
  /// Detach as if the host client were active.
  ~PmiProxy() { detach(true); }

  /// Detach, also with open requests. The responses to requests of this library would reach the
  /// next user of the socket. If the host client may be active, at the end of the process or after
  /// a failed attach, forward its last requests first. Call it on one thread at a time.
  void detach(bool host_may_be_active);

  void add_user();
  void remove_user();
  bool is_used() const;
  /// True if the launcher has sent all responses, or is lost.
  bool is_idle() const;
  /// Wait at most 1 s until the proxy is idle, has a user, or has a request that may stay open.
  void wait_until_idle();

  void submit(PendingRequestPtr pending);
  /// Send a request that has no response.
  void send_oneway(const std::string& request);
  bool has_lost_launcher() const { return is_lost_.load(std::memory_order_relaxed); }
  bool has_held_finalize() const;
  /// True if the host client has sent a request, and not finalize.
  bool host_has_begun() const;
  InitState init_state() const;
  /// True if the host client has sent init, and its response was not seen.
  bool has_unseen_init_response() const;
  /// Forward further inits to the launcher, which responds to them.
  void allow_second_init();

 private:
  PmiProxy(SharedDescriptor& shared_descriptor, ThreadInterrupter& interrupter, AttachState state);
  base::Status take_over_descriptor();
  base::Status redirect_host(double seconds);
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
  bool has_no_open_request() const;
  bool leaves_pair_in_place() const;
  void restore_descriptor(bool host_may_be_active);
  void wake();

  SharedDescriptor& shared_descriptor_;
  ThreadInterrupter& interrupter_;
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
  /// thread owns once it runs
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RequestBroker broker_;
  int users_ = 0;
  bool has_detached_ = false, must_stop_ = false;
  std::atomic<bool> is_lost_{false};  // set once; pairs with nothing
  std::thread thread_;
};

}  // namespace shim::bootstrap::pmi1
