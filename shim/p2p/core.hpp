// SPDX-License-Identifier: BSD-3-Clause
// The inside of an engine. Functions are grouped by the file that holds them; all but those marked "no lock" are called with
// the engine's lock held, which enter() takes. The lock is never held while a router, a control handler, registered work, a
// condition or a sleep runs.
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

#include "shim/base/apart.hpp"
#include "shim/base/biased_lock.hpp"
#include "shim/p2p/backoff.hpp"
#include "shim/p2p/context_table.hpp"
#include "shim/p2p/engines.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/peer.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/progress_work.hpp"
#include "shim/p2p/requests.hpp"
#include "shim/p2p/turn.hpp"

namespace shim::p2p {

struct WholeMessage;

class alignas(base::kApart) Core final : private transport::Sink {
 public:
  explicit Core(EngineSpec engine_spec);
  ~Core();
  [[gnu::hot]] Guard enter() {
    Guard guard(lock_);
    if (sleepers() != 0) several_threads_ = true;
    return guard;
  }
  /// The same for one who does not give the lock back before the end.
  class Inside {
   public:
    explicit Inside(Core& core) : lock_(core.lock_) {
      if (core.sleepers() != 0) [[unlikely]] core.several_threads_ = true;
    }

   private:
    std::lock_guard<base::BiasedLock> lock_;
  };
  void add_transport(transport::Transport& transport);
  std::vector<Engine::TransportCounts> transport_counts() const;

  // --- contexts.cpp
  Context* make_context(ContextSpec context_spec);
  void retain(Context& context) { ++context.references; }
  void drop(Context& context) {
    if (--context.references == 0) [[unlikely]] take_away(context);
  }
  void set_first_base(std::uint32_t base);
  void skip_base(std::uint32_t base);

  // --- back_pressure.cpp
  /// A message that nobody has asked for yet. Where there are many, its sender is told to keep the next ones.
  Message* keep(const Arrival& arrival, Plane plane);
  /// What keep() gave is used up.
  void free_message(Message& message);

  // --- peers.cpp
  Peer& peer(base::ProcessId process);
  [[gnu::hot]] Peer& peer(Context& context, int rank);
  /// Finds the way to a peer unless it is known; gives the lock back meanwhile. Errors: the router's, the transport's.
  base::Status route(Peer& peer, Guard& guard);
  /// A peer that something can be sent to now, or why not.
  base::Result<Peer*> usable_peer(Context& context, int rank, Guard& guard);

  // --- output.cpp
  /// Sends a packet, or queues it; the request, if any, is told when it has left.
  template <typename Header>
  void transmit(Peer& to, const Header& header, SendRequest* request = nullptr) {
    transmit_bytes(to, wire::bytes_of(header), request);
  }
  int push(Peer& to);  ///< answers how much moved
  int push_all();
  bool has_output() const { return !busy_.empty(); }

