// SPDX-License-Identifier: BSD-3-Clause
// Core is the implementation of an Engine: its lock, transports, peers and contexts, and its parts
// (docs/decisions/0058-parts-of-the-engine.md).
//
// It passes packets, calls of the engine's interfaces and rounds to the parts, and implements what
// needs several parts: a call on the slow path sends or receives, and then waits. Callers of
// functions not marked "no lock" hold the engine's lock, which is never held while a router, a
// control handler, registered work, a condition or a sleep runs.
#pragma once

#include <memory>
#include <vector>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/p2p/cancelling.hpp"
#include "shim/p2p/collective_failures.hpp"
#include "shim/p2p/context_failures.hpp"
#include "shim/p2p/context_table.hpp"
#include "shim/p2p/control_inbox.hpp"
#include "shim/p2p/eager_limits.hpp"
#include "shim/p2p/engine_lock.hpp"
#include "shim/p2p/engines.hpp"
#include "shim/p2p/failed_members.hpp"
#include "shim/p2p/links.hpp"
#include "shim/p2p/liveness.hpp"
#include "shim/p2p/output.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/peers.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/provider_matching.hpp"
#include "shim/p2p/receiving.hpp"
#include "shim/p2p/rendezvous.hpp"
#include "shim/p2p/requests.hpp"
#include "shim/p2p/sending.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/shared_copies.hpp"
#include "shim/p2p/transports.hpp"
#include "shim/p2p/unexpected_messages.hpp"
#include "shim/p2p/wait_loop.hpp"
#include "shim/p2p/wait_reporter.hpp"

