// SPDX-License-Identifier: BSD-3-Clause
// Point to point: requests, matching, eager and rendezvous, progress, waiting. The seam that coll, sessions and intercept use.
//
// One Engine per Process object, or several, of which each has transports and communicators of its own. Every public function may be called from any thread; a single lock inside orders them.
// Nothing here knows an MPI handle, a session, or a group; a communicator is seen as a Context.
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
#include "shim/transport/transport.hpp"
#include "shim/types/types.hpp"

namespace shim::p2p {

// Wildcards and the null rank as this room knows them; the border translates.
inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;
inline constexpr int kProcNull = -2;
/// Largest tag of a user's message (MPI_TAG_UB of our communicators).
inline constexpr int kTagUpperBound = 0x7fffffff;

enum class Mode : std::uint8_t { standard, synchronous, ready };
/// User messages and messages of collectives never match each other. Collectives take tags below kFirstPartitionTag; those from there on
/// are for partitioned communication.
inline constexpr int kFirstPartitionTag = 0x60000000;
enum class Plane : std::uint8_t { user, collective };

/// What whoever starts an operation does until it is over: who waits, for nothing else or for several operations at the same time, moves long
/// messages along all that while, unless something fails, so that they may go in a way that asks for that.
enum class Caller : std::uint8_t { goes_on, waits_for_several, waits };

/// What a completed operation tells (MPI_Status without the substrate's layout).
struct Outcome {
  int source = kAnySource;
  int tag = kAnyTag;
  std::uint64_t bytes = 0;
  bool cancelled = false;
  base::ErrorClass error = base::ErrorClass::success;
};

/// What a receive from kProcNull gets.
inline constexpr Outcome kNoMessage{.source = kProcNull, .tag = kAnyTag};

/// A message that had left when its send began, so that nothing is under way: what MPI_Cancel asks for it back with.
struct Departed {
  std::uint64_t number = 0;  ///< by which its receiver knows it; 0: none, and there is nothing to ask for
  int dest = 0;
};

/// The processes of a communicator in rank order; shared, immutable.
class Members {
 public:
  virtual ~Members() = default;
  virtual int size() const = 0;
  virtual base::ProcessId at(int rank) const = 0;
};

/// Bases of context ids by rank: one for all where the members agreed on one, else one each.
struct ContextBases {
  std::uint32_t common = 0;               ///< valid where by_rank is empty
  std::vector<std::uint32_t> by_rank;
  std::uint32_t of(int rank) const { return by_rank.empty() ? common : by_rank[static_cast<std::size_t>(rank)]; }
};

struct ContextSpec {
  std::shared_ptr<const Members> members;       ///< whom ranks of sends and receives mean (the remote group of an intercommunicator)
  int own_rank = 0;                             ///< what others see as the source of our messages
  std::shared_ptr<const ContextBases> bases;    ///< of the members
  std::uint32_t own_base = 0;                   ///< ours
  base::ContextPath path;
};

/// How far the calls of collectives on a communicator have come: the tags of their messages, in the order of the calls, which is the
/// same at all members. Kept with the communicator's context; the caller of collectives counts.
class CollectiveTurns {
 public:
  /// Persistent collectives take tags of their own, which the other calls come to when they begin again.
  static constexpr std::uint32_t kTags = 0x4000'0000, kLastingTags = 0x2000'0000;
  /// @param call which collective it is; 0 where members cannot take it for another
  int next(std::uint8_t call) { return static_cast<int>(calls_.take(call) % kTags); }
  int next_lasting(std::uint8_t call) { return static_cast<int>(lasting_.take(call) % kLastingTags | kTags); }
  /// True if something is to be looked at after a call has taken its turn (Engine::check_turn).
  bool is_disputed() const { return is_disputed_.load(std::memory_order_relaxed); }

 private:
  friend class Core;
  static bool is_lasting(int tag) { return (static_cast<std::uint32_t>(tag) & kTags) != 0; }

