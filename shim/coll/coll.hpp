// SPDX-License-Identifier: BSD-3-Clause
// Collectives on a communicator as point-to-point sees it. One algorithm per file, written as a coroutine: the same text serves
// the blocking, the non-blocking and the persistent form. algorithms.cpp holds the one table that says which runs when.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "shim/coll/agreed_ways.hpp"
#include "shim/coll/integers.hpp"
#include "shim/coll/nodes.hpp"
#include "shim/coll/scratch_pool.hpp"
#include "shim/coll/task.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/transport/shm/board.hpp"
#include "shim/types/types.hpp"

namespace shim::coll {

/// Where the members of a communicator are.
class Locality {
 public:
  virtual ~Locality() = default;
  /// Takes time that grows with the members.
  virtual Sharing sharing() const = 0;
  /// Likewise. Null where there is nothing to be gained by knowing them (Nodes::of).
  virtual std::unique_ptr<const Nodes> nodes() const = 0;
  /// For members that share boards: the host takes one, where there is one left, and tells the others where it is.
  virtual std::optional<transport::BoardPlace> take_board() const = 0;
  virtual std::unique_ptr<transport::Board> open_board(transport::BoardPlace place) const = 0;
};

/// What a collective needs to know of a communicator. Lives in the communicator; one per communicator.
class Comm {
 public:
  /// @param scratch shared by all communicators of the process.
  /// @param local of an intercommunicator: its own group's, which nobody else makes collectives on while one of this is called.
  /// @param locality null: nothing is known of it
  Comm(p2p::Engine& engine, p2p::Context& context, ScratchPoolPtr scratch, int rank, int size, Comm* local = nullptr,
       const Locality* locality = nullptr)
      : engine_(&engine),
        context_(&context),
        turns_(&p2p::Engine::turns_of(context)),
        has_failed_(&p2p::Engine::collectives_have_failed(context)),
        scratch_(std::move(scratch)),
        local_(local),
        locality_(locality),
        rank_(rank),
        size_(size) {}
  p2p::Engine& engine() const { return *engine_; }
  p2p::Context& context() const { return *context_; }
  /// True once no collective on this communicator can succeed any more.
  bool has_failed() const {
    // acquire: pairs with the release in Core::fail_collectives
    return has_failed_->load(std::memory_order_acquire) || (local_ != nullptr && local_->has_failed());
  }
  /// The reason, where it has failed.
  base::Error failure() const {
    return has_failed_->load(std::memory_order_acquire) ? engine_->collective_failure(*context_) : local_->failure();
  }
  /// This member has given a collective up: all members' collectives end (Engine::fail_collectives), of both groups of an
  /// intercommunicator.
  void fail(const base::Error& reason) {
    engine_->fail_collectives(*context_, reason);
    if (local_ != nullptr) local_->fail(reason);
  }
  const ScratchPoolPtr& scratch() const { return scratch_; }
  int rank() const { return rank_; }
  /// Of all processes; of an intercommunicator: of those that ranks of its messages name, the other group's.
  int size() const { return size_; }
  /// Null where this is no intercommunicator.
  Comm* local() const { return local_; }
  Sharing sharing() const {
    // relaxed: who finds it out twice finds the same
    int known = sharing_.load(std::memory_order_relaxed);
    if (known == kUnknown) [[unlikely]] {
      known = static_cast<int>(locality_ != nullptr ? locality_->sharing() : Sharing::nothing);
      sharing_.store(known, std::memory_order_relaxed);
    }
    return static_cast<Sharing>(known);
  }
  /// Of those among whom collectives are; null where there is nothing to be gained by them, and of intercommunicators.
  const Nodes* nodes() const {
    if (locality_ == nullptr || local_ != nullptr || size_ < kFewestOverNodes || sharing() != Sharing::nothing) return nullptr;
    std::call_once(*nodes_known_, [this] { nodes_ = locality_->nodes(); });
    return nodes_.get();
  }
  /// Null where nothing is known of it.
  const Locality* locality() const { return locality_; }
  /// For meeting.hpp: where blocking collectives meet, once the members have agreed on it.
  struct MeetingPlace {
    /// How two members give to each other what is long: first over belts, second by messages.
    AgreedWays& exchange_of(std::uint64_t bytes, bool is_one_way) { return exchanges[is_one_way][bytes <= kEager ? 0 : bytes < kLong ? 1 : 2]; }