namespace shim::p2p {

/// Implements an Engine.
///
/// Size: one data member for each part and for each class that the parts share, and nothing else.
class alignas(base::kCacheLineIsolation) Core final : private transport::Sink,
                                                      private OperationEnder,
                                                      private SelfDelivery,
                                                      private LivenessActions,
                                                      private RoundActions {
 public:
  explicit Core(EngineSpec engine_spec);
  ~Core() override;
  [[gnu::always_inline]] Guard enter() { return lock_.enter(); }
  EngineLock& lock() { return lock_; }

  // --- core_contexts.cpp
  Context* make_context(ContextSpec context_spec);
  void destroy_context(Context& context);
  void set_first_base(std::uint32_t base);
  void skip_base(std::uint32_t base);

  // --- core_requests.cpp
  base::Status start(SendRequest& request, Guard& guard);
  /// Start a new request for the first time, on the fast path or the slow path.
  /// @param keep_copy copy data that does not leave at once
  base::Result<Request*> begin(SendRequest& request, Guard& guard, bool keep_copy);
  /// Return the started request, or the error after releasing the request.
  template <typename OperationRequest>
  [[gnu::always_inline]] base::Result<Request*> started(base::Status status,
                                                        OperationRequest& request);
  /// Send on the slow path, and wait until the data may be reused; no lock.
  base::Status send_slowly(const MessageAddress& to, const types::ConstBuffer& data, SendMode mode);
  /// Receive on the slow path; no lock.
  [[gnu::hot]] base::Result<MessageStatus> receive(const MessageAddress& from,
                                                   const types::Buffer& into);
  /// Wait for an operation whose request the caller owns, and return its error. Afterwards no
  /// reference to the request remains. No lock.
  template <typename OperationRequest>
  [[gnu::hot]] base::Status finish(OperationRequest& request);

  // --- core_fast_path.cpp
  /// Receive on the fast path: true if the message arrived before any other work was due. If false,
  /// the caller must use the slow path, which handles all other cases. No lock.
  [[gnu::hot]] bool receive_at_once(ExpectedRecv& expected);

  // --- core_progress.cpp; no lock, unless stated otherwise
  /// Make one round for a program that tests or probes. Checks liveness by the clock, because the
  /// program may make too few rounds for the check by rounds.
  base::Status progress();
  void poll_active();
  bool is_flushed();
  bool has_handled_all_control();
  /// Receive all notices before data that was read from members is accepted. Under the lock.
  void confirm_reads(Context& context);

 private:
  // --- core_packets.cpp; on_packet: core_fast_path.cpp
  [[gnu::hot]] bool on_packet(transport::ConstSpan packet) override;
  void on_other_packet(transport::ConstSpan packet);
  void on_matched(transport::MatchedReceive& receive, transport::ConstSpan packet) override;
  void on_cancelled(transport::MatchedReceive& receive) override;
  std::optional<transport::Placement> place(transport::ConstSpan beginning,
                                            std::size_t bytes) override;
  void on_placed(transport::ConstSpan header, std::size_t payload_bytes) override;
  bool deliver_to_self(Peer& self) override;

  bool poll_under_lock(ExpectedRecv& expected);
  [[gnu::hot]] bool may_take_fast_path(const ExpectedRecv& expected);

  void end(SendRequest& request, std::optional<base::Error> error, bool cancelled) override {
    sending.end(request, std::move(error), cancelled);
  }
  void end(ReceiveRequest& request, const MessageStatus& outcome,
           std::optional<base::Error> error) override {
    receiving.end(request, outcome, std::move(error));
  }
  base::Status open_link(Peer& to, Route route) override { return links.open(to, route); }
  void complete_overdue() override;
  int poll_all(base::Status& status) override { return receiving.poll_all(true, status); }
  int progress_all(Guard& guard, bool thorough, base::Status& status) override;
  bool has_own_output() const override { return output.has_waiting() || rendezvous.has_reads(); }
  void check_liveness() override { liveness.check(); }
  void drop_all(const std::vector<StoredMessage*>& messages);

 public:
  EngineSpec spec;
  Engine::Counts counts;

 private:
  EngineLock lock_;
  const std::shared_ptr<Engines> engines_;
  const EagerLimits limits_{spec.settings};
  IdTable<SendRequest> send_ids_;

 public:
  // Shared classes, and the parts.
  Transports transports;
  ContextTable contexts{engines_->ended_bases()};
  Peers peers;
  Sending sending{{.self = spec.self,
                   .limits = limits_,
                   .transports = transports,
                   .send_ids = send_ids_,
                   .output = output,
                   .long_sends = rendezvous,
                   .polling = *this,
                   .counts = counts}};
  Receiving receiving{{.self = spec.self,
                       .may_match_in_provider = limits_.may_match_in_provider(),
                       .sink = *this,
                       .transports = transports,
                       .contexts = contexts,
                       .peers = peers,
                       .unexpected = unexpected,
                       .output = output,
                       .long_receives = rendezvous,
                       .provider = provider,
                       .refusals = collective_failures,
                       .counts = counts}};
  Output output{{.self = spec.self,
                 .transports = transports,
                 .routes = links,
                 .operations = *this,
                 .failures = liveness,
                 .counts = counts}};
  Links links{{.router = spec.router,
               .log = spec.log,
               .limits = limits_,
               .transports = transports,
               .peers = peers,
               .output = output,
               .failures = liveness,
               .counts = counts}};
  UnexpectedMessages unexpected{spec.self, spec.settings.unexpected_bytes, peers, output, counts};
  ControlInbox inbox{lock_};
  FailedMembers failed_members{*this};
  CollectiveFailures collective_failures{{.self = spec.self,
                                          .router = spec.router,
                                          .single_copy = spec.settings.single_copy,
                                          .contexts = contexts,
                                          .peers = peers,
                                          .send_ids = send_ids_,
                                          .unexpected = unexpected,
                                          .output = output,
                                          .operations = *this,
                                          .failed_ranks = failed_members,
                                          .counts = counts}};
  Cancelling cancelling{{.self = spec.self,
                         .router = spec.router,
                         .may_match_in_provider = limits_.may_match_in_provider(),
                         .transports = transports,
                         .contexts = contexts,
                         .peers = peers,
                         .send_ids = send_ids_,
                         .unexpected = unexpected,
                         .output = output,
                         .operations = *this,
                         .delivery = *this}};
  Liveness liveness{{.self = spec.self,
                     .router = spec.router,
                     .log = spec.log,
                     .may_match_in_provider = limits_.may_match_in_provider(),
                     .lock = lock_,
                     .transports = transports,
                     .contexts = contexts,
                     .peers = peers,
                     .operations = *this,
                     .collectives = collective_failures,
                     .failed_ranks = failed_members,
                     .actions = *this}};
  ProviderMatching provider{{.self = spec.self,
                             .is_enabled = limits_.may_match_in_provider(),
                             .transports = transports,
                             .peers = peers,
                             .routes = links,
                             .operations = *this,
                             .receives = receiving,
                             .counts = counts}};
  const WaitReporter reporter{spec.reports, spec.settings.report_after, spec.router, spec.log};
  WaitLoop loop{{.lock = lock_,
                 .transports = transports,
                 .engines = *engines_,
                 .reporter = reporter,
                 .actions = *this},
                spec.settings,
                spec.is_oversubscribed};
  SharedCopies shared_copies{{.router = spec.router,
                              .send_ids = send_ids_,
                              .output = output,
                              .failures = liveness,
                              .reads = rendezvous,
                              .load = loop,
                              .reporter = reporter,
                              .counts = counts}};
  Rendezvous rendezvous{{.single_copy = spec.settings.single_copy,
                         .log = spec.log,
                         .send_ids = send_ids_,
                         .output = output,
                         .routes = links,
                         .operations = *this,
                         .failures = liveness,
                         .sharing = shared_copies,
                         .load = loop,
                         .counts = counts}};
};

/// A call that waits for one operation.
class RequestSubject final : public WaitSubject {
 public:
  explicit RequestSubject(const Request& request) : request_(request) {}
  void describe(WaitDescription& description) const override {
    if (const auto awaited = request_.awaited()) description.awaited.push_back(*awaited);
  }

