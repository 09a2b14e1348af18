// SPDX-License-Identifier: BSD-3-Clause
// RequestBroker matches responses on a shared PMI-1 connection to their requesters.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "shim/bootstrap/pmi1/pending_request.hpp"

namespace shim::bootstrap::pmi1 {

/// State of cmd=init on a connection. Slurm's server responds to one, from either client; hydra
/// responds to each.
struct InitState {
  std::optional<std::string> response;  ///< the launcher's response without newline, if seen
  bool is_repeatable = false;           ///< the launcher responds to further inits
};

/// Two clients share the connection: this library, and the *host client* inside the native MPI
/// library, which is unaware of it. A response does not name its request, but has a kind (kind_of
/// in wire.hpp), so it belongs to the earliest open request of that kind. Different daemons may
/// respond to two requests of one kind, so if one of the two is ours, the second is sent after the
/// response to the first. Requests of different kinds never wait for each other, and a barrier that
/// waits for other processes blocks no other request.
///
/// Performs no I/O and takes no lock; its owner does both.
class RequestBroker {
 public:
  explicit RequestBroker(InitState init_state = {}) : init_state_(std::move(init_state)) {}

  /// Submit a request of this library. It is sent in its turn, unless the requester has dropped it
  /// by then.
  void submit(PendingRequestPtr pending);
  /// Process whole lines, without newlines.
  void on_host_line(std::string_view line);
  void on_server_line(std::string_view line);

  /// Output, lines with newlines; the owner removes written bytes from the front.
  std::string to_server, to_host;

  /// Expect a response to a request of the host client that this object has not seen.
  void expect_unseen_request() { unseen_ = true; }
  /// Complete all requests of this library, present and future, with this error, because the
  /// connection is lost.
  void fail_all(const std::string& why);
  bool has_failed() const { return failure_.has_value(); }

  /// True if nothing is open, waiting, or to be written.
  bool is_idle() const;
  /// True if the host client has received all responses, as far as known.
  bool host_has_no_open_request() const;
  /// True if an open request may stay open long because of other processes: a host client's
  /// request, or a barrier.
  bool may_block_long() const;
  bool host_has_begun() const { return host_has_begun_; }
  /// True if the host client has sent finalize, and this object has responded in place of the
  /// launcher.
  bool has_held_finalize() const { return has_held_finalize_; }

  /// State of init. If the response is known, this object answers an init itself, except an init of
  /// the host client if the launcher responds to further ones.
  const InitState& init_state() const { return init_state_; }
  /// Record a response to init that was read before this object saw it.
  void record_init_response(std::string_view line);
  void allow_second_init() { init_state_.is_repeatable = true; }

 private:
  struct QueuedRequest {
    std::string kind;           ///< kind of its response
    std::string text;           ///< with newline; empty once sent
    PendingRequestPtr pending;  ///< null: the host client's
  };
  bool must_wait(const QueuedRequest& request, const std::list<QueuedRequest>& ahead) const;
  void begin(QueuedRequest request);
  bool is_answered_locally(const QueuedRequest& request) const;
  void answer_locally(const QueuedRequest& request);
  void send(QueuedRequest request);
  void send_waiting();
  void on_unmatched_response(const std::string& kind, std::string_view line);
  void on_invalid_response(std::string_view line);

  std::list<QueuedRequest> open_, waiting_;
  InitState init_state_;
  bool in_multiline_ = false;  ///< the host client is inside a multi-line request
  bool unseen_ = false;
  bool host_has_begun_ = false;  ///< the host client has sent a request
  bool has_held_finalize_ = false;
  std::optional<std::string> failure_;
};

}  // namespace shim::bootstrap::pmi1