  // --- send.cpp
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int rank, int tag, Plane plane);
  // The same, and the message can be asked for back later.
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int rank, int tag, Departed& departed);
  [[gnu::hot]] bool send_at_once(SendRequest& request);
  /// See Engine::request_of.
  Request* request_of(Context& context, const Departed& departed);
  base::Status start(SendRequest& request, Guard& guard);
  /// The first start of a request that is new, the short way or the long one.
  /// @param keep_copy of data that does not leave at once
  base::Result<Request*> begin(SendRequest& request, Guard& guard, bool keep_copy);
  void abandon(SendRequest& request);

  /// What a function that starts a request answers: the request, or the error with the request given back.
  template <typename OwnRequest>
  base::Result<Request*> started(base::Status status, OwnRequest& request);

  // --- receive.cpp
  /// The short way: true when the message has come before anything else had to be done. False: take the long way, which meets
  /// whatever was in the way here.
  [[gnu::hot]] bool receive_at_once(Awaited& awaited);
  bool look_once(Awaited& awaited);
  [[gnu::hot]] base::Result<Outcome> receive(const Address& from, const types::Buffer& into);  ///< the long way; no lock
  /// For a receive that does not wait: takes its message if that is the next to come from its source, and no other receive waits for
  /// those. False: it is not, or the long way is needed; `received` is as it was.
  bool receive_what_has_come(const Address& from, const types::Buffer& into, Outcome& received);
  bool serve_posted(Context& context, Matching& matching, int source);
  bool is_served() const { return served_ != nullptr && !served_->has_posted_for(served_source_); }
  /// Have many receives found their messages without a round of progress? Then one shall wait for a round.
  bool is_turn_of_others() { return ++taken_at_once_ % kTakenInARow == 0; }
  [[gnu::hot]] base::Status start(ReceiveRequest& request);
  [[gnu::hot]] base::Status find_or_post(ReceiveRequest& request);
  void start_matched(ReceiveRequest& request, Message& message);
  void abandon(ReceiveRequest& request);
  void cancel(ReceiveRequest& request);
  /// Why no message from this source can come any more; null where one can.
  const base::Error* failure_of(Context& context, int source);

  // --- cancel.cpp
  void cancel(SendRequest& request);
  /// Recalled messages whose receiver takes no packets any more stay with it.
  void give_up_recalls();

  // --- rendezvous.cpp
  void begin_long(ReceiveRequest& request, const Arrival& arrival, Peer& from);
  int read_some();

  // --- below.cpp
  /// For a probe that has found nothing: true where what it looks for may be with a transport that matches, which then hands it over.
  bool look_below(Context& context, int source);

  // --- shared_copy.cpp
  int write_some();

  // --- probe.cpp
  /// The first message that a receive of the user plane would get now; null if none.
  Message* find_message(Context& context, int source, int tag);
  /// Takes a message out of matching for mrecv.
  void take_message(Context& context, Message& message);
  /// Waits for what this rank's process brings about, which has_come() tells under the lock; for no longer than it may come.  No lock.
  template <typename Come>
  base::Status await_from(const Address& from, const Come& has_come);
  /// Waits for such a message and shows it to visit(Message&) under the lock.  No lock.
  template <typename Visit>
  base::Status await_message(Context& context, int source, int tag, const Visit& visit);

  // --- control.cpp
  void queue_control(Peer& to, std::vector<std::byte> bytes);
  void handle_control();  ///< no lock
  void set_control_handler(ControlHandler handler);  ///< no lock

  // --- liveness.cpp
  /// The process is gone: everything that depends on it ends with this reason, now and later.
  void fail(Peer& gone, const base::Error& reason);
  void lose_way(Peer& from, const base::Error& why);
  /// Why the last way to a process was given up; null where there is another, or was none.
  const base::Error* why_lost(base::ProcessId process) const;
  /// See Engine::forget.
  void forget(base::ProcessId process, const base::Error& reason);
  /// A link refused a packet for good.
  void on_send_error(Peer& to, const base::Error& reason);
  void check_liveness();  ///< no lock

  // --- collective_failure.cpp
  /// See Engine::fail_collectives.
  void fail_collectives(Context& context, const base::Error& reason);
  /// Why a receive from there cannot succeed any more; null where it can.
  const base::Error* failure_of(const Address& from);
  void note_refusal(Context& context, bool is_lasting, const base::Error& reason);
  /// Tells the members about a call after a refusal, and looks at what they have told.
  void check_turn(Context& context, int tag);
  bool has_told_failures() const;
  void confirm_reads(Context& context);

  // --- wait.cpp; all no lock
  /// One round; answers how much moved. Thorough: asks every transport.
  [[gnu::hot]] base::Result<int> round(bool thorough);
  /// What whoever waits does once it has waited in vain for a moment.
  void rest(Backoff& backoff, Backoff::Step step, const transport::Transport::LastLook& last_look);
  void nap(Backoff& backoff, const transport::Transport::LastLook& last_look);
  void run_before_sleep();
  /// Makes rounds until done() or the deadline, which answers false.
  template <typename Done>
  [[gnu::hot]] base::Result<bool> wait(const Done& done, base::Deadline deadline = base::Deadline::never());
  bool is_flushed();
  bool has_heard_all();
  void change_hands() { lock_.change_hands(); }
  void set_crowded(bool is_crowded) { is_crowded_.store(is_crowded, std::memory_order_relaxed); }
  const WaitPlan& plan() const { return is_crowded_.load(std::memory_order_relaxed) ? plans_.crowded : plans_.with_cores_free; }
  /// For a thread that waits in another engine of the process: a round, unless other threads see to this one. Answers how much moved.
  int visit(bool before_sleep);
  /// Return the number of threads that sleep in it; a hint without the lock.
  int sleepers() const { return sleepers_.load(std::memory_order_relaxed); }
  void look();  ///< no lock
  /// Waits for an operation whose request is the caller's own, and answers its error. Afterwards nothing refers to the request.
  template <typename OwnRequest>
  [[gnu::hot]] base::Status finish(OwnRequest& request);

  EngineSpec spec;
  Engine::Counts counts;
  Pool<SendRequest> sends;
  Pool<ReceiveRequest> receives;
  ProgressWork work;
  std::uint64_t unfinished_released = 0;  ///< sends that nobody but the engine will see to their end
  std::unordered_set<const ReceiveRequest*> owed;  ///< receives that the program has freed while they were active

  // --- requests.cpp
  void note_owed(ReceiveRequest& request);
  bool owes_nothing();                        ///< no lock
  bool owes_nothing(const Context& context);  ///< no lock

 private:
  struct Polled {
    transport::Transport* transport;
    int silent = 0;  ///< polls in a row that brought nothing, up to a limit
    int skip = 0;    ///< rounds until it is asked again
  };
  struct Probing {
    Address from;
  };
  struct ControlMessage {
    base::ProcessId from;
    std::vector<std::byte> bytes;
  };

  [[gnu::hot]] bool on_packet(transport::ConstSpan packet) override;
  [[gnu::hot]] void on_matched(transport::MatchedReceive& receive, transport::ConstSpan packet) override;
  void on_withdrawn(transport::MatchedReceive& receive) override;
  std::optional<transport::Placement> place(transport::ConstSpan beginning, std::size_t bytes) override;
  void on_placed(transport::ConstSpan header, std::size_t payload_bytes) override;
  void take_packet(transport::ConstSpan packet);
  void on_message(const Arrival& arrival, base::ContextId id);
  Message* take_unmatched(base::ContextId id, const wire::Cancel& wanted);
  void on_whole_message(const WholeMessage& message);
  void deliver_posted(Posted& posted, const Arrival& arrival, Context& context);
  void deliver_whole(Posted& posted, const WholeMessage& message, Context& context);
  bool take_awaited(const wire::EagerWords& message, transport::ConstSpan payload, bool is_whole);
  void on_clear_to_send(const wire::ClearToSend& header);
  void on_finished(const wire::Finished& header);
  void on_cancel(const wire::Cancel& header);
  void answer_recall(const wire::Cancel& wanted);
  void on_cancelled(const wire::Cancelled& header);
  ReceiveRequest* receiver_of(const wire::Data& header, std::size_t payload_bytes);
  void on_data(const wire::Data& header, transport::ConstSpan payload);
  void note_data(ReceiveRequest& request, std::size_t bytes);
  void on_control(const wire::Control& header, transport::ConstSpan payload);

  void take_away(Context& context);
  void drop_all(const std::vector<Message*>& messages);
  base::Status open_link(Peer& to, Route route);
  void route_waiting(Guard& guard);
  void transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request);
  void mark_busy(Peer& to);
  void skip_no_transport();
  void want_route(Peer& to);
  [[gnu::hot]] base::Result<transport::Attempt> give(Peer& to, transport::ConstSpan header, transport::ConstSpan payload);
  base::Result<transport::Attempt> send_front(Peer& to);
  base::Result<transport::Attempt> send_control_part(Peer& to);
  base::Result<transport::Attempt> send_next_data(Peer& to);
  base::Result<transport::Attempt> send_part(Peer& to, SendRequest& request, const wire::Data& header, std::uint64_t bytes);
  base::Result<int> push_some(Peer& to);

  void on_flow(const wire::Flow& header);
  void hold_back(Peer& from);
  void let_go_ahead();
  void announce_queued(Peer& to);
  void tell(Peer& from, wire::Kind what);
  void set_eager_end(Peer& to);

  bool is_sent_short(const Context& context, base::ContextId id, std::uint64_t number, std::uint64_t bytes) const;
  wire::Eager header_for(wire::Kind kind, const Context& context, int rank, int tag, Plane plane, std::uint64_t bytes) const;
  bool is_time_to_look(std::uint64_t sent);
  void look_at_what_has_come();
  void expect_answer(SendRequest& request);
  wire::ReadyToSend announcement(SendRequest& request);
  template <typename Header>
  bool try_eager(Peer& to, const Header& header, transport::ConstSpan data);
  template <typename Header>
  bool try_eager(Peer& to, const Header& header, const types::ConstBuffer& data);
  template <typename Header>
  bool try_eager_packed(Peer& to, const Header& header, const types::ConstBuffer& data);
  void note_eager_sent(std::uint64_t bytes);
  Peer* clear_peer(Context& context, int rank, std::uint64_t bytes) const;
  void number(SendRequest& request, Peer& to);
  void on_sent(SendRequest& request);
  void end(SendRequest& request, std::optional<base::Error> error, bool cancelled = false);
  void deliver(ReceiveRequest& request, const Arrival& arrival, Context& context);
  void post(ReceiveRequest& request);
  transport::Matcher* matcher() const;
  transport::Matcher* matcher_for(const Peer& to, const wire::Eager& message) const;
  [[gnu::hot]] bool may_come_from_below(Context& context, int source, Plane plane);
  bool post_below(ReceiveRequest& request);
  bool start_below(ReceiveRequest& request);
  void note_gathered(ReceiveRequest& request);
  void note_not_gathered(ReceiveRequest& request);
  transport::Gathering due_gathering(const transport::Matcher& below);
  bool is_way_known(Gathered& gathered);
  bool move_below(Gathered& gathered);
  void move_below(const transport::Matcher& below);
  [[gnu::hot]] void serve_below();
  void leave_below(ReceiveRequest& request);
  bool recall_from_below(const wire::Cancel& wanted);
  void decide_own(SendRequest& request);
  void answer_recalls(const transport::Matcher& below);
  void end(ReceiveRequest& request, const Outcome& outcome, std::optional<base::Error> error);
  void end_long(ReceiveRequest& request);
  void unlink(SendRequest& request);
  void unlink(ReceiveRequest& request);
  void ask_for_data(ReceiveRequest& request);
  bool may_be_streamed(const SendRequest& request) const;
  bool is_streamed(const ReceiveRequest& request) const;
  transport::RemoteMemory offer(SendRequest& request);
  bool may_read(const ReceiveRequest& request) const;
  bool may_read_on(const ReceiveRequest& request) const;
  bool read_chunk(ReceiveRequest& request);
  base::Result<transport::Attempt> read_on(ReceiveRequest& request);
  bool read_offered(ReceiveRequest& request);
  bool end_if_read(ReceiveRequest& request);
  bool give_up_reading(ReceiveRequest& request, const base::Error* why);
  bool is_for_two(const ReceiveRequest& request) const;
  bool begin_sharing(ReceiveRequest& request);
  enum class Sharing : std::uint8_t { waits, moved, over };
  Sharing copy_shared(ReceiveRequest& request);
  void read_now(ReceiveRequest& waiting);
  void end_sharing(ReceiveRequest& request);
  void give_up_sharing(Peer& from);
  void stop_sharing(ReceiveRequest& request);
  bool write_parts(const wire::Share& share);
  void on_share(const wire::Share& header);

  void end_collective_receives(Context& context);
  void end_collective_sends(Context& context);
  ReceiveRequest* find_matched_receive(const Context& context);
  SendRequest* find_collective_send(const Context& context);
  void tell_members(Context& context);
  wire::Origin failed_member(const Context& context) const;
  void on_collectives_failed(const wire::CollectivesFailed& notice);
  void on_call_after_refusal(const wire::CallAfterRefusal& notice);
  void settle_disputes(Context& context);
  void look_at_disputes();
  template <typename Notice>
  void transmit_to_members(Context& context, Notice notice);
  void take_notice(Context& context, const wire::CollectivesFailed& notice);
  void take_early_notices(Context& context);
  void drop_early_notices();
  /// True if nothing else waits to be sent to it: no answer that the process waits for.
  static bool has_only_notices(const Peer& to);

  struct Concerns;
  Concerns concerns();
  void add_concern(Concerns& concerns, const Context& context, int source) const;
  void add_members(Concerns& concerns, const Context& context) const;
  struct Round {
    int moved = 0;
    bool is_time_to_look_around = false;
    base::Status status;
  };
  [[gnu::hot]] Round make_round(Guard& guard, bool thorough);  ///< gives the lock back
  [[gnu::hot]] int poll_all(bool thorough, base::Status& status);
  bool is_attended_to();
  void count_sleepers(int by) { sleepers_.store(sleepers() + by, std::memory_order_relaxed); }
  void change_sleepers(int by);  ///< no lock
  /// How one sleeps here.
  struct Bed {
    transport::Transport* transport = nullptr;  ///< whose packets wake; null: nobody's
    std::array<int, transport::kMostDescriptors> descriptors{};
    std::size_t count = 0;   ///< of them
    bool is_blind = false;   ///< packets may come that do not wake
    bool has_come = false;   ///< something has come, from oneself
  };
  Bed make_bed();
  [[gnu::hot]] bool may_take_short_way(const Awaited& awaited);
  [[gnu::hot]] bool is_turn_of_other_engines();
  [[gnu::hot]] int poll_for(const Awaited& awaited, base::Status& status);
  void end_all(Peer& with, const base::Error& reason);
  void note_failure(Context& context, Peer& gone, bool has_died);
  void take_what_has_come();
  bool is_cut_off(base::ProcessId process) const;
  std::vector<base::ProcessId> losers() const;
  bool has_losses() const;
  void find_ways(const Concerns& watched, Guard& guard);
  void note_late_losses();
  void end_hopeless(Context& context);
  template <typename Do>
  void for_each_retained(const Do& act);
  void say(base::LogLevel level, const std::string& text) const;
  void warn(const std::string& text) const { say(base::LogLevel::warn, text); }

  /// A message that its sender wants back, and the sweep that has gathered it if it was below.
  struct Recall {
    wire::Cancel wanted;
    std::uint64_t sweep;
  };

  base::BiasedLock lock_;
  std::vector<Polled> transports_;
  const std::shared_ptr<Engines> engines_;
  ContextTable contexts_{engines_->ended_bases()};
  Pool<Message> messages_;
  std::uint64_t unexpected_bytes_ = 0;  ///< what these take
  std::vector<Peer*> held_back_;        ///< who has been told to keep its messages, failed ones too
  const wire::Origin origin_;           ///< this process
  std::uint64_t sent_in_a_row_ = 0;     ///< bytes, without a look at all that has come
  IdTable<SendRequest> send_ids_;
  std::uint64_t messages_numbered_ = 0;  ///< the last one's number
  IdTable<ReceiveRequest> receive_ids_;

  std::unordered_map<base::ProcessId, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> retired_;  ///< failed; contexts may still point to them
  std::vector<Peer*> busy_;
  std::vector<Peer*> unrouted_;
  RequestList<ReceiveRequest, Streaming> reads_;
  std::size_t long_sends_ = 0;      ///< under way: announced, and not ended
  std::deque<wire::Share> shares_;  ///< messages of ours that their receivers read, and we may write

  const bool matches_below_;  ///< transports may
  std::vector<Gathered*> gathered_;  ///< that are not empty
  int gathered_rounds_ = 0;  ///< in which messages are gathered whatever waits here
  std::vector<Recall> recalls_;

  /// Of communicators that are not made here yet; by id of the user plane.
  std::unordered_map<base::ContextId, wire::CollectivesFailed> early_notices_;
  std::unordered_map<base::ContextId, std::vector<wire::CallAfterRefusal>> early_disputes_;

  std::deque<ControlMessage> inbox_;
  std::shared_ptr<const ControlHandler> handler_;
  Turn handling_;

  std::vector<const Probing*> probing_;
  const WaitPlans plans_;
  std::atomic<bool> is_crowded_;  ///< a hint, pairs with nothing
  Awaited* awaited_ = nullptr;  ///< what a receive on the short way polls for
  const Matching* served_ = nullptr;  ///< whose receives from this source a look is for: it ends when none waits any more
  int served_source_ = 0;
  unsigned posted_behind_others_ = 0;
  int short_ways_ = 0;          ///< in a row, since everybody's packets were looked at
  unsigned looks_ = 0;
  // A round takes many messages out that would soon have found their receives, which makes those dear: not too often.
  static constexpr std::uint32_t kTakenInARow = 512;
  std::uint32_t taken_at_once_ = 0;  ///< calls that may have received a message without a round
  std::atomic<int> sleepers_{0};  ///< changed under the lock; a hint without it
  bool several_threads_ = false;  ///< seen so: another thread was in here while one slept
  std::atomic<std::uint64_t> rounds_{0};  ///< likewise
  // between two looks at the clock, and at the other engines of the process
  static constexpr std::uint64_t kRoundsPerLookAround = 1024;
  std::uint64_t next_look_around_ = kRoundsPerLookAround;
  std::atomic<std::uint64_t> rounds_at_last_look_{0};  ///< of visitors; a hint, pairs with nothing
  base::Nanoseconds next_liveness_ = 0;
};

