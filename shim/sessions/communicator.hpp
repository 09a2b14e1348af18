// SPDX-License-Identifier: BSD-3-Clause
// Communicator is a communicator made from a session; the functions below create communicators.
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
#include "shim/sessions/communicator_label.hpp"
#include "shim/sessions/error_handler.hpp"
#include "shim/sessions/failure_order.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/session.hpp"
#include "shim/sessions/topology.hpp"

namespace shim::sessions {

/// Held by shared_ptr: by its handle and by every operation in progress on it. Keeps its session's
/// Process alive.
///
/// Size: one or two functions for each property of an MPI communicator, most of one line. State
/// with rules of its own is in members: Attributes, FailureOrder, CommunicatorLabel, coll::Comm.
class Communicator final : public Described, private coll::Locality {
 public:
  struct Parts {
    SessionPtr session;
    GroupPtr group;  ///< local group of an intercommunicator
    base::ExtendedId id;
    p2p::ContextSpec context;
    ErrorHandlerPtr error_handler;
    InfoPtr info;
    std::string name;
    std::uint32_t vci = 0;  ///< of the process, open
    // Intercommunicators only, whose context addresses the remote group (MPI-4.1 §7.6):
    GroupPtr remote;  ///< null for intracommunicators
    /// Intracommunicator of the local group, for collectives within it.
    std::shared_ptr<Communicator> local;
    CreationTag tag = {};  ///< of this communicator, or of the one that it is derived from
    bool is_derived = false;
  };
  /// Local. make() also registers the communicator with its session.
  Communicator(Process& process, Parts parts);
  ~Communicator() override;
  static std::shared_ptr<Communicator> make(Process& process, Parts parts);