  /// The calls of one kind of tags. Only the last ones are remembered: members are not that far apart.
  class Sequence {
   public:
    std::uint32_t take(std::uint8_t call) {
      // relaxed: calls on one communicator follow each other; others' looks are repeated while somebody waits
      const std::uint32_t taken = next_.load(std::memory_order_relaxed);
      calls_[taken % calls_.size()].store(call, std::memory_order_relaxed);
      next_.store(taken + 1, std::memory_order_relaxed);
      return taken;
    }
    /// So many calls ago, 0 for the last one, was the one with this number; negative: it has not been made. Numbers have fewer bits.
    std::int32_t age(std::uint32_t number, int unused_bits) const {
      const std::uint32_t passed = next_.load(std::memory_order_relaxed) - number - 1;
      return static_cast<std::int32_t>(passed << unused_bits) >> unused_bits;
    }
    std::uint8_t call_of(std::uint32_t number) const { return calls_[number % calls_.size()].load(std::memory_order_relaxed); }
    static constexpr int kRemembered = 64;

   private:
    std::atomic<std::uint32_t> next_{0};
    std::array<std::atomic<std::uint8_t>, kRemembered> calls_{};
  };
  const Sequence& sequence_of(int tag) const { return is_lasting(tag) ? lasting_ : calls_; }
  /// True if the call that this tag belongs to has been made.
  bool has_begun(int tag) const { return sequence_of(tag).age(static_cast<std::uint32_t>(tag), is_lasting(tag) ? 3 : 2) >= 0; }
  /// True if that call, which has begun, was this one, as far as it is remembered.
  bool was(int tag, std::uint8_t call) const {
    const Sequence& sequence = sequence_of(tag);
    const auto number = static_cast<std::uint32_t>(tag);
    return sequence.age(number, is_lasting(tag) ? 3 : 2) >= Sequence::kRemembered || sequence.call_of(number) == call;
  }

  Sequence calls_, lasting_;
  std::atomic<bool> is_disputed_{false};  ///< a hint, pairs with nothing
};

class Engine;
class Core;

/// A communicator as this room sees it: whom its ranks mean, and the queues of its messages. Made by Engine::make_context;
/// destroying it takes it out of the engine. Operations in progress keep what they need alive.
class Context;
struct ContextDeleter { void operator()(Context* context) const; };
using ContextPtr = std::unique_ptr<Context, ContextDeleter>;

/// An operation in progress. Owned by whoever started it, until given back with Engine::release (MPI_Request_free: an active
/// one then finishes by itself). Other rooms derive from it for requests of their own (a collective in progress): they make
/// theirs with new, move it along in Engine::add_progress or on_start, and end it with complete().
class Request {
 public:
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Complete: its outcome may be read. (An inactive persistent request counts as complete, with an empty outcome.)
  // acquire: pairs with the release in complete(), so that the outcome and the received data are seen
  bool is_done() const { return (life_.load(std::memory_order_acquire) & kDone) != 0; }
  const Outcome& outcome() const { return outcome_; }
  /// The error of an operation that failed; null where it did not.
  const base::Error* error() const { return error_ ? &*error_ : nullptr; }
  bool is_persistent() const { return persistent_; }
  bool is_active() const { return active_; }

 protected:
  Request() = default;
  /// For this room's own: their life changes under the engine's lock only, which saves an atomic operation.
  explicit Request(Core& core) : core_(&core) {}
  friend class Engine;
  friend class Core;

  /// Ends the operation; once per activation, from any thread. The object may be gone on return: the owner may take it, and
  /// one that was released is disposed of here.
  void complete(const Outcome& outcome, std::optional<base::Error> error = std::nullopt);
  /// The same for one of this room's own that has gone well.
  void succeed(const Outcome& outcome);
  /// Takes the end back, for a cancellation that is still to be answered. Called for the owner (MPI_Cancel), who has not read it out.
  void reopen();
  /// For constructors of persistent requests: begins its life inactive.
  void make_persistent();
  bool release_if_done();
  /// Of this room's own.
  Core& core() const { return *core_; }

  // What the engine asks of a derived request, without its lock. The defaults: cannot be started; cancel changes nothing;
  // memory came from new.
  /// Begins the next activation of a persistent request; the state says active and not done already.
  virtual base::Status on_start();
  virtual base::Status on_cancel();
  /// Given back while it may be active; for this room's own, under their engine's lock.
  virtual void on_release() {}
  /// Nobody refers to the object any more, and it is complete.
  virtual void dispose() { delete this; }

