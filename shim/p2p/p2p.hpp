// SPDX-License-Identifier: BSD-3-Clause
// Interface of the point-to-point module: messages, requests, progress and waiting.
//
// A Process object has one Engine per VCI, each with its own transports and communicators. Every
// public function is thread-safe; one lock per engine orders the calls. This module knows no MPI
// handles, sessions or groups; it sees a communicator as a Context. Used by coll, sessions and
// intercept.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/context_id.hpp"
#include "shim/base/ids.hpp"
#include "shim/base/log.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/p2p/message_types.hpp"
#include "shim/p2p/wait_reports.hpp"
#include "shim/transport/presence_detector.hpp"
#include "shim/transport/transport.hpp"
#include "shim/types/types.hpp"

namespace shim::p2p {

/// The processes of a communicator in rank order; shared, immutable.
class Members {
 public:
  virtual ~Members() = default;
  virtual int size() const = 0;
  virtual base::ProcessId at(int rank) const = 0;
};

/// Bases by rank: one for all members if they agreed on one, else one for each. A base is the upper
/// half of the context id in messages to a member, which that member chose (base/context_id.hpp).
struct ContextBases {
  std::uint32_t common = 0;  ///< valid if by_rank is empty
  std::vector<std::uint32_t> by_rank;
  std::uint32_t of(int rank) const {
    return by_rank.empty() ? common : by_rank[static_cast<std::size_t>(rank)];
  }
};

/// Names a communicator in reports to the user. Any thread; shared by the communicator and its
/// context, which may live longer.
class ContextLabel {
 public:
  virtual ~ContextLabel() = default;
  virtual std::string text() const = 0;
};

struct ContextSpec {
  /// processes that ranks of sends and receives refer to (an intercommunicator's remote group)
  std::shared_ptr<const Members> members;
  int own_rank = 0;                           ///< source rank that the members see in our messages
  std::shared_ptr<const ContextBases> bases;  ///< bases of the members
  std::uint32_t own_base = 0;                 ///< base in messages to this process
  base::ContextPath path;                     ///< rest of the context ids; equal on all members
  std::shared_ptr<const ContextLabel> label = nullptr;  ///< null: without a name
};

/// Numbers the collective calls on a communicator; the number of a call is the tag of its messages.
/// All members make the calls in the same order and so use equal tags. Part of the communicator's
/// context; module coll takes a number for each call.
class CollectiveNumbers {
 public:
  /// Sizes of the two ranges of tags, each of which wraps around: tags of persistent collectives
  /// begin at kTags, tags of other calls at 0.
  static constexpr std::uint32_t kTags = 0x4000'0000, kPersistentTags = 0x2000'0000;
  /// @param call identifier of the collective; 0 if members cannot mistake it for another one
  int next(std::uint8_t call) { return static_cast<int>(calls_.take(call) % kTags); }
  int next_persistent(std::uint8_t call) {
    return static_cast<int>(persistent_.take(call) % kPersistentTags | kTags);
  }
  /// True if Engine::check_call_number must be called after a call has taken its number.
  bool needs_call_check() const { return needs_call_check_.load(std::memory_order_relaxed); }

 private:
  friend class CollectiveFailures;
  static bool is_persistent_collective(int tag) {
    return (static_cast<std::uint32_t>(tag) & kTags) != 0;
  }

  /// The calls of one tag range. Remembers the last kRemembered calls, for the comparison with
  /// other members' calls after a member has rejected a call (Engine::record_refusal).
  class Sequence {
   public:
    std::uint32_t take(std::uint8_t call) {
      // relaxed: calls on one communicator are sequential; waiting threads repeat their reads
      const std::uint32_t taken = next_.load(std::memory_order_relaxed);
      calls_[taken % calls_.size()].store(call, std::memory_order_relaxed);
      next_.store(taken + 1, std::memory_order_relaxed);
      return taken;
    }
    /// Return how many calls ago the call with this number was made: 0 for the last call, negative
    /// if it has not been made. Only the lower 32 - `unused_bits` bits of numbers are compared.
    std::int32_t age(std::uint32_t number, int unused_bits) const {
      const std::uint32_t passed = next_.load(std::memory_order_relaxed) - number - 1;
      return static_cast<std::int32_t>(passed << unused_bits) >> unused_bits;
    }
    std::uint8_t call_of(std::uint32_t number) const {
      return calls_[number % calls_.size()].load(std::memory_order_relaxed);
    }
    static constexpr int kRemembered = 64;