  Process& process() const { return *process_; }
  /// Return the engine of all operations on this communicator.
  p2p::Engine& engine() const { return coll_.engine(); }
  std::uint32_t vci() const { return parts_.vci; }
  const SessionPtr& session() const { return parts_.session; }
  const GroupPtr& group() const { return parts_.group; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_inter() const { return parts_.remote != nullptr; }
  /// Null for an intracommunicator.
  const GroupPtr& remote_group() const { return parts_.remote; }
  const std::shared_ptr<Communicator>& local() const { return parts_.local; }
  /// Return the number of ranks that sends and receives may name: of the remote group for an
  /// intercommunicator, else of the group.
  int peers() const { return peers_; }
  const base::ExtendedId& id() const { return parts_.id; }
  base::ContextPath path() const { return parts_.context.path; }
  p2p::Context& context() const { return *context_; }
  coll::Comm& coll() { return coll_; }

  ErrorHandlerPtr error_handler() const;
  void set_error_handler(ErrorHandlerPtr handler);
  std::string name() const { return label_->name(); }
  void set_name(std::string name) { label_->set_name(std::move(name)); }
  const Topology& topology() const { return topology_; }
  void set_topology(Topology topology) { topology_ = std::move(topology); }
  // Null if the communicator has another topology.
  const Cartesian* cartesian() const { return std::get_if<Cartesian>(&topology_); }
  const Graph* graph() const { return std::get_if<Graph>(&topology_); }
  const DistributedGraph* distributed_graph() const {
    return std::get_if<DistributedGraph>(&topology_);
  }
  /// Return the hints in force. Never null.
  InfoPtr info() const { return parts_.info; }
  /// Copy the known hints (MPI-4.1 §7.4.4) from `hints`, which may be null. They are stored for
  /// queries only and change no behavior.
  base::Status adopt_hints(const InfoPtr& hints);
  /// Return the attributes that users cached.
  Attributes& attributes() { return attributes_; }
  std::string description() const override { return label_->description(); }
  std::string description_with_origin() const override { return label_->description_with_origin(); }

  /// Return the context path of the next child (base::ContextPath); nothing if none is left, so
  /// that the child's creation must communicate. All members call it at each child creation, in
  /// equal order, so all get equal paths.
  std::optional<base::ContextPath> next_child_path();
  /// True if a child path is left. Relaxed: children of a communicator are created one at a time
  /// (MPI-4.1 §6.13).
  bool has_child_path() const {
    return path().child(children_.load(std::memory_order_relaxed) + 1).has_value();
  }
  const Parts& parts() const { return parts_; }
  /// See survivors.hpp.
  FailureOrder& failure_order() const { return failure_order_; }
  /// Return the number of the next agreement (consensus.hpp); all members take numbers in equal
  /// order.
  std::uint32_t next_consensus() { return consensuses_.fetch_add(1, std::memory_order_relaxed); }

 private:
  coll::MemorySharing sharing() const override;
  std::unique_ptr<const coll::Nodes> nodes() const override;
  std::optional<node::ShmCollSegmentId> allocate_coll_segment() const override;
  std::unique_ptr<node::ShmCollHandle> open_coll_segment(
      node::ShmCollSegmentId segment_id) const override;

  Process* process_;
  Parts parts_;
  int rank_, size_, peers_;
  std::shared_ptr<CommunicatorLabel> label_;
  p2p::ContextPtr context_;
  coll::Comm coll_;
  mutable std::mutex mutex_;  ///< guards the handler in parts_
  /// A plain count, pairs with nothing; child 1 of an intercommunicator is local().
  std::atomic<std::uint32_t> children_;
  std::atomic<std::uint32_t> consensuses_{0};  ///< a plain count, pairs with nothing
  mutable FailureOrder failure_order_;
  Topology topology_;
  Attributes attributes_;
};
using CommunicatorPtr = std::shared_ptr<Communicator>;

/// Topology of a communicator that is made from a group.
struct TopologyOfGroup {
  std::string text;  ///< kind and shape; members that pass different texts disagree
  GroupPtr members;  ///< the members of the group that are in the topology, by their ranks in it
};
/// MPI_Comm_create_from_group (MPI-4.1 §7.4.2). Collective over the group only; with a topology
/// over its members only, unless the exchange has a fence. Null for the empty group, and beyond the
/// topology. Errors: group (caller is not a member), not_same (members disagree on the group or the
/// topology, or on the tag and no thread can still join; names both), proc_aborted (a member died;
/// names it), other (time-out; names missing members), arg (tag too long).
base::Result<CommunicatorPtr> create_from_group(const SessionPtr& session, GroupPtr group,
                                                const std::string& tag, InfoPtr info,
                                                ErrorHandlerPtr handler,
                                                const TopologyOfGroup* topology = nullptr);

// If the parent is an intercommunicator, the next three are collective over both groups and return
// an intercommunicator (MPI-4.1 §7.6).
/// MPI_Comm_dup. Collective over the parent; no communication while the parent has child paths left
/// (base::ContextPath), else one exchange over the parent. Copies the error handler but not the
/// info (MPI-4.1 §7.4.2).
base::Result<CommunicatorPtr> duplicate(const CommunicatorPtr& parent, bool with_topology);
/// Return the task for MPI_Comm_idup of an intracommunicator that has no child path left
/// (has_child_path); `turn` is its position among the parent's collectives. The task passes the
/// duplicate to `made`, with the parent's topology.
coll::Task duplicate_by_exchange(coll::CollSeq seq, CommunicatorPtr parent,
                                 std::function<void(CommunicatorPtr)> made);
/// MPI_Comm_split. Null for color kUndefined, and for a color that the other group of an
/// intercommunicator lacks. Collective over the parent, one allgather. Errors: arg (negative
/// color).
base::Result<CommunicatorPtr> split(const CommunicatorPtr& parent, int color, int key);
/// MPI_Comm_create. Collective over the parent; null if the caller is not in its group. Members may
/// pass different disjoint groups. Communicates only if duplicate would. Errors: group.
base::Result<CommunicatorPtr> create(const CommunicatorPtr& parent, const GroupPtr& group);
/// Split the parent by node (MPI_COMM_TYPE_SHARED). Collective over the parent.
base::Result<CommunicatorPtr> split_by_node(const CommunicatorPtr& parent, int key);
/// Split the parent by hardware instance, for a kind named by MPI_Get_hw_resource_info or
/// "mpi_shared_memory" (MPI-4.1 §7.4.2). Null for processes bound to no instance, and for unknown
/// kinds. Collective over the parent.
base::Result<CommunicatorPtr> split_by_hardware(const CommunicatorPtr& parent,
                                                const std::string& kind, int key);
/// Result of split_at_next_level: the kind of hardware, and the part of the parent.
struct HardwareLevel {
  std::string kind;
  CommunicatorPtr communicator;
};
/// Split an intracommunicator by the largest kind that divides it, nodes first; null if no kind
/// does. Collective over the parent.
base::Result<HardwareLevel> split_at_next_level(const CommunicatorPtr& parent, int key);
/// Split the parent by process set: one communicator per set named by its members; null for
/// processes outside the set they name. A name has several sets if the sets differ by process
/// (mpi://SELF). Collective over the parent.
base::Result<CommunicatorPtr> split_by_pset(const CommunicatorPtr& parent, const std::string& name,
                                            int key);
/// MPI_Comm_create_group. Collective over the group only. Errors: group (not a part of the parent's
/// group, or without the caller), and those of create_from_group.
base::Result<CommunicatorPtr> create_subgroup(const CommunicatorPtr& parent, GroupPtr group,
                                              int tag);

/// Return identical (one object), congruent (equal groups in equal order), similar or unequal.
/// Compares both groups of intercommunicators; an intercommunicator and an intracommunicator are
/// unequal (MPI-4.1 §7.6.1).
Comparison compare(const Communicator& a, const Communicator& b);

}  // namespace shim::sessions
