// SPDX-License-Identifier: BSD-3-Clause
// Collective operations on a communicator, as tasks on top of the point-to-point layer.
// Each algorithm is a coroutine in a file of its own and serves the blocking, the non-blocking and
// the persistent form. The table in algorithms.cpp selects the algorithm.
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

#include "shim/coll/integers.hpp"
#include "shim/coll/nodes.hpp"
#include "shim/coll/scratch_pool.hpp"
#include "shim/coll/task.hpp"
#include "shim/node/coll_segment.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/types/types.hpp"

namespace shim::coll {

struct AlgorithmTable;
const AlgorithmTable& default_table();
/// Return the checksum of a table's rows from a tuning file; 0: none.
std::uint32_t checksum_of(const AlgorithmTable& table);

/// Maps the members of a communicator to nodes.
class Locality {
 public:
  virtual ~Locality() = default;
  /// Return which memory all members share. Time grows with the number of members.
  virtual MemorySharing sharing() const = 0;
  /// Return the nodes of the members, or null if node-aware algorithms have no benefit (Nodes::of).
  /// Time grows with the number of members.
  virtual std::unique_ptr<const Nodes> nodes() const = 0;
  /// Allocate a collective segment for members of one node; nullopt if none is left. Only rank 0
  /// calls this; it hosts the segment and broadcasts the id, and then all members open the segment.
  virtual std::optional<node::ShmCollSegmentId> allocate_coll_segment() const = 0;
  virtual std::unique_ptr<node::ShmCollHandle> open_coll_segment(
      node::ShmCollSegmentId segment_id) const = 0;
};

/// State of a communicator that collectives use. One object per communicator, owned by it.
class Comm {
 public:
  /// Attach to a communicator's context. All communicators of the process share `scratch`. `local`
  /// is set for intercommunicators only: a communicator of the local group, on which no other
  /// collective runs during a collective on this object. A null `locality` means that the nodes are
  /// unknown. `table` is the process's; it outlives the object.
  Comm(p2p::Engine& engine, p2p::Context& context, ScratchPoolPtr scratch, int rank, int size,
       Comm* local = nullptr, const Locality* locality = nullptr,
       const AlgorithmTable& table = default_table())
      : engine_(&engine),
        context_(&context),
        numbers_(&p2p::Engine::numbers_of(context)),
        has_failed_(&p2p::Engine::collectives_have_failed(context)),
        scratch_(std::move(scratch)),
        local_(local),
        locality_(locality),
        table_(&table),
        announced_{checksum_of(table)},
        rank_(rank),
        size_(size) {}
  p2p::Engine& engine() const { return *engine_; }
  p2p::Context& context() const { return *context_; }
  /// True if no collective on this communicator can succeed any more.
  bool has_failed() const {
    // acquire: pairs with the release in CollectiveFailures::end_collectives
    return has_failed_->load(std::memory_order_acquire) ||
           (local_ != nullptr && local_->has_failed());
  }
  /// Return the reason for the failure, if has_failed().
  base::Error failure() const {
    return has_failed_->load(std::memory_order_acquire) ? engine_->collective_failure(*context_)
                                                        : local_->failure();
  }
  /// Fail all members' collectives (Engine::fail_collectives) because this member gave one up. On
  /// an intercommunicator, fail them in both groups.
  void fail(const base::Error& reason) {
    engine_->fail_collectives(*context_, reason);
    if (local_ != nullptr) local_->fail(reason);
  }
  const ScratchPoolPtr& scratch() const { return scratch_; }
  int rank() const { return rank_; }
  /// Return the size of the group that ranks refer to: on an intercommunicator, the remote group.
  int size() const { return size_; }
  /// Return the local group's communicator; null on an intracommunicator.
  Comm* local() const { return local_; }
  MemorySharing sharing() const {
    // relaxed: two threads that compute it get equal values
    int known = sharing_.load(std::memory_order_relaxed);
    if (known == kUnknown) [[unlikely]] {
      known = static_cast<int>(locality_ != nullptr ? locality_->sharing()
                                                    : MemorySharing::nothing);
      sharing_.store(known, std::memory_order_relaxed);
    }
    return static_cast<MemorySharing>(known);
  }
  /// Return the nodes of the members; null on intercommunicators and if node-aware algorithms have
  /// no benefit.
  const Nodes* nodes() const {
    if (locality_ == nullptr || local_ != nullptr || size_ < kMinSizeOverNodes ||
        sharing() != MemorySharing::nothing)
      return nullptr;
    std::call_once(*nodes_known_, [this] { nodes_ = locality_->nodes(); });
    return nodes_.get();
  }
  /// Return the table that selects the algorithms.
  const AlgorithmTable& table() const { return *table_; }
  /// Return the locality; null if unknown.
  const Locality* locality() const { return locality_; }
  /// State of the communicator's shm collectives (shm_collective.hpp).
  struct ShmCollState {
    bool is_agreed = false;                       ///< the members know whether they have a segment
    std::unique_ptr<node::ShmCollHandle> handle;  ///< null: no segment
    bool has_open_round = false;                  ///< of a collective that fell back to messages
    int collectives_without_segment = 0;  ///< eligible ones before the members agreed on a segment
  };
  ShmCollState& shm_coll_state() { return shm_coll_state_; }
  /// Return the tag of the next collective. All members call collectives in the same order and so
  /// get equal tags.
  int next_tag(std::uint8_t call = 0) {
    return checked(numbers_->next(with_checksum(call, false)));
  }
  /// Return the tag for all starts of the next persistent collective. Its range is disjoint from
  /// the range of next_tag(), which wraps around.
  int next_persistent_tag(std::uint8_t call) {
    return checked(numbers_->next_persistent(with_checksum(call, true)));
  }
  /// Record that this member refused a call for its arguments (Engine::record_refusal).
  void record_refusal(const base::Error& reason, bool is_persistent_collective) {
    engine_->record_refusal(*context_, is_persistent_collective, reason);
    if (local_ != nullptr) local_->record_refusal(reason, is_persistent_collective);
  }

