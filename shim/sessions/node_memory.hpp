// SPDX-License-Identifier: BSD-3-Clause
// NodeMemory is this process's part in its node: the node segment, what is stored there, and the
// state of the other processes of the node as the segment shows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/node/coll_segment.hpp"
#include "shim/node/node_hardware.hpp"
#include "shim/node/node_segment.hpp"
#include "shim/node/shared_area.hpp"
#include "shim/node/shm_rendezvous.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/factories.hpp"
#include "shim/transport/shm/shm.hpp"
#include "shim/transport/transport.hpp"

namespace shim::bootstrap {
class LaunchedProcesses;
}

namespace shim::sessions {

/// Without a segment (no other process of the job on this node, or transport=fabric) no process is
/// local. Thread-safe after attach() and resolve_node_map().
class NodeMemory {
 public:
  /// The references outlive this object.
  NodeMemory(const base::Settings& settings, const Factories& factories,
             bootstrap::Bootstrap& bootstrap);
  /// Record which local ranks had a session, then detach.
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// Attach to the segment, unless no other process needs it. Errors: those of NodeSegment::attach.
  base::Status attach();
  /// Resolve the node map, once per node. Errors: those of resolve_shared_node_map.
  base::Status resolve_node_map();
  /// From now on other processes may write to this one.
  void set_ready();
  /// Detach so that no shared memory stays behind, and do nothing else; for a program that ends
  /// with sessions open.
  void leave_at_once();
  /// Ensure that no shared memory stays behind, and do nothing else; for a program that an error
  /// terminates. For its peers the process dies when it ends.
  void release_file();

  const bootstrap::NodeLocation& location() const { return location_; }
  bool has_segment() const { return segment_ != nullptr; }
  const std::string& folder() const { return factories_.segment_directory; }

  // --- state of processes
  /// True if the process is on this node.
  bool is_local(base::ProcessId process) const;
  /// True if all of these world-0 processes are on this node and in its segment.
  bool has_on_node(const p2p::Members& members) const;
  std::uint32_t slot_of(base::ProcessId process) const {
    return bootstrap_.node_map().local_rank(process.rank);
  }
  /// Return the slots of local processes in the node segment.
  std::vector<std::uint32_t> slots_of(const p2p::Members& members) const;
  /// True if the local process has a session now.
  bool has_session(base::ProcessId process) const;
  /// True if the local process had a session and has none now.
  bool has_finalized(base::ProcessId process) const;
  /// False if the process is known to have ended. Processes of other nodes count as running.
  bool is_running(base::ProcessId process) const;
  /// True if the local process has died before it ended its last session.
  bool has_died(base::ProcessId process) const;
  /// True if a local process ended or died without a slot in the node segment. False if the
  /// operating system cannot tell (bootstrap/launched_processes.hpp). Needs several calls to be
  /// certain.
  bool ended_before_attaching(base::ProcessId process);
  /// True if a process of this job and node has separate shared memory, as in a container. Takes
  /// milliseconds.
  bool sees_other_memory() const { return segment_ && segment_->other_segment().has_value(); }

  // --- processors
  /// True if processes outnumber the cores that they share with this process. Processes that have
  /// not attached are estimated.
  bool is_oversubscribed() const;
  /// True if is_oversubscribed() stays constant.
  bool has_seen_all() const { return segment_ && segment_->has_seen_all(); }
  /// Return the hardware of this node, found once per node (node/node_hardware.hpp).
  node::NodeHardware& hardware() { return *hardware_; }
  /// Return the hardware this process is bound to, one entry per kind, largest kind first. The
  /// binding is discovered at each call. Local. Errors: other (no hwloc, or hwloc finds nothing).
  base::Result<std::vector<node::HardwareResource>> own_hardware();

  // --- contents of the segment; null without a segment
  node::ShmCollSegments* coll_segments() { return coll_segments_.get(); }
  node::ShmRendezvousTable* rendezvous_table() { return rendezvous_table_.get(); }
  std::optional<node::AddressTable> address_table();
  std::atomic<std::uint32_t>* context_counter();

  // --- VCIs
  /// Return the number of VCIs that the segment, or the setting, allows.
  std::uint32_t vci_count() const { return vci_count_; }
  /// Return the number of VCIs that this process, or an earlier incarnation, has opened.
  std::uint32_t vcis_in_use() const { return segment_ ? segment_->vcis_in_use() : 0; }
  /// Return the transport of VCI 0 to local processes; null without a segment.
  transport::Transport* transport() { return transport_.get(); }
  /// Return the area on which local processes blocked in VCI 0 sleep.
  node::SharedArea& area() { return *segment_; }
  /// Back a further VCI with memory and return its area; null without a segment. Errors: no_space.
  base::Result<std::unique_ptr<node::SharedArea>> open_vci(std::uint32_t vci);
  /// Errors: no_space.
  base::Status check_space_for_vci(std::uint32_t vci) const;
  transport::ShmSettings shm_settings() const;

 private:
  node::SegmentSpec segment_spec() const;

  const base::Settings& settings_;
  const Factories& factories_;
  bootstrap::Bootstrap& bootstrap_;
  const bootstrap::NodeLocation location_;
  std::uint32_t vci_count_;
  // destroyed in reverse
  std::unique_ptr<node::NodeSegment> segment_;
  /// Null without a segment, or if the launcher identifies no process.
  std::unique_ptr<bootstrap::LaunchedProcesses> launched_;
  std::unique_ptr<node::NodeHardware> hardware_;
  std::unique_ptr<transport::Transport> transport_;
  std::unique_ptr<node::ShmCollSegments> coll_segments_;
  std::unique_ptr<node::ShmRendezvousTable> rendezvous_table_;
};

}  // namespace shim::sessions