   private:
    std::atomic<std::uint32_t> next_{0};
    std::array<std::atomic<std::uint8_t>, kRemembered> calls_{};
  };
  const Sequence& sequence_of(int tag) const {
    return is_persistent_collective(tag) ? persistent_ : calls_;
  }
  /// True if the call that uses this tag has been made.
  bool has_begun(int tag) const {
    return sequence_of(tag).age(static_cast<std::uint32_t>(tag),
                                is_persistent_collective(tag) ? 3 : 2) >= 0;
  }
  /// True if the call that uses this tag, which has begun, was `call`, or is no longer remembered.
  bool was(int tag, std::uint8_t call) const {
    const Sequence& sequence = sequence_of(tag);
    const auto number = static_cast<std::uint32_t>(tag);
    return sequence.age(number, is_persistent_collective(tag) ? 3 : 2) >= Sequence::kRemembered ||
           sequence.call_of(number) == call;
  }

  Sequence calls_, persistent_;
  std::atomic<bool> needs_call_check_{false};  ///< a hint, pairs with nothing
};

class Engine;
class Core;

/// A communicator as this module sees it: its members and its message queues. Created by
/// Engine::make_context; destroying it removes it from the engine. Operations in progress keep what
/// they need alive.
class Context;
struct ContextDeleter {
  void operator()(Context* context) const;
};
using ContextPtr = std::unique_ptr<Context, ContextDeleter>;

/// An operation in progress. Owned by the caller that started it until Engine::release
/// (MPI_Request_free: an active operation then finishes on its own). Other modules derive requests
/// of their own, for example a collective in progress: they allocate them with new, advance them in
/// Engine::add_progress or on_start, and end them with complete().
class Request {
 public:
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// True if the operation is complete and its outcome may be read. An inactive persistent request
  /// counts as complete, with an empty outcome.
  // acquire: pairs with the release in complete(), which makes the outcome and the received data
  // visible
  bool is_done() const { return (state_bits_.load(std::memory_order_acquire) & kDone) != 0; }
  /// True if complete, or if a receive from any source may wait in vain because a member has failed
  /// (MPIX_ERR_PROC_FAILED_PENDING); Engine::pending_failure() returns the reason. Such a receive
  /// stays active, and a message can still match it.
  bool has_settled() const {
    return (state_bits_.load(std::memory_order_acquire) & (kDone | kFailurePending)) != 0;
  }
  const MessageStatus& outcome() const { return outcome_; }
  /// Return the error of a failed operation; null if it did not fail.
  const base::Error* error() const { return error_ ? &*error_ : nullptr; }
  bool is_persistent() const { return persistent_; }
  bool is_active() const { return active_; }
  /// Return what the operation waits for, for a report; nothing if unknown. Called by the owner.
  virtual std::optional<Awaited> awaited() const { return std::nullopt; }

 protected:
  Request() = default;
  /// For this module's own requests: their state changes only under the engine's lock, which saves
  /// an atomic operation. Null: the request has no engine, and must not be released.
  explicit Request(Core* core) : core_(core) {}
  friend class PointToPoint;
  friend class FailureHandling;
  friend class Core;

  /// End the operation; once per activation, from any thread. The object may be gone on return: the
  /// owner may release it, and a request that was already released is disposed of here.
  void complete(const MessageStatus& outcome, std::optional<base::Error> error = std::nullopt);
  /// Complete one of this module's own requests without error.
  void succeed(const MessageStatus& outcome);
  /// Undo the completion for a cancellation that is still to be answered. Called on behalf of the
  /// owner (MPI_Cancel), which has not read the outcome.
  void reopen();
  /// Mark the new request persistent and inactive; for constructors.
  void make_persistent();
  bool release_if_done();
  /// Return the error of an operation that has failed; the request then has none.
  base::Error take_error() { return std::move(*error_); }
  /// Settle a receive that may wait in vain; a message can still match it.
  void set_failure_pending();
  void clear_failure_pending();
  /// True if the owner has released the request, which then ends on its own.
  bool is_released() const {
    return (state_bits_.load(std::memory_order_relaxed) & kReleased) != 0;
  }
  /// For this module's own requests only.
  Core& core() const { return *core_; }