 private:
  static constexpr std::uint8_t kDone = 1, kReleased = 2;
  std::atomic<std::uint8_t> life_{0};
  bool persistent_ = false;
  bool active_ = true;
  Core* const core_ = nullptr;  ///< of this room's own
  Outcome outcome_;
  std::optional<base::Error> error_;
};

/// A message taken out of matching by a matched probe (MPI_Message).
class Message;

/// How to reach a process: asked once, at the first message to it.
struct Route {
  transport::Transport* transport = nullptr;
  transport::Bytes address;
};
/// Asked without the engine's lock, from any thread that is in the engine.
class Router {
 public:
  virtual ~Router() = default;
  virtual base::Result<Route> route_to(base::ProcessId process) = 0;
  /// False when the process is known to have died or left; asked now and then while somebody waits.
  virtual bool is_alive(base::ProcessId process) = 0;
  /// True if the process is known to have died: it has not ended its last session as it should. Called with the engine's lock held:
  /// must not call the engine.
  virtual bool has_died(base::ProcessId process) { return !is_alive(process); }
  /// Is there anybody in the process who takes packets now? A flush does not wait for one who does not. Called with the engine's
  /// lock held: must not call the engine.
  virtual bool takes_packets(base::ProcessId) { return true; }
};

/// Called, without the engine's lock, for every control message that arrives. May call send_control.
using ControlHandler = std::function<void(base::ProcessId from, std::span<const std::byte> bytes)>;

/// For a process that has several (engines.hpp).
class Engines;

struct EngineSpec {
  base::Settings settings;
  const base::Log* log = nullptr;
  base::ProcessId self;
  Router* router = nullptr;
  std::vector<transport::Transport*> transports;  ///< all are polled, the first is asked to sleep; more can come later
  bool is_crowded = false;                        ///< see Engine::set_crowded
  std::shared_ptr<Engines> engines = nullptr;     ///< of the process; the first made is its first. Null: it has no other
};

class Engine {
 public:
  explicit Engine(EngineSpec spec);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void add_transport(transport::Transport& transport);
  /// Are there more processes than cores here? Then whoever waits gives its core away at once: the one it waits for may need it.
  void set_crowded(bool is_crowded);
  /// The calling thread has made it ready for others and does not come back: what costs nothing to one thread alone is the next one's.
  void change_hands();
  base::ProcessId self() const;

  /// Local. Messages that came before this call find their way into the new context.
  ContextPtr make_context(ContextSpec spec);
  /// Messages for a base below this are leftovers of an earlier life of this process and are dropped.
  void set_first_base(std::uint32_t base);
  /// No context of this base will be made: messages for it are dropped, and it takes no more memory than one whose context is gone.
  void skip_base(std::uint32_t base);

  // --- sending: dest is a rank of the context or kProcNull; tag from 0 to kTagUpperBound; arguments are checked by the caller.
  [[gnu::hot]] base::Status send(Context& context, const types::ConstBuffer& data, int dest, int tag, Mode mode, Plane plane = Plane::user);
  base::Result<Request*> isend(Context& context, const types::ConstBuffer& data, int dest, int tag, Mode mode,
                               Plane plane = Plane::user);
  /// As isend in standard mode; null where the message has left at once, so that there is nothing to wait for.
  /// @param keeps_copy of data that does not leave at once: the memory may be written to, or go
  base::Result<Request*> send_or_start(Context& context, const types::ConstBuffer& data, int dest, int tag, Plane plane,
                                       Caller caller = Caller::goes_on, bool keeps_copy = false);
  /// As isend on the user's plane; null where the message has left at once, and then `departed` says what it can be asked back with.
  base::Result<Request*> send_or_start(Context& context, const types::ConstBuffer& data, int dest, int tag, Mode mode, Departed& departed) {
    if (mode != Mode::synchronous && send_at_once(context, data, dest, tag, departed)) [[likely]] return nullptr;
    return isend(context, data, dest, tag, mode);
  }
  /// As send in standard mode, where the message leaves at once or goes nowhere; else nothing has happened.
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int dest, int tag);
  /// The request of a message that left at once, complete, for cancel().
  Request* request_of(Context& context, const Departed& departed);
  /// As isend, with the data copied and kept by the engine: the user's buffer is free at once (MPI_Bsend and friends account
  /// for the space in their own room).
  base::Result<Request*> isend_copied(Context& context, const types::ConstBuffer& data, int dest, int tag, Plane plane = Plane::user);

