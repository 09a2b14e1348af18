// SPDX-License-Identifier: BSD-3-Clause
// Core is the implementation of an Engine: its lock, transports, peers and contexts, its parts
// (docs/decisions/0058-parts-of-the-engine.md), and by source file what is no part yet: sending,
// output, receiving. Callers of functions not marked "no lock" hold the engine's lock, which is
// never held while a router, a control handler, registered work, a condition or a sleep runs.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/p2p/cancelling.hpp"
#include "shim/p2p/collective_failures.hpp"
#include "shim/p2p/context_failures.hpp"
#include "shim/p2p/context_table.hpp"
#include "shim/p2p/control_inbox.hpp"
#include "shim/p2p/engine_lock.hpp"
#include "shim/p2p/engines.hpp"
#include "shim/p2p/failed_members.hpp"
#include "shim/p2p/liveness.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/peers.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/provider_matching.hpp"
#include "shim/p2p/rendezvous.hpp"
#include "shim/p2p/requests.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/shared_copies.hpp"
#include "shim/p2p/transports.hpp"
#include "shim/p2p/unexpected_messages.hpp"
#include "shim/p2p/wait_loop.hpp"
#include "shim/p2p/wait_reporter.hpp"

namespace shim::p2p {

struct WholeMessage;

class alignas(base::kCacheLineIsolation) Core final : private transport::Sink,
                                                      private PacketOutput,
                                                      private OperationEnder,
                                                      private SelfDelivery,
                                                      private LivenessActions,
                                                      private ProviderReceives,
                                                      private RoundActions {
 public:
  explicit Core(EngineSpec engine_spec);
  ~Core();
  [[gnu::always_inline]] Guard enter() { return lock_.enter(); }
  EngineLock& lock() { return lock_; }
  void add_transport(transport::Transport& transport) { transports_.add(transport); }
  std::vector<Engine::TransportCounts> transport_counts() const { return transports_.counts(); }

  // --- core_contexts.cpp
  Context* make_context(ContextSpec context_spec);
  void retain(Context& context) { context.retain(); }
  void drop(Context& context) { context.drop(); }
  void destroy_context(Context& context);
  void set_first_base(std::uint32_t base);
  void skip_base(std::uint32_t base);

  // --- core_peers.cpp
  Peer& peer(base::ProcessId process) { return peers_.at(process); }
  Peer& peer(Context& context, int rank) { return peers_.at(context, rank); }
  /// Find the link to a peer unless it is known; releases the lock meanwhile. Errors: the router's,
  /// the transport's.
  base::Status route(Peer& peer, Guard& guard);
  /// Return a peer that can be sent to now, or the error.
  base::Result<Peer*> usable_peer(Context& context, int rank, Guard& guard);

  // --- core_output.cpp
  /// Send a packet, or queue it; the request, if any, is notified when the packet has left.
  template <typename Header>
  void transmit(Peer& to, const Header& header, SendRequest* request = nullptr) {
    transmit_bytes(to, wire::bytes_of(header), request);
  }
  bool deliver_to_self(Peer& self) override;
  int push(Peer& to);  ///< returns the number of packets moved
  void push_data(Peer& to) override { push(to); }
  int push_all();
  bool has_output() const { return !busy_.empty(); }

  // --- core_send.cpp
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int rank,
                                 int tag, Plane plane);
  /// Send at once, and set inline_sent for a later cancellation.
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int rank,
                                 int tag, InlineSent& inline_sent);
  [[gnu::hot]] bool send_at_once(SendRequest& request);
  /// Send on the slow path, and wait until the data may be reused; no lock.
  base::Status send_slowly(const MessageAddress& to, const types::ConstBuffer& data, SendMode mode);
  /// See Engine::request_of.
  Request* request_of(Context& context, const InlineSent& inline_sent);
  base::Status start(SendRequest& request, Guard& guard);
  /// Start a new request for the first time, on the fast path or the slow path.
  /// @param keep_copy copy data that does not leave at once
  base::Result<Request*> begin(SendRequest& request, Guard& guard, bool keep_copy);
  void abandon(SendRequest& request);

  /// Return the started request, or the error after releasing the request.
  template <typename PolledRequest>
  [[gnu::always_inline]] base::Result<Request*> started(base::Status status,
                                                        PolledRequest& request);

  // --- core_receive.cpp
  /// Receive on the fast path: true if the message arrived before any other work was due. If false,
  /// the caller must use the slow path, which handles all other cases.
  [[gnu::hot]] bool receive_at_once(ExpectedRecv& expected);
  bool poll_once(ExpectedRecv& expected);
  /// Receive on the slow path; no lock.
  [[gnu::hot]] base::Result<MessageStatus> receive(const MessageAddress& from,
                                                   const types::Buffer& into);
  /// Receive without waiting: take the message if it is the next one from its source and no other
  /// receive is posted for that source. If false, the slow path is needed and `received` is
  /// unchanged.
  bool receive_if_arrived(const MessageAddress& from, const types::Buffer& into,
                          MessageStatus& received);
  bool serve_posted(Context& context, Matching& matching, int source);
  /// True if serve_posted() polls and no receive is posted for its source any more: its poll stops.
  bool is_served() const { return served_ != nullptr && !served_->has_posted_for(served_source_); }
  /// True if many receives in a row found their messages without a progress round; then make one.
  bool is_round_due() { return ++immediate_receives_ % kMaxImmediateReceives == 0; }
  [[gnu::hot]] base::Status start(ReceiveRequest& request);
  [[gnu::hot]] base::Status find_or_post(ReceiveRequest& request);
  void start_matched(ReceiveRequest& request, StoredMessage& message);
  void abandon(ReceiveRequest& request);
  void cancel(ReceiveRequest& request);

  // --- core_probe.cpp
  /// Return the first message that a user-plane receive would match now; null if there is none.
  StoredMessage* find_message(Context& context, int source, int tag);
  /// Remove a message from matching, for mrecv.
  void take_message(Context& context, StoredMessage& message);
  /// Wait until condition() holds, which is evaluated under the lock and depends on this rank's
  /// process; fail once a message can no longer arrive. No lock.
  template <typename Come>
  base::Status await_from(const MessageAddress& from, const Come& condition, WaitSubject& subject);
  /// Wait for a matching message and call visit(Message&) under the lock. No lock.
  template <typename Visit>
  base::Status await_message(Context& context, int source, int tag, const Visit& visit);
  /// Like await_message without waiting; false if there is no message.
  template <typename Visit>
  base::Result<bool> probe_once(Context& context, int source, int tag, const Visit& visit);

  // --- core_control.cpp
  void queue_control(Peer& to, std::vector<std::byte> bytes);
  ControlInbox& inbox() { return inbox_; }

  /// Receive all notices before data that was read from members is accepted.
  void confirm_reads(Context& context);

  // --- core_progress.cpp; no lock
  /// Make one round for a program that tests or probes. Checks liveness by the clock, because the
  /// program may make too few rounds for the check by rounds.
  base::Status progress();
  void poll_active();
  bool is_flushed();
  bool has_handled_all_control();
  void release_ownership() { lock_.release_ownership(); }
  /// Wait for an operation whose request the caller owns, and return its error. Afterwards no
  /// reference to the request remains.
  template <typename PolledRequest>
  [[gnu::hot]] base::Status finish(PolledRequest& request);

  EngineSpec spec;
  Engine::Counts counts;
  Pool<SendRequest> sends;
  Pool<ReceiveRequest> receives;
  std::uint64_t unfinished_released = 0;  ///< released sends that only the engine completes
  /// receives that the program freed while they were active
  std::unordered_set<const ReceiveRequest*> freed_receives;

  // --- requests.cpp
  void record_freed_receive(ReceiveRequest& request);
  bool has_no_freed_receives();                        ///< no lock
  bool has_no_freed_receives(const Context& context);  ///< no lock

 private:
  [[gnu::hot]] bool on_packet(transport::ConstSpan packet) override;
  void on_matched(transport::MatchedReceive& receive, transport::ConstSpan packet) override {
    provider.on_matched(receive, packet);
  }
  void on_cancelled(transport::MatchedReceive& receive) override { provider.on_cancelled(receive); }
  std::optional<transport::Placement> place(transport::ConstSpan beginning,
                                            std::size_t bytes) override {
    return rendezvous.place(beginning, bytes);
  }
  void on_placed(transport::ConstSpan header, std::size_t payload_bytes) override {
    rendezvous.on_placed(header, payload_bytes);
  }
  void handle_packet(transport::ConstSpan packet);
  void on_message(const MessageInfo& info, base::ContextId id);
  void on_whole_message(const WholeMessage& message);
  void deliver_posted(PostedReceive& posted, const MessageInfo& info, Context& context);
  void deliver_whole(PostedReceive& posted, const WholeMessage& message, Context& context);
  bool match_expected(const wire::EagerWords& message, transport::ConstSpan payload, bool is_whole);
  void on_finished(const wire::Finished& header);
  void on_control(const wire::Control& header, transport::ConstSpan payload);

  void drop_all(const std::vector<StoredMessage*>& messages);
  base::Status open_link(Peer& to, Route route) override;
  void complete_overdue() override;
  int poll_all(base::Status& status) override { return poll_all(true, status); }
  void route_waiting(Guard& guard);
  void transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request) override;
  void mark_busy(Peer& to);
  void request_route(Peer& to) override;
  [[gnu::hot]] base::Result<transport::Attempt> send_packet(Peer& to, transport::ConstSpan header,
                                                            transport::ConstSpan payload);
  base::Result<transport::Attempt> send_front(Peer& to);
  base::Result<transport::Attempt> send_control_part(Peer& to);
  base::Result<transport::Attempt> send_next_data(Peer& to);
  base::Result<transport::Attempt> send_part(Peer& to, SendRequest& request,
                                             const wire::Data& header, std::uint64_t bytes);
  base::Result<int> push_some(Peer& to);

  void on_flow(const wire::Flow& header);
  void announce_queued(Peer& to);
  void set_eager_end(Peer& to);

  bool send_over_provider(Context& context, const types::ConstBuffer& data, int rank, int tag,
                          Plane plane, std::uint64_t number);
  bool send_over_provider(SendRequest& request);
  wire::Eager header_for(wire::PacketType kind, const Context& context, int rank, int tag,
                         Plane plane, std::uint64_t bytes) const;
  bool is_poll_due(std::uint64_t sent);
  void poll_after_sends();
  template <typename Header>
  bool try_eager(Peer& to, const Header& header, transport::ConstSpan data);
  template <typename Header>
  bool try_eager(Peer& to, const Header& header, const types::ConstBuffer& data);
  template <typename Header>
  bool try_eager_packed(Peer& to, const Header& header, const types::ConstBuffer& data);
  void count_eager_send(std::uint64_t bytes);
  Peer* clear_peer(Context& context, int rank, std::uint64_t bytes) const;
  void number(SendRequest& request, Peer& to);
  void on_sent(SendRequest& request);
  void end(SendRequest& request, std::optional<base::Error> error, bool cancelled = false) override;
  void deliver(ReceiveRequest& request, const MessageInfo& info, Context& context) override;
  base::Status restart(ReceiveRequest& request) override { return start(request); }
  void post(ReceiveRequest& request);
  transport::Matcher* matcher_for(const Peer& to, const wire::Eager& message) const;
  void end(ReceiveRequest& request, const MessageStatus& outcome,
           std::optional<base::Error> error) override;
  void unlink(SendRequest& request);
  void unlink(ReceiveRequest& request);
  int progress_all(Guard& guard, bool thorough, base::Status& status) override;
  bool has_own_output() const override { return has_output() || rendezvous.has_reads(); }
  void check_liveness() override { liveness.check(); }
  [[gnu::hot]] int poll_all(bool thorough, base::Status& status);
  [[gnu::hot]] bool may_take_fast_path(const ExpectedRecv& expected);
  [[gnu::hot]] bool is_other_engine_due();
  [[gnu::hot]] int poll_for(const ExpectedRecv& expected, base::Status& status);
  void log(base::LogLevel level, const std::string& text) const;
  void warn(const std::string& text) const { log(base::LogLevel::warn, text); }

  EngineLock lock_;
  Transports transports_;
  const std::shared_ptr<Engines> engines_;
  ContextTable contexts_{engines_->ended_bases()};
  const wire::SenderNumber origin_;     ///< this process
  std::uint64_t bytes_since_poll_ = 0;  ///< bytes sent since the last complete poll
  IdTable<SendRequest> send_ids_;
  std::uint64_t messages_numbered_ = 0;  ///< number of the last message

  Peers peers_;
  UnexpectedMessages unexpected_{spec.self, spec.settings.unexpected_bytes, peers_, *this, counts};
  std::vector<Peer*> busy_;
  std::vector<Peer*> unrouted_;

  const bool may_match_in_provider_;  ///< transports may match

  ControlInbox inbox_{lock_};

  ExpectedRecv* expected_ = nullptr;  ///< the receive that polls on the fast path
  /// queues of the receives that serve_posted() polls for; null while it does not poll
  const Matching* served_ = nullptr;
  int served_source_ = 0;
  unsigned posted_behind_others_ = 0;
  int fast_paths_in_a_row_ = 0;  ///< fast-path receives since all transports were polled
  // A round stores messages as unexpected although the program would soon receive them at lower
  // cost, so rounds are rare here.
  static constexpr std::uint32_t kMaxImmediateReceives = 512;
  /// calls that may have received a message without a round
  std::uint32_t immediate_receives_ = 0;

 public:
  // The parts that the engine's interfaces call directly; last, because they use the members above.
  FailedMembers failed_members{*this};
  CollectiveFailures collective_failures{{.self = spec.self,
                                          .router = spec.router,
                                          .single_copy = spec.settings.single_copy,
                                          .contexts = contexts_,
                                          .peers = peers_,
                                          .send_ids = send_ids_,
                                          .unexpected = unexpected_,
                                          .output = *this,
                                          .operations = *this,
                                          .failed_ranks = failed_members,
                                          .counts = counts}};
  Cancelling cancelling{{.self = spec.self,
                         .router = spec.router,
                         .may_match_in_provider = may_match_in_provider_,
                         .transports = transports_,
                         .contexts = contexts_,
                         .peers = peers_,
                         .send_ids = send_ids_,
                         .unexpected = unexpected_,
                         .output = *this,
                         .operations = *this,
                         .delivery = *this}};
  Liveness liveness{{.self = spec.self,
                     .router = spec.router,
                     .log = spec.log,
                     .may_match_in_provider = may_match_in_provider_,
                     .lock = lock_,
                     .transports = transports_,
                     .contexts = contexts_,
                     .peers = peers_,
                     .operations = *this,
                     .collectives = collective_failures,
                     .failed_ranks = failed_members,
                     .actions = *this}};
  ProviderMatching provider{{.self = spec.self,
                             .is_enabled = may_match_in_provider_,
                             .transports = transports_,
                             .peers = peers_,
                             .operations = *this,
                             .receives = *this,
                             .counts = counts}};
  const WaitReporter reporter{spec.reports, spec.settings.report_after, spec.router, spec.log};
  WaitLoop loop{{.lock = lock_,
                 .transports = transports_,
                 .engines = *engines_,
                 .reporter = reporter,
                 .actions = *this},
                spec.settings,
                spec.is_oversubscribed};
  SharedCopies shared_copies{{.router = spec.router,
                              .send_ids = send_ids_,
                              .output = *this,
                              .failures = liveness,
                              .reads = rendezvous,
                              .load = loop,
                              .counts = counts}};
  Rendezvous rendezvous{{.single_copy = spec.settings.single_copy,
                         .log = spec.log,
                         .send_ids = send_ids_,
                         .output = *this,
                         .operations = *this,
                         .failures = liveness,
                         .sharing = shared_copies,
                         .load = loop,
                         .counts = counts}};
};