  // Hooks that the engine calls without its lock. By default the request cannot be started, cancel
  // has no effect, and the memory came from new.
  /// Begin the next activation of a persistent request; it is already marked active and not done.
  virtual base::Status on_start();
  virtual base::Status on_cancel();
  /// Called if the request is released, possibly while active; under the engine's lock for this
  /// module's own.
  virtual void on_release() {}
  /// Free the complete request; no references to it remain.
  virtual void dispose() { delete this; }

 private:
  static constexpr std::uint8_t kDone = 1, kReleased = 2, kFailurePending = 4;
  std::atomic<std::uint8_t> state_bits_{0};
  bool persistent_ = false;
  bool active_ = true;
  Core* const core_ = nullptr;  ///< set for this module's own requests only
  MessageStatus outcome_;
  std::optional<base::Error> error_;
};

/// A message taken out of matching by a matched probe (MPI_Message).
class StoredMessage;

/// Transport and address of a process; requested once, at the first message to it.
struct Route {
  transport::Transport* transport = nullptr;
  transport::Bytes address;
};
/// Finds processes for the engine. Called without the engine's lock, from any thread inside the
/// engine.
class Router {
 public:
  virtual ~Router() = default;
  virtual base::Result<Route> route_to(base::ProcessId process) = 0;
  /// False if the process is known to have died or left; called periodically while a thread waits.
  virtual bool is_alive(base::ProcessId process) = 0;
  /// True if the process is known to have died before it ended its last session. Called with the
  /// engine's lock held: must not call the engine.
  virtual bool has_died(base::ProcessId process) { return !is_alive(process); }
  /// True if a thread of the process receives packets now; a flush does not wait for a process
  /// where none does. Called with the engine's lock held: must not call the engine.
  virtual bool receives_packets(base::ProcessId) { return true; }
  /// Return number, node and known state of a process, for reports. Any thread, without the lock.
  virtual std::string describe(base::ProcessId process) {
    return "process " + std::to_string(process.rank);
  }
};

/// Called without the engine's lock for every control message that arrives. May call send_control.
using ControlHandler = std::function<void(base::ProcessId from, std::span<const std::byte> bytes)>;

/// The engines of one process, if it has several (engines.hpp).
class Engines;

struct EngineSpec {
  base::Settings settings;
  const base::Log* log = nullptr;
  base::ProcessId self;
  Router* router = nullptr;
  /// all are polled, the engine sleeps in the first; add_transport adds more
  std::vector<transport::Transport*> transports;
  bool is_oversubscribed = false;  ///< see Engine::set_oversubscribed
  /// all engines of the process, in the order of creation; null: this is the only one
  std::shared_ptr<Engines> engines = nullptr;
  WaitReports reports = {};
};

/// Messages and requests. Callers check arguments.
class PointToPoint {
 public:
  // --- sending: dest is a rank of the context or kProcNull, tag is from 0 to kTagUpperBound; the
  // caller checks arguments.
  [[gnu::hot]] base::Status send(Context& context, const types::ConstBuffer& data, int dest,
                                 int tag, SendMode mode, Plane plane = Plane::user);
  base::Result<Request*> isend(Context& context, const types::ConstBuffer& data, int dest, int tag,
                               SendMode mode, Plane plane = Plane::user);
  /// Send in standard mode like isend; return null if the message has left at once. If `keeps_copy`
  /// is set, copy data that does not leave at once, so that the caller may reuse the buffer.
  base::Result<Request*> send_or_start(Context& context, const types::ConstBuffer& data, int dest,
                                       int tag, Plane plane,
                                       Caller caller = Caller::returns_at_once,
                                       bool keeps_copy = false);
  /// Send on the user plane like isend; return null if the message has left at once, and then set
  /// `inline_sent` for a later cancellation.
  base::Result<Request*> send_or_start(Context& context, const types::ConstBuffer& data, int dest,
                                       int tag, SendMode mode, InlineSent& inline_sent) {
    if (mode != SendMode::synchronous && send_at_once(context, data, dest, tag, inline_sent))
        [[likely]]
      return nullptr;
    return isend(context, data, dest, tag, mode);
  }
  /// Send in standard mode if the message leaves at once or dest is kProcNull; otherwise do nothing
  /// and return false.
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int dest,
                                 int tag);
  /// Return a completed request for a message that left at once, for cancel().
  Request* request_of(Context& context, const InlineSent& inline_sent);
  /// Send like isend, but copy the data, so that the user's buffer is free at once. MPI_Bsend and
  /// its variants account for the space in their own buffer.
  base::Result<Request*> isend_copied(Context& context, const types::ConstBuffer& data, int dest,
                                      int tag, Plane plane = Plane::user);