  // --- receiving: source is a rank, kAnySource or kProcNull; tag a tag or kAnyTag. A message longer than the buffer is an
  //     error of class truncate, with the buffer filled.
  [[gnu::hot]] base::Result<Outcome> recv(Context& context, const types::Buffer& into, int source, int tag, Plane plane = Plane::user);
  /// The same where the message is there, or comes within moments and nothing else is in the way; else nothing has happened.
  [[gnu::hot]] std::optional<base::Result<Outcome>> recv_at_once(Context& context, const types::Buffer& into, int source, int tag, Plane plane);
  base::Result<Request*> irecv(Context& context, const types::Buffer& into, int source, int tag, Plane plane = Plane::user,
                               Caller caller = Caller::goes_on);
  /// As irecv on the user's plane; null where the message was there, and then `received` tells of it.
  base::Result<Request*> receive_or_start(Context& context, const types::Buffer& into, int source, int tag, Outcome& received);

  base::Result<std::optional<Outcome>> iprobe(Context& context, int source, int tag);
  base::Result<Outcome> probe(Context& context, int source, int tag);
  struct Matched { Message* message = nullptr; Outcome outcome; };  ///< message is null for kProcNull
  base::Result<std::optional<Matched>> improbe(Context& context, int source, int tag);
  base::Result<Matched> mprobe(Context& context, int source, int tag);
  /// Consumes the message.
  base::Result<Outcome> mrecv(Message* message, types::Buffer into);
  base::Result<Request*> imrecv(Message* message, types::Buffer into);

  // --- persistent: made inactive; start makes them active again and again.
  base::Result<Request*> send_init(Context& context, const types::ConstBuffer& data, int dest, int tag, Mode mode);
  base::Result<Request*> recv_init(Context& context, const types::Buffer& into, int source, int tag);
  static base::Status start(Request& request);

  // --- requests (those without an engine concern other rooms' requests as well, of no engine)
  /// One round of progress and then: is it done?
  base::Result<bool> test(Request& request);
  /// Blocks until done. The operation's own error is in the request, not here.
  base::Status wait(Request& request);
  /// A completed persistent request becomes inactive, its outcome empty (MPI_Wait does this after reading it).
  static void deactivate(Request& request);
  /// Takes it back if it has not been matched; the request completes either way, a send when its receiver has answered.
  static base::Status cancel(Request& request);
  /// Gives the request back; an active one finishes by itself.
  static void release(Request* request);
  /// Gives many back, none of them null; for those of one engine the lock is taken once.
  static void release(std::span<Request* const> requests);

  // --- control messages: any length, in order per process pair, outside all contexts; for the creation of communicators.
  /// Errors: proc_aborted; those of the way to it (no_space where shared memory is full). What is on its way may still be lost
  /// with its receiver.
  base::Status send_control(base::ProcessId to, std::vector<std::byte> bytes);
  /// Makes now what a message to this process will need, so that sending does not fail for want of it. Errors: as send_control.
  base::Status reach(base::ProcessId process);
  void set_control_handler(ControlHandler handler);
  /// What is known of who is to be found there, without asking. Local. Errors: those of Transport::open.
  base::Result<transport::Presence> presence_at(const Route& route);
  /// Why the last way to this process was given up, in words; empty where there is another, or was none.
  std::string why_lost(base::ProcessId process) const;
  /// The process has ended what it was and begun anew: the way to it is asked for again when next needed, and what is under way
  /// to or from its earlier life ends with this error.
  void forget(base::ProcessId process, const base::Error& reason);