// Bytes that leave between two looks at what has come: a receiver that has too many may ask to be spared. A message counts as what it takes
// there at least.
inline constexpr std::uint64_t kSentInARow = 256 * 1024, kLeastOfAMessage = 512;

[[gnu::always_inline]] inline bool Core::is_time_to_look(std::uint64_t sent) {
  return (sent_in_a_row_ += sent + kLeastOfAMessage) > kSentInARow;
}

template <typename Done>
base::Result<bool> Core::wait(const Done& done, base::Deadline deadline) {
  Backoff backoff(plan());
  // not asked again once it has held: it may have taken out what it found, and the last look before a sleep is a question, too
  bool has_held = false;
  const auto holds = [&] { return has_held || (has_held = done()); };
  if (holds()) return true;
  while (!has_held) {
    SHIM_TRY_ASSIGN(int moved, round(backoff.is_patient()));
    if (holds()) break;
    if (deadline.passed()) return false;
    if (moved != 0) backoff.restart(moved);  // and more may be there: a round takes a batch at most
    else if (const Backoff::Step step = backoff.step(); step != Backoff::Step::spin) rest(backoff, step, std::cref(holds));
  }
  return true;
}

template <typename OwnRequest>
base::Status Core::finish(OwnRequest& request) {
  if (!request.is_done()) {
    struct Abandoned {  // unless it ends, even where the wait ends by an exception: the request goes with its owner's frame
      Core& core;
      OwnRequest& request;
      ~Abandoned() {
        if (request.is_done()) return;
        Guard guard = core.enter();
        if (!request.is_done()) core.abandon(request);
      }
    } abandoned{*this, request};
    SHIM_TRY(wait([&] { return request.is_done(); }));
  }
  if (request.error_) [[unlikely]] return std::move(*request.error_);
  return {};
}

template <typename OwnRequest>
base::Result<Request*> Core::started(base::Status status, OwnRequest& request) {
  if (status) return &request;
  request.complete({}, std::nullopt);
  request.dispose();
  return std::move(status).error();
}

}  // namespace shim::p2p