// Bytes sent between two polls, so that a throttle request of an overloaded receiver is seen in
// time. A message counts at least as much as it costs the receiver.
inline constexpr std::uint64_t kMaxBytesBetweenPolls = 256 * 1024, kMinMessageCost = 512;

[[gnu::always_inline]] inline bool Core::is_poll_due(std::uint64_t sent) {
  return (bytes_since_poll_ += sent + kMinMessageCost) > kMaxBytesBetweenPolls;
}

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

template <typename PolledRequest>
base::Status Core::finish(PolledRequest& request) {
  if (!request.is_done()) {
    // the request is on its owner's stack: detach it even if an exception ends the wait
    struct Abandoned {
      Core& core;
      PolledRequest& request;
      ~Abandoned() {
        if (request.is_done()) return;
        Guard guard = core.enter();
        if (!request.is_done()) core.abandon(request);
      }
    } abandoned{*this, request};
    RequestSubject subject(request);
    SHIM_TRY(loop.wait([&] { return request.is_done(); }, subject));
  }
  if (request.error() != nullptr) [[unlikely]]
    return request.take_error();
  return {};
}

template <typename PolledRequest>
inline base::Result<Request*> Core::started(base::Status status, PolledRequest& request) {
  if (status) return &request;
  request.complete({}, std::nullopt);
  request.dispose();
  return std::move(status).error();
}

}  // namespace shim::p2p