    static constexpr std::uint64_t kEager = 8 * 1024, kLong = 512 * 1024;  ///< messages change their ways at about these
    static constexpr std::uint32_t kFewest = 16, kMost = 1024;  ///< exchanges between comparisons: one by messages can take a multiple
    bool is_agreed_on = false;
    std::unique_ptr<transport::Board> board;  ///< null: nowhere
    bool is_open = false;                     ///< a collective that met there goes on with messages
    int collectives_before = 0;               ///< that could have met, before the members agreed on it
    using Exchanges = std::array<AgreedWays, 3>;
    static Exchanges none_yet() { return {AgreedWays(kFewest, kMost), AgreedWays(kFewest, kMost), AgreedWays(kFewest, kMost)}; }
    std::array<Exchanges, 2> exchanges{none_yet(), none_yet()};  ///< both ways, and of one member alone
  };
  MeetingPlace& meeting_place() { return meeting_place_; }
  /// The tag of the next collective: all members call collectives in the same order, so all take the same one.
  int next_tag(std::uint8_t call = 0) { return checked(turns_->next(call)); }
  /// The tag of the next persistent collective, for all its starts. Out of the others' way, who come round to their first one.
  int next_lasting_tag(std::uint8_t call) { return checked(turns_->next_lasting(call)); }
  /// This member has refused a call for its arguments; see Engine::note_refusal.
  void note_refusal(const base::Error& reason, bool is_lasting) {
    engine_->note_refusal(*context_, is_lasting, reason);
    if (local_ != nullptr) local_->note_refusal(reason, is_lasting);
  }

 private:
  p2p::Engine* engine_;
  p2p::Context* context_;
  p2p::CollectiveTurns* turns_;
  const std::atomic<bool>* has_failed_;
  ScratchPoolPtr scratch_;
  Comm* local_;
  const Locality* locality_;
  static constexpr int kUnknown = -1;
  mutable std::atomic<int> sharing_{kUnknown};
  static constexpr int kFewestOverNodes = 3;  ///< two nodes, one of which has two
  std::unique_ptr<std::once_flag> nodes_known_ = std::make_unique<std::once_flag>();
  mutable std::unique_ptr<const Nodes> nodes_;
  int checked(int tag) {
    if (turns_->is_disputed()) [[unlikely]] engine_->check_turn(*context_, tag);
    return tag;
  }
  MeetingPlace meeting_place_;
  int rank_, size_;
};

/// A collective's place among those of its communicator: the tag of its messages. Taken when the collective is called, after its
/// arguments were looked at: a call that is refused for them has not taken place, and another may follow.
struct Turn {
  /// @param call which collective, so that members that call another one after a refusal are found; 0: not to be told apart
  Turn(Comm& of, std::uint8_t call = 0)  // NOLINT(google-explicit-constructor)
      : comm(&of), tag(of.next_tag(call)), local_tag(of.local() != nullptr ? of.local()->next_tag(call) : 0) {}
  /// For a collective that all members run to its end where they call it: what is made of it may have been run when it is answered.
  static Turn blocking(Comm& of, std::uint8_t call = 0) {
    Turn turn(of, call);
    turn.is_blocking = true;
    return turn;
  }
  /// For all starts of a persistent collective: members may start theirs in different orders (MPI-4.1 §6.13), and messages of one
  /// start do not overtake those of the last.
  static Turn lasting(Comm& of, std::uint8_t call = 0) {
    return {&of, of.next_lasting_tag(call), of.local() != nullptr ? of.local()->next_lasting_tag(call) : 0};
  }

  Comm* comm;
  int tag;
  int local_tag;  ///< within the own group of an intercommunicator
  bool is_blocking = false;