 private:
  const Request& request_;
};

inline void abandon(Core& core, SendRequest& request) { core.sending.abandon(request); }
inline void abandon(Core& core, ReceiveRequest& request) { core.receiving.abandon(request); }

/// Wait until condition() holds, which the process of from.rank makes true, and which is evaluated
/// under the lock. Fail once no message with this address can arrive. No lock.
template <typename Condition>
base::Status await_from(Core& core, const MessageAddress& from, const Condition& condition,
                        WaitSubject& subject) {
  const Liveness::AwaitedSource awaited(core.liveness, from);
  std::optional<base::Error> failure;
  auto waited = core.loop.wait(
      [&] {
        Guard guard = core.enter();
        if (condition()) return true;
        if (const base::Error* reason = failure_of(from)) failure = reason->clone();
        return failure.has_value();
      },
      subject);
  if (failure) return std::move(*failure);
  if (!waited) return std::move(waited).error();
  return {};
}

template <typename OperationRequest>
base::Status Core::finish(OperationRequest& request) {
  if (!request.is_done()) {
    // the request is on its owner's stack: detach it even if an exception ends the wait
    struct Abandoned {
      Core& core;
      OperationRequest& request;
      ~Abandoned() {
        if (request.is_done()) return;
        Guard guard = core.enter();
        if (!request.is_done()) abandon(core, request);
      }
    } abandoned{*this, request};
    RequestSubject subject(request);
    SHIM_TRY(loop.wait([&] { return request.is_done(); }, subject));
  }
  if (request.error() != nullptr) [[unlikely]]
    return request.take_error();
  return {};
}

template <typename OperationRequest>
inline base::Result<Request*> Core::started(base::Status status, OperationRequest& request) {
  if (status) return &request;
  request.complete({}, std::nullopt);
  request.dispose();
  return std::move(status).error();
}

}  // namespace shim::p2p