 private:
  p2p::Engine* engine_;
  p2p::Context* context_;
  p2p::CollectiveNumbers* numbers_;
  const std::atomic<bool>* has_failed_;
  ScratchPoolPtr scratch_;
  Comm* local_;
  const Locality* locality_;
  const AlgorithmTable* table_;
  /// How far this member has announced its table to the others (announce_table).
  struct AnnouncedTable {
    std::uint32_t checksum;
    int calls = 0;  ///< with a tuning file: so far, from 4 on 4 to 7
  };
  AnnouncedTable announced_;
  static constexpr int kUnknown = -1;
  mutable std::atomic<int> sharing_{kUnknown};
  /// Fewest members for node-aware algorithms: two on one node and one on another.
  static constexpr int kMinSizeOverNodes = 3;
  std::unique_ptr<std::once_flag> nodes_known_ = std::make_unique<std::once_flag>();
  mutable std::unique_ptr<const Nodes> nodes_;
  /// Return the number of a collective combined with one byte of the table's checksum. Members with
  /// other tables find other numbers.
  std::uint8_t with_checksum(std::uint8_t call, bool is_persistent_collective) {
    if (announced_.checksum == 0) [[likely]]
      return call;
    return announce_table(call, is_persistent_collective);
  }
  std::uint8_t announce_table(std::uint8_t call, bool is_persistent_collective);
  int checked(int tag) {
    if (numbers_->needs_call_check()) [[unlikely]]
      engine_->check_call_number(*context_, tag);
    return tag;
  }
  ShmCollState shm_coll_state_;
  int rank_, size_;
};

/// Position of a collective in its communicator's order, with the tag of its messages. Take it when
/// the collective is called, after the check of its arguments: a refused call takes none, so that
/// another call may follow.
struct CollSeq {
  /// Take the next position of the communicator. `call` identifies the collective, to detect
  /// members that call a different one after a refusal; 0: not checked.
  CollSeq(Comm& of, std::uint8_t call = 0)  // NOLINT(google-explicit-constructor)
      : comm(&of),
        tag(of.next_tag(call)),
        local_tag(of.local() != nullptr ? of.local()->next_tag(call) : 0) {}
  /// Return the position of a blocking collective. The collective may run to its end inside the
  /// function that returns its task.
  static CollSeq blocking(Comm& of, std::uint8_t call = 0) {
    CollSeq seq(of, call);
    seq.is_blocking = true;
    return seq;
  }
  /// Return the position for all starts of a persistent collective. Members may start theirs in
  /// different orders (MPI-4.1 §6.13); messages of one start do not overtake messages of the
  /// previous start.
  static CollSeq persistent(Comm& of, std::uint8_t call = 0) {
    return {&of, of.next_persistent_tag(call),
            of.local() != nullptr ? of.local()->next_persistent_tag(call) : 0};
  }