  // --- receiving: source is a rank, kAnySource or kProcNull; tag is a tag or kAnyTag. A message
  // longer than the buffer fills the buffer and is an error of class truncate.
  [[gnu::hot]] base::Result<MessageStatus> recv(Context& context, const types::Buffer& into,
                                                int source, int tag, Plane plane = Plane::user);
  /// Receive like recv if the message has arrived, or arrives during a few polls and no other work
  /// is due; otherwise do nothing and return nothing.
  [[gnu::hot]] std::optional<base::Result<MessageStatus>> recv_at_once(Context& context,
                                                                       const types::Buffer& into,
                                                                       int source, int tag,
                                                                       Plane plane);
  base::Result<Request*> irecv(Context& context, const types::Buffer& into, int source, int tag,
                               Plane plane = Plane::user, Caller caller = Caller::returns_at_once);
  /// Receive on the user plane like irecv; return null if the message was there, and then set
  /// `received`. A receive from any source stays active after a failure (Request::has_settled);
  /// other receives end.
  base::Result<Request*> receive_or_start(Context& context, const types::Buffer& into, int source,
                                          int tag, MessageStatus& received);

  base::Result<std::optional<MessageStatus>> iprobe(Context& context, int source, int tag);
  base::Result<MessageStatus> probe(Context& context, int source, int tag);
  struct Matched {
    StoredMessage* message = nullptr;
    MessageStatus outcome;
  };  ///< message is null for kProcNull
  base::Result<std::optional<Matched>> improbe(Context& context, int source, int tag);
  base::Result<Matched> mprobe(Context& context, int source, int tag);
  /// Receive and consume the message.
  base::Result<MessageStatus> mrecv(StoredMessage* message, types::Buffer into);
  base::Result<Request*> imrecv(StoredMessage* message, types::Buffer into);

  // --- persistent requests: created inactive; start() activates them any number of times.
  base::Result<Request*> send_init(Context& context, const types::ConstBuffer& data, int dest,
                                   int tag, SendMode mode);
  base::Result<Request*> recv_init(Context& context, const types::Buffer& into, int source,
                                   int tag);
  static base::Status start(Request& request);

  // --- requests: these functions accept requests of other modules, too, which have no engine
  /// Make a completed persistent request inactive, with an empty outcome (MPI_Wait does so after it
  /// has read the outcome).
  static void deactivate(Request& request);
  /// Cancel the operation if it has not been matched. The request completes either way, a send when
  /// its receiver has answered.
  static base::Status cancel(Request& request);
  /// Release the request; an active operation finishes on its own.
  static void release(Request* request);
  /// Release many requests, none null; the lock is taken once for the requests of one engine.
  static void release(std::span<Request* const> requests);

 protected:
  explicit PointToPoint(Core& core) : core_(&core) {}
  ~PointToPoint() = default;

 private:
  /// True if the message has left or dest is kProcNull.
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int dest,
                                 int tag, InlineSent& inline_sent);

  Core* const core_;
};

/// Control messages: any length, ordered per process pair, outside all contexts; for the creation
/// of communicators. Also what their users must know of other processes.
class ControlChannel {
 public:
  /// Send a control message. Errors: proc_aborted; errors of the link (no_space if shared memory is
  /// full). A message in flight may still be lost if its receiver dies.
  base::Status send_control(base::ProcessId to, std::vector<std::byte> bytes);
  /// Allocate now what a message to this process needs, so that sending does not fail later for
  /// lack of it. Errors: as send_control.
  base::Status prepare_send(base::ProcessId process);
  void set_control_handler(ControlHandler handler);
  /// Return what is known about the process at this route, without communication. Local. Errors:
  /// those of Transport::open.
  base::Result<transport::Presence> presence_at(const Route& route);
  /// Return why the last link to this process was given up; empty if there is another link, or
  /// never was one.
  std::string link_failure_reason(base::ProcessId process) const;
  /// Forget a process that has re-initialized: the router is called again at the next message, and
  /// operations with its earlier incarnation end with this error.
  void reset_peer(base::ProcessId process, const base::Error& reason);