  // --- progress and waiting
  /// One bounded round over all transports and everything registered. Also the way to lend time to others' messages.
  base::Status progress();
  /// A look at the transports that have not been silent for long, and now and then a round: for one who begins something for which there
  /// may already be what it takes. A failure is met again by who waits.
  void look();
  /// Work done at each round of progress, under no lock; for collectives in progress and creations.
  /// Answers the number to remove it with, never 0.
  /// @param before_sleep for work that looks at something else than packets: what whoever waits does before it sleeps, and then it
  /// sleeps for a short time only.
  std::uint64_t add_progress(std::function<void()> work, std::function<void()> before_sleep = nullptr);
  void remove_progress(std::uint64_t number);
  /// Waits, making progress, until the condition holds (true) or the deadline has passed (false). Spins, then yields, then
  /// sleeps. The condition is evaluated without the engine's lock, and not again once it has held.
  base::Result<bool> wait_until(const std::function<bool()>& condition, base::Deadline deadline = base::Deadline::never());

  /// Waits, making progress, until a condition holds that this rank's process brings about without a message. It is evaluated under the
  /// engine's lock and must not call the engine. Errors: proc_aborted (that process has died or left).
  base::Status wait_for(Context& context, int rank, const std::function<bool()>& condition);
  // --- collectives that fail (collective_failure.cpp)
  /// Ends all operations of collectives on this communicator with this error, now and later, and tells the other members, whose
  /// collectives end as well: a member that has given up would be waited for without end. On return nothing of these operations
  /// touches the memory that they were given. Messages of the user are not concerned. Later calls change nothing.
  void fail_collectives(Context& context, const base::Error& reason);
  /// True once they have failed; for any thread, without a lock, as long as the context lives.
  static const std::atomic<bool>& collectives_have_failed(const Context& context);
  /// The reason, once they have.
  base::Error collective_failure(Context& context);
  /// This member has refused a call of a collective for its arguments, which has not taken place: the program may call again. The other
  /// members are told which collective it calls in its place; if that is another one than theirs, all members' collectives fail. Local.
  void note_refusal(Context& context, bool is_lasting, const base::Error& reason);
  /// After a call has taken its turn, where CollectiveTurns::is_disputed().
  void check_turn(Context& context, int tag);
  static CollectiveTurns& turns_of(Context& context);
  /// True unless what fail_collectives() has to tell still waits for room. Until then a member may take as good what it reads from
  /// memory that is the caller's again.
  bool has_told_failures();
  /// After collectives that went well: fails where a member had given one up while this process read from its memory. Local.
  /// Errors: the member's.
  base::Status confirm_reads(Context& context);

  /// May whoever waits keep its core for a moment? Not where processes outnumber cores.
  bool may_spin() const;

  /// Waits until all that was sent has left this process, or the deadline passes.
  bool flush(base::Deadline deadline);
  /// Wait until all sent messages have left this process and every receive of this context that was freed while active is complete,
  /// or until the deadline passes.
  bool flush(const Context& context, base::Deadline deadline);
  /// The same for the receives of all contexts, and until the handler has been given the control messages that have come, or begun to
  /// come: whoever ends here finds them no more, and their senders do not say them again. A receive from this process alone is not
  /// waited for, nor one whose sender has died or left.
  bool flush_and_hear(base::Deadline deadline);
  /// Is there nothing that flush_and_hear would wait for?
  bool is_quiet();

  struct Counts {
    std::uint64_t eager_sent = 0, rendezvous_sent = 0, single_copies = 0, parts_written = 0, unexpected = 0, posted_matches = 0, matched_below = 0;
    std::uint64_t control_sent = 0, control_bytes = 0, peers_contacted = 0, stale_dropped = 0;
    std::uint64_t unexpected_bytes_most = 0;  ///< of memory that unexpected messages took at a time
    std::uint64_t held_back = 0;              ///< times that a process was told to keep its messages for now
  };
  Counts counts() const;
  struct TransportCounts {
    std::string_view transport;  ///< its name
    transport::Transport::Counts counts;
  };
  /// Of the transports that are in use so far.
  std::vector<TransportCounts> transport_counts() const;

 private:
  /// The message has left, or goes nowhere.
  [[gnu::hot]] bool send_at_once(Context& context, const types::ConstBuffer& data, int dest, int tag, Departed& departed);

  std::unique_ptr<Core> core_;
};

}  // namespace shim::p2p