  Comm* comm;
  int tag;
  int local_tag;  ///< within the local group of an intercommunicator
  bool is_blocking = false;

 private:
  CollSeq(Comm* of, int number, int local_number)
      : comm(of), tag(number), local_tag(local_number) {}
};

/// True if a send buffer stands for MPI_IN_PLACE (null type).
inline bool is_in_place(const types::ConstBuffer& buffer) { return buffer.type == nullptr; }

/// Counts and displacements of a v-form by rank, in items of the type.
struct Blocks {
  Integers counts;
  Integers displacements;
};

/// Messages that `exchange` sends and receives.
struct OutgoingBlock {
  types::ConstBuffer data;
  int dest;
};
struct IncomingBlock {
  types::Buffer into;
  int source;
};

// All members of the communicator must call these functions in the same order; the order in which
// they run the returned tasks does not matter. The caller checks arguments. Buffers, types,
// operations, and the arrays behind spans must live until the task has ended.
//
// On intercommunicators (MPI-4.1 §6.2.2) call only barrier, bcast, reduce, allreduce,
// reduce_scatter, reduce_scatter_block, and exchange, which implements all other collectives there.
// These have no in-place forms. `root` is kRoot at the root, p2p::kProcNull at the other members of
// the root's group, and the root's rank at the members of the other group; counts are the local
// group's.
inline constexpr int kRoot = -3;
Task barrier(const CollSeq& seq);
Task bcast(const CollSeq& seq, const types::Buffer& data, int root);
Task reduce(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
            const types::Type& type, const types::Op& op, int root);
Task allreduce(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
               std::uint64_t count, const types::Type& type, const types::Op& op);
Task gather(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive,
            int root);  ///< receive.count: items per rank
Task gatherv(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
             const Blocks& blocks, const types::Type* type, int root);
Task scatter(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive,
             int root);  ///< receive.type null: in place
Task scatterv(const CollSeq& seq, const void* send, const Blocks& blocks, const types::Type* type,
              const types::Buffer& receive, int root);
Task allgather(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive);
Task allgatherv(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                const Blocks& blocks, const types::Type& type);
Task alltoall(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive);
Task alltoallv(const CollSeq& seq, const void* send, const Blocks& send_blocks,
               const types::Type* send_type /* null: in place */, void* receive,
               const Blocks& receive_blocks, const types::Type& receive_type);
/// Buffers by rank of the peer. `send` empty: in place.
Task alltoallw(const CollSeq& seq, std::span<const types::ConstBuffer> send,
               std::span<const types::Buffer> receive);
/// Send the messages of `out` and receive those of `in`; the receiver of a message must list it as
/// well (neighborhood collectives, MPI-4.1 §8.6). Several messages from one process to another
/// match in the order in which the sender's `out` and the receiver's `in` list them.
Task exchange(const CollSeq& seq, std::span<const OutgoingBlock> out,
              std::span<const IncomingBlock> in);
Task scan(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
          const types::Type& type, const types::Op& op);
Task exscan(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
            const types::Type& type, const types::Op& op);
Task reduce_scatter(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                    const Integers& counts, const types::Type& type, const types::Op& op);
Task reduce_scatter_block(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                          std::uint64_t count, const types::Type& type, const types::Op& op);

/// Return a task that runs `task` and then ends with final_status().
Task ending_as(Task task, std::function<base::Status()> final_status);

/// Run a task to its end, making progress. Errors: those of its operations (truncate, proc_aborted,
/// op, ...), no_mem. An error other than a mismatch (Requests::Faults) or the result of ending_as()
/// makes all members' collectives on the communicator fail, now and later. When run() returns, the
/// buffers are no longer in use.
base::Status run_to_end(Comm& comm, Task task);
inline base::Status run(Comm& comm, Task task) {
  if (task.is_over()) [[likely]]
    return task.take_result();
  return run_to_end(comm, std::move(task));
}
/// Start a task; the engine's progress resumes it and completes the request. The caller owns the
/// request, as with isend. Errors: none; the request holds the task's error.
base::Result<p2p::Request*> start(Comm& comm, Task task);
/// Return an inactive request for a persistent collective (MPI-4.1 §6.13). Each Engine::start makes
/// and starts a task. Either all tasks use one CollSeq::persistent(), or each task takes a CollSeq
/// of its own, and then all members must start it in the same order relative to other collectives.
p2p::Request* prepare(Comm& comm, std::function<Task()> make_task);

}  // namespace shim::coll