 private:
  Turn(Comm* of, int number, int local_number) : comm(of), tag(number), local_tag(local_number) {}
};

/// For arguments that may be MPI_IN_PLACE: a send buffer with a null type means in place.
inline bool is_in_place(const types::ConstBuffer& buffer) { return buffer.type == nullptr; }

/// counts and displacements of the v-forms, in items of the type; by rank.
struct Blocks {
  Integers counts;
  Integers displacements;
};

/// Messages of `exchange`.
struct Outgoing {
  types::ConstBuffer data;
  int dest;
};
struct Incoming {
  types::Buffer into;
  int source;
};

// Collective: all members of the communicator make these calls in the same order (each takes its turn when it is called, not
// when it is run). Arguments are checked by the caller. Buffers, types, operations, and the arrays behind spans
// must live until the task has ended.
//
// On intercommunicators (MPI-4.1 §6.2.2): barrier, bcast, reduce, allreduce, reduce_scatter, reduce_scatter_block, and exchange, which
// all others are there; in place nowhere. A root is kRoot at itself, p2p::kProcNull at the others of its group, and its rank in the
// other group; counts are those of the own group.
inline constexpr int kRoot = -3;
Task barrier(const Turn& turn);
Task bcast(const Turn& turn, const types::Buffer& data, int root);
Task reduce(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
            const types::Op& op, int root);
Task allreduce(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
               const types::Op& op);
Task gather(const Turn& turn, const types::ConstBuffer& send, const types::Buffer& receive, int root);    ///< receive.count: items per rank
Task gatherv(const Turn& turn, const types::ConstBuffer& send, void* receive, const Blocks& blocks, const types::Type* type, int root);
Task scatter(const Turn& turn, const types::ConstBuffer& send, const types::Buffer& receive, int root);   ///< receive.type null: in place
Task scatterv(const Turn& turn, const void* send, const Blocks& blocks, const types::Type* type, const types::Buffer& receive, int root);
Task allgather(const Turn& turn, const types::ConstBuffer& send, const types::Buffer& receive);
Task allgatherv(const Turn& turn, const types::ConstBuffer& send, void* receive, const Blocks& blocks, const types::Type& type);
Task alltoall(const Turn& turn, const types::ConstBuffer& send, const types::Buffer& receive);
Task alltoallv(const Turn& turn, const void* send, const Blocks& send_blocks, const types::Type* send_type /* null: in place */,
               void* receive, const Blocks& receive_blocks, const types::Type& receive_type);
/// Types and places differ by peer; by rank. `send` empty: in place.
Task alltoallw(const Turn& turn, std::span<const types::ConstBuffer> send, std::span<const types::Buffer> receive);
/// Messages between processes that name each other (neighbourhood collectives, MPI-4.1 §8.6). The messages from one process are
/// received in the order of `in`, sent in the order of `out`.
Task exchange(const Turn& turn, std::span<const Outgoing> out, std::span<const Incoming> in);
Task scan(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
          const types::Op& op);
Task exscan(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
            const types::Op& op);
Task reduce_scatter(const Turn& turn, const types::ConstBuffer& send, void* receive, const Integers& counts,
                    const types::Type& type, const types::Op& op);
Task reduce_scatter_block(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count,
                          const types::Type& type, const types::Op& op);

/// A task that runs another one and then asks `verdict` how the collective has ended.
Task ending_as(Task task, std::function<base::Status()> verdict);

/// Runs a task to its end, making progress. Errors: those of the operations inside (truncate, proc_aborted, op, ...), no_mem.
/// After any but truncate all members' collectives on the communicator have failed, now and later; nothing uses the buffers any more.
base::Status run_to_end(Comm& comm, Task task);
inline base::Status run(Comm& comm, Task task) {
  if (task.is_over()) [[likely]] return task.take_result();
  return run_to_end(comm, std::move(task));
}
/// Starts a task; the engine's progress moves it along, and the request completes with it. The request is the caller's, as one of
/// isend. Errors: none; the task's own error is in the request.
base::Result<p2p::Request*> start(Comm& comm, Task task);
/// A persistent collective (MPI-4.1 §6.13), inactive at first; Engine::start makes a task each time and starts it. The tasks have
/// one lasting turn, or the members start them in the same order as all other collectives.
p2p::Request* prepare(Comm& comm, std::function<Task()> make_task);

}  // namespace shim::coll
