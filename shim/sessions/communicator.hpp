// SPDX-License-Identifier: BSD-3-Clause
// A session communicator and how one comes to be.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shim/base/context_id.hpp"
#include "shim/base/ids.hpp"
#include "shim/coll/coll.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/attributes.hpp"
#include "shim/sessions/error_handler.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/session.hpp"
#include "shim/sessions/topology.hpp"

namespace shim::sessions {


/// Held by shared_ptr: by its handle, and by every operation in progress on it. It keeps its session's Process alive.
class Communicator final : public Described, private coll::Locality {
 public:
  struct Parts {
    SessionPtr session;
    GroupPtr group;                       ///< of an intercommunicator: the local group
    base::ExtendedId id;
    p2p::ContextSpec context;
    ErrorHandlerPtr error_handler;
    InfoPtr info;
    std::string name;
    std::uint32_t lane = 0;               ///< of the process, and open there
    // Intercommunicators only, whose context addresses the remote group (MPI-4.1 §7.6):
    GroupPtr remote;                      ///< null for all others
    std::shared_ptr<Communicator> local;  ///< an intracommunicator of the local group, for what collectives do within it
  };
  /// Local. Made by the functions below alone, so that its session knows of it.
  Communicator(Process& process, Parts parts);
  static std::shared_ptr<Communicator> make(Process& process, Parts parts);

  Process& process() const { return *process_; }
  /// In which all goes on that is done on it.
  p2p::Engine& engine() const { return coll_.engine(); }
  std::uint32_t lane() const { return parts_.lane; }
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
  const Topology& topology() const { return topology_; }
  void set_topology(Topology topology) { topology_ = std::move(topology); }
  // Null where the topology is another.
  const Cartesian* cartesian() const { return std::get_if<Cartesian>(&topology_); }
  const Graph* graph() const { return std::get_if<Graph>(&topology_); }
  const DistributedGraph* distributed_graph() const { return std::get_if<DistributedGraph>(&topology_); }
  /// The hints that are in force. Never null.
  InfoPtr info() const { return parts_.info; }
  /// Takes over the hints that are known (MPI-4.1 §7.4.4), of a null info none. They are kept for those who ask; nothing here is
  /// faster for them.
  base::Status take_hints(const InfoPtr& hints);
  /// What users have cached here.
  Attributes& attributes() { return attributes_; }
  std::string description() const override;

  /// The path of the next child, or nothing when this communicator has used up those that need no communication. All members
  /// take it at each creation of a child, in the same order, so all get the same one.
  std::optional<base::ContextPath> next_child_path();
  /// Has it any left? Relaxed: children of one communicator are made one after the other (MPI-4.1 §6.13).
  bool has_child_path() const { return path().child(children_.load(std::memory_order_relaxed) + 1).has_value(); }
  const Parts& parts() const { return parts_; }

 private:
  coll::Sharing sharing() const override;
  std::unique_ptr<const coll::Nodes> nodes() const override;
  std::optional<transport::BoardPlace> take_board() const override;
  std::unique_ptr<transport::Board> open_board(transport::BoardPlace place) const override;

  Process* process_;
  Parts parts_;
  int rank_, size_, peers_;
  p2p::ContextPtr context_;
  coll::Comm coll_;
  mutable std::mutex mutex_;  ///< guards the handler and the name in parts_
  std::atomic<std::uint32_t> children_;  ///< a plain count, pairs with nothing; the first of an intercommunicator is local()
  Topology topology_;
  Attributes attributes_;
};
using CommunicatorPtr = std::shared_ptr<Communicator>;

/// MPI_Comm_create_from_group (MPI-4.1 §7.4.2): collective over the group and nobody else. Null for the empty group.
/// Errors: group (the caller is not a member), not_same (members disagree on the group, or on the tag where no thread
/// can come to it yet; says who has what), proc_aborted (a member has died; says which), other (time-out; names who has not arrived),
/// arg (tag too long).
base::Result<CommunicatorPtr> create_from_group(const SessionPtr& session, GroupPtr group, const std::string& tag,
                                                InfoPtr info, ErrorHandlerPtr handler);

// The next three are collective over both groups of an intercommunicator, and make one (MPI-4.1 §7.6).
/// MPI_Comm_dup. Collective over the parent; without communication while the parent has child numbers left
/// (base::ContextPath), else one exchange over the parent. The error handler goes over, info does not (MPI-4.1 §7.4.2).
base::Result<CommunicatorPtr> duplicate(const CommunicatorPtr& parent, bool with_topology);
/// The same for MPI_Comm_idup where the parent has no number left (has_child_path) and is no intercommunicator: a task on the parent,
/// which hands the duplicate to `made`, with the parent's topology.
coll::Task duplicate_by_exchange(coll::Turn turn, CommunicatorPtr parent, std::function<void(CommunicatorPtr)> made);
/// MPI_Comm_split. color kUndefined gives null, and so does a color that the other group of an intercommunicator lacks.
/// Collective over the parent, one allgather. Errors: arg (negative color).
base::Result<CommunicatorPtr> split(const CommunicatorPtr& parent, int color, int key);
/// Collective over the parent (MPI_Comm_create); null where the caller is not in the group it gives. Members may give different
/// groups that have no process in common. Communicates as little as duplicate does. Errors: group.
base::Result<CommunicatorPtr> create(const CommunicatorPtr& parent, const GroupPtr& group);
/// Processes of the parent that share a node (MPI_COMM_TYPE_SHARED). Collective over the parent.
base::Result<CommunicatorPtr> split_by_node(const CommunicatorPtr& parent, int key);
/// Processes of the parent that are bound to the same instance of a kind of hardware, by the names that MPI_Get_hw_resource_info
/// gives or "mpi_shared_memory" (MPI-4.1 §7.4.2); null for those that are bound to none, and for kinds that are not known.
/// Collective over the parent.
base::Result<CommunicatorPtr> split_by_hardware(const CommunicatorPtr& parent, const std::string& kind, int key);
/// The same for the largest kind that divides the parent, its nodes first; null where none does.
struct Level {
  std::string kind;
  CommunicatorPtr communicator;
};
base::Result<Level> split_at_next_level(const CommunicatorPtr& parent, int key);
/// Those who name the same process set and are in it; null for all others. Collective over the parent.
base::Result<CommunicatorPtr> split_by_pset(const CommunicatorPtr& parent, const std::string& name, int key);
/// Collective over the group alone (MPI_Comm_create_group). Errors: group (not a part of the parent's group, or the caller is
/// not in it), and those of create_from_group.
base::Result<CommunicatorPtr> create_subgroup(const CommunicatorPtr& parent, GroupPtr group, int tag);

/// identical (the same object), congruent (same group, same order), similar, unequal. Of intercommunicators both groups count; an
/// intercommunicator and an intracommunicator are unequal (MPI-4.1 §7.6.1).
Comparison compare(const Communicator& a, const Communicator& b);

}  // namespace shim::sessions