 protected:
  explicit ControlChannel(Core& core) : core_(&core) {}
  ~ControlChannel() = default;

 private:
  Core* const core_;
};

/// Progress of all operations, and waiting.
class Progress {
 public:
  /// Record whether processes outnumber cores. If so, waiting threads yield their core at once,
  /// because the process they wait for may need it.
  void set_oversubscribed(bool is_oversubscribed);
  /// Make one bounded round of progress over all transports and registered work. Other threads'
  /// operations progress, too.
  base::Status progress();
  /// Poll the transports that have been active lately, and make a full round now and then. For
  /// callers that start an operation for which messages may already be there. Errors are left to
  /// the next wait.
  void poll_active();
  /// Register work to be done in each round of progress, without a lock; for collectives in
  /// progress and creations. Return its number for remove_progress, never 0. Work that checks
  /// sources other than packets needs `pre_sleep`: it is called before a waiting thread sleeps, and
  /// the thread then sleeps for a short time only.
  std::uint64_t add_progress(std::function<void()> work, std::function<void()> pre_sleep = nullptr);
  void remove_progress(std::uint64_t number);
  /// Make progress until the condition holds (return true) or the deadline has passed (return
  /// false). Polls, then yields, then sleeps. The condition is evaluated without the engine's lock,
  /// and not again once it has held. Reports name `subject`, or the MPI function alone.
  base::Result<bool> wait_until(const std::function<bool()>& condition,
                                base::Deadline deadline = base::Deadline::never());
  base::Result<bool> wait_until(const std::function<bool()>& condition, WaitSubject& subject,
                                base::Deadline deadline = base::Deadline::never());

  /// Make progress until a condition holds that the process of this rank makes true without a
  /// message, for example by a store to shared memory. The condition is evaluated under the
  /// engine's lock and must not call the engine. Errors: proc_aborted (the process has died or
  /// left).
  base::Status wait_for(Context& context, int rank, const std::function<bool()>& condition,
                        WaitSubject& subject);
  /// Make one round of progress, then return whether the request is done.
  base::Result<bool> test(Request& request);
  /// Block until the request has settled. The operation's own error is in the request.
  base::Status wait(Request& request);
  /// A process that a caller waits for without an operation of this engine.
  struct Watched {
    base::ProcessId process;
    bool is_gone = false;  ///< has died or ended its last session; written under the engine's lock
  };
  /// Monitor the process while threads wait, until unwatch(). The object must not move.
  void watch(Watched& process);
  void unwatch(Watched& process);
  bool is_gone(const Watched& process);

  /// True if a waiting thread may poll without yielding: processes do not outnumber cores.
  bool may_spin() const;

  /// Wait until all sent messages have left this process (return true), or the deadline passes.
  bool flush(base::Deadline deadline);
  /// Wait until all sent messages have left this process and every receive of this context that was
  /// freed while active is complete, or until the deadline passes.
  bool flush(const Context& context, base::Deadline deadline);
  /// Wait like flush() for the receives of all contexts, and until the handler has been called for
  /// all control messages that have arrived or begun to arrive, because their senders do not send
  /// them again. Does not wait for receives from this process alone, or from a sender that has died
  /// or left.
  bool flush_all(base::Deadline deadline);
  /// True if flush_all() would not wait.
  bool is_quiet();

 protected:
  explicit Progress(Core& core) : core_(&core) {}
  ~Progress() = default;

 private:
  Core* const core_;
};

