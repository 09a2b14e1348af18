// SPDX-License-Identifier: BSD-3-Clause
// A session communicator and how one comes to be.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shim/base/context_id.hpp"
#include "shim/base/ids.hpp"
#include "shim/coll/coll.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/error_handler.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/session.hpp"

namespace shim::sessions {

/// Cartesian structure (MPI-4.1 §8.5).
struct Cartesian {
  std::vector<int> dims, periods, coords;
};

/// Held by shared_ptr: by its handle, and by every operation in progress on it. It keeps its session's Process alive.
class Communicator final : public Described {
 public:
  struct Parts {
    SessionPtr session;
    GroupPtr group;                       ///< of an intercommunicator: the local group
    base::ExtendedId id;
    p2p::ContextSpec context;
    ErrorHandlerPtr error_handler;
    InfoPtr info;
    std::string name;
    // Intercommunicators only, whose context addresses the remote group (MPI-4.1 §7.6):
    GroupPtr remote;                      ///< null for all others
    std::shared_ptr<Communicator> local;  ///< an intracommunicator of the local group, for what collectives do within it
  };
  /// Local. Made by the functions below alone, so that its session knows of it.
  Communicator(Process& process, Parts parts);
  static std::shared_ptr<Communicator> make(Process& process, Parts parts);

  Process& process() const { return *process_; }
  const SessionPtr& session() const { return parts_.session; }
  const GroupPtr& group() const { return parts_.group; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_inter() const { return parts_.remote != nullptr; }
  /// Null where this is no intercommunicator.
  const GroupPtr& remote_group() const { return parts_.remote; }
  const std::shared_ptr<Communicator>& local() const { return parts_.local; }
  /// How many processes the ranks of sends and receives may name: the remote group's of an intercommunicator, else all members.
  int peers() const { return peers_; }
  const base::ExtendedId& id() const { return parts_.id; }
  base::ContextPath path() const { return parts_.context.path; }
  p2p::Context& context() const { return *context_; }
  coll::Comm& coll() { return coll_; }

  ErrorHandlerPtr error_handler() const;
  void set_error_handler(ErrorHandlerPtr handler);
  std::string name() const;
  void set_name(std::string name);
  const std::optional<Cartesian>& cartesian() const { return cartesian_; }
  void set_cartesian(Cartesian cartesian) { cartesian_ = std::move(cartesian); }
  /// Never null.
  InfoPtr info() const { return parts_.info; }
  std::string description() const override;

  /// The path of the next child, or nothing when this communicator has used up those that need no communication. All members
  /// take it at each creation of a child, in the same order, so all get the same one.
  std::optional<base::ContextPath> next_child_path();
  /// Has it any left? Relaxed: children of one communicator are made one after the other (MPI-4.1 §6.13).
  bool has_child_path() const {
    const std::uint32_t last = is_inter() ? base::kMaxChild - 1 : base::kMaxChild;  // the last is local()'s
    return path().depth() < base::kPathLevels && children_.load(std::memory_order_relaxed) < last;
  }
  const Parts& parts() const { return parts_; }

 private:
  Process* process_;
  Parts parts_;
  int rank_, size_, peers_;
  p2p::ContextPtr context_;
  coll::Comm coll_;
  mutable std::mutex mutex_;  ///< guards the handler and the name in parts_
  std::atomic<std::uint32_t> children_{0};  ///< a plain count, pairs with nothing
  std::optional<Cartesian> cartesian_;
};
using CommunicatorPtr = std::shared_ptr<Communicator>;

/// MPI_Comm_create_from_group (MPI-4.1 §7.4.2): collective over the group and nobody else. Null for the empty group.
/// Errors: group (the caller is not a member), not_same (members disagree on tag or group; says who has what),
/// proc_aborted (a member has died; says which), other (time-out; names who has not arrived), arg (tag too long).
base::Result<CommunicatorPtr> create_from_group(const SessionPtr& session, GroupPtr group, const std::string& tag,
                                                InfoPtr info, ErrorHandlerPtr handler);

// The next three are collective over both groups of an intercommunicator, and make one (MPI-4.1 §7.6).
/// MPI_Comm_dup. Collective over the parent; without communication while the parent has child numbers left (127, on four
/// levels), else one exchange over the parent. The error handler goes over, info does not (MPI-4.1 §7.4.2).
base::Result<CommunicatorPtr> duplicate(const CommunicatorPtr& parent, bool with_topology);
/// MPI_Comm_split. color kUndefined gives null, and so does a color that the other group of an intercommunicator lacks.
/// Collective over the parent, one allgather. Errors: arg (negative color).
base::Result<CommunicatorPtr> split(const CommunicatorPtr& parent, int color, int key);
/// Collective over the parent (MPI_Comm_create); null where the caller is not in the group it gives. Members may give different
/// groups that have no process in common. Communicates as little as duplicate does. Errors: group.
base::Result<CommunicatorPtr> create(const CommunicatorPtr& parent, const GroupPtr& group);
/// Processes of the parent that share a node (MPI_COMM_TYPE_SHARED). Collective over the parent.
base::Result<CommunicatorPtr> split_by_node(const CommunicatorPtr& parent, int key);
/// Collective over the group alone (MPI_Comm_create_group). Errors: group (not a part of the parent's group, or the caller is
/// not in it), and those of create_from_group.
base::Result<CommunicatorPtr> create_subgroup(const CommunicatorPtr& parent, const GroupPtr& group, int tag);

/// identical (the same object), congruent (same group, same order), similar, unequal. Of intercommunicators both groups count; an
/// intercommunicator and an intracommunicator are unequal (MPI-4.1 §7.6.1).
Comparison compare(const Communicator& a, const Communicator& b);

// --- Cartesian topology. Arguments are checked inside: dims (sizes, directions), topology (no grid), arg (coordinates), rank.
/// Collective over the parent; communicates as little as duplicate does. Null for ranks beyond the grid. Ranks are never
/// reordered.
base::Result<CommunicatorPtr> cart_create(const CommunicatorPtr& parent, const std::vector<int>& dims,
                                          const std::vector<int>& periods, bool reorder);
base::Result<CommunicatorPtr> cart_sub(const CommunicatorPtr& comm, const std::vector<int>& remain);
base::Result<int> cart_rank(const Cartesian& cartesian, const std::vector<int>& coords);
base::Result<std::vector<int>> cart_coords(const Cartesian& cartesian, int rank);
struct Shift { int source, dest; };
base::Result<Shift> cart_shift(const Cartesian& cartesian, int direction, int displacement);
/// MPI_Dims_create: fills the zeros of dims as evenly as possible. Errors: dims.
base::Status dims_create(int processes, std::vector<int>& dims);

}  // namespace shim::sessions