/// Communicators whose collectives or members fail (docs/decisions/0002, 0012).
class FailureHandling {
 public:
  // --- collectives that fail (collective_failures.hpp)
  /// End all present and future collective operations on this communicator with this error, and
  /// notify the other members. Their collectives end as well; otherwise they might wait for this
  /// member forever. On return no operation of this process accesses the buffers of these
  /// collectives; other members may still read them (has_sent_failure_notices). User messages are
  /// not affected. Later calls have no effect.
  void fail_collectives(Context& context, const base::Error& reason);
  /// True once the collectives have failed; any thread, without a lock, while the context exists.
  static const std::atomic<bool>& collectives_have_failed(const Context& context);
  /// Return the reason, after the collectives have failed.
  base::Error collective_failure(Context& context);
  /// Record that this member rejected the arguments of a collective call, which therefore did not
  /// take place; the program may call again. check_call_number() then sends the other members the
  /// identifier of the next call; if theirs differs, the collectives of all members fail. Module
  /// coll also compares tables of algorithms this way, with the class not_same. Local.
  void record_refusal(Context& context, bool is_persistent_collective, const base::Error& reason);
  /// Check a call against those of the other members if CollectiveNumbers::needs_call_check().
  void check_call_number(Context& context, int tag);
  static CollectiveNumbers& numbers_of(Context& context);
  /// True if no notice to a member that can read this process's memory is queued here. Afterwards a
  /// member that still reads from a buffer of this process receives the notice before it accepts
  /// the data (confirm_reads). Before, it may accept data that the program has overwritten; callers
  /// therefore wait for this before a failed collective returns.
  bool has_sent_failure_notices();
  /// Fail if the collectives have failed at a member while this process read from its memory: the
  /// data may be invalid. Called after collectives that succeeded. Local. Errors: the member's.
  base::Status confirm_reads(Context& context);

  // --- members that fail (failed_members.hpp)
  /// Return the ranks of the members known to have failed, in the order in which this process
  /// learned of it; the list only grows. Checks for deaths first, without waiting. Local.
  std::vector<int> failed_members(Context& context);
  /// Record a failure that was detected outside this engine. Local.
  void record_failed_rank(Context& context, int rank);
  /// Acknowledge the first `count` of failed_members(): receives from any source ignore them from
  /// now on. Return the number acknowledged in all. Local.
  int acknowledge_failed(Context& context, int count);
  int acknowledged(Context& context);
  /// Return why a receive from any source may wait in vain; nothing if the failures are
  /// acknowledged or a message has matched it. Accepts any request.
  static std::optional<base::Error> pending_failure(Request& request);
  /// True if a communicator of this engine has unacknowledged failures. A hint, without the lock.
  bool has_unacknowledged_failures() const;
  /// End all present and future operations on this communicator with MPIX_ERR_REVOKED, at this and,
  /// by a notification, all other members. A message whose receiver may be reading it from this
  /// process's memory ends when the receiver answers. Local. Later calls have no effect.
  void revoke(Context& context);
  bool is_revoked(Context& context);

 protected:
  explicit FailureHandling(Core& core) : core_(&core) {}
  ~FailureHandling() = default;

 private:
  Core* const core_;
};

/// An engine and its communicators. Clients that send, receive or wait only take one of the bases.
class Engine final : public PointToPoint,
                     public ControlChannel,
                     public Progress,
                     public FailureHandling {
 public:
  explicit Engine(EngineSpec spec);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void add_transport(transport::Transport& transport);
  /// Transfer the lock's bias to the next thread that enters. For a thread that has prepared the
  /// engine for other threads and does not return to it.
  void release_ownership();
  base::ProcessId self() const;

  /// Create a context. Local. Messages that arrived before this call are moved to it.
  ContextPtr make_context(ContextSpec spec);
  /// Drop messages for bases below this one; they belong to an earlier incarnation of this process.
  void set_first_base(std::uint32_t base);
  /// Record that no context of this base will be made: its messages are dropped, and it uses no
  /// more memory than a base whose contexts are gone.
  void skip_base(std::uint32_t base);

  struct Counts {
    std::uint64_t eager_sent = 0, rendezvous_sent = 0, single_copies = 0, parts_written = 0,
                  unexpected = 0, posted_matches = 0, matched_by_provider = 0;
    std::uint64_t control_sent = 0, control_bytes = 0, peers_contacted = 0, stale_dropped = 0;
    std::uint64_t unexpected_bytes_most = 0;  ///< largest memory of unexpected messages at any time
    std::uint64_t throttled = 0;              ///< times that this process has throttled a sender
  };
  Counts counts() const;
  struct TransportCounts {
    std::string_view transport;  ///< its name
    transport::Transport::Counts counts;
  };
  /// Return the counts of the transports in use so far.
  std::vector<TransportCounts> transport_counts() const;

 private:
  explicit Engine(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace shim::p2p
