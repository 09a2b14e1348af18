// SPDX-License-Identifier: BSD-3-Clause
// The Process object: everything one process has while it has a session. Nothing below it is global, so a test makes eight.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/node_segment.hpp"
#include "shim/coll/scratch_pool.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/fabric_address.hpp"
#include "shim/sessions/process_sets.hpp"
#include "shim/sessions/session.hpp"
#include "shim/transport/transport.hpp"

namespace shim::sessions {

class Creations;

/// Where a Process gets its parts from; tests give others. Each is called at most once, and only when needed.
struct Factories {
  std::function<base::Result<std::unique_ptr<bootstrap::Bootstrap>>(const base::Settings&)> bootstrap;
  /// Called before the first creation with a process of another node (or for all, with transport=fabric).
  std::function<base::Result<std::unique_ptr<transport::Transport>>(const base::Settings&)> fabric;
  std::string segment_directory = "/dev/shm";
  int log_descriptor = 2;
  /// How often this operating-system process has opened a fabric, over all its Process objects: whoever starts one after the
  /// other hands the same count to each, so that others can tell a newer address from an older one.
  std::shared_ptr<std::atomic<std::uint32_t>> lives = std::make_shared<std::atomic<std::uint32_t>>(0);
  /// What the launcher's client must keep until the operating-system process ends; holds null until something needs it.
  std::shared_ptr<std::unique_ptr<bootstrap::ProcessLife>> life = std::make_shared<std::unique_ptr<bootstrap::ProcessLife>>();
  /// The real ones: open_bootstrap and transport/ofi. One set of them serves all Process objects of an operating-system process.
  static Factories standard();
};

/// Made by the first session, destroyed after the last (shared_ptr from sessions and communicators). Destruction flushes what
/// was sent, closes transports, leaves the node segment and the launcher; nothing of ours stays behind (PMIx does, see
/// Factories).
class Process : public std::enable_shared_from_this<Process>, private p2p::Router {
 public:
  /// Local: needs no other process.
  static base::Result<std::shared_ptr<Process>> start(const base::Settings& settings, Factories factories);
  ~Process() override;

  /// For a program that is ended by an error: leaves the node, so that no shared memory stays behind, and nothing else.
  void leave_at_once();

  const base::Settings& settings() const { return settings_; }
  const base::Log& log() const { return log_; }
  bootstrap::Bootstrap& bootstrap() { return *bootstrap_; }
  p2p::Engine& engine() { return *engine_; }
  const coll::ScratchPoolPtr& scratch() const { return scratch_; }
  Creations& creations() { return *creations_; }
  ProcessSets& sets() { return *sets_; }
  base::ProcessId self() const { return {0, bootstrap_->job().rank}; }

  /// Next base of context ids, never used twice while messages for it may be under way.
  std::uint32_t take_context_base();
  base::ExtendedId make_extended_id();

  /// With transport=fabric every process counts as a node of its own.
  bool everything_over_fabric() const { return settings_.transport == "fabric"; }
  /// Opens the fabric transport if it is not open yet, and publishes its address. Local. Errors: other (no usable provider;
  /// names those tried), and the launcher's.
  base::Result<transport::Transport*> fabric();
  /// This process's address on the open fabric.
  FabricAddress own_address();
  /// The life of that address, also before the fabric is open.
  std::uint32_t own_life() const { return life_; }
  /// The fabric address of a process, learned in an exchange. The newest life counts; what was under way to an older one ends.
  void learn_address(base::ProcessId process, FabricAddress address);
  /// The life of the newest address known.
  std::optional<std::uint32_t> known_life(base::ProcessId process);

  /// Counts anew who shares our cores, after others have come: those who have not begun yet are guesses.
  void look_at_crowd();

  /// On the own node.
  bool is_local(base::ProcessId process) const;
  /// Only for local ones: has it a session at this moment?
  bool has_session(base::ProcessId process) const;
  /// The launcher is gone, and with it whoever would end this job: no wait for another process goes on. Says so once.
  bool has_lost_launcher();
  /// False when it is known to have ended. Processes of other nodes count as running.
  bool is_running(base::ProcessId process) const;

 private:
  Process() = default;
  base::Status set_up(Factories factories);
  base::Status set_up_node();
  bool is_crowded() const;
  base::Result<p2p::Route> route_to(base::ProcessId process) override;
  bool takes_packets(base::ProcessId process) override { return !is_local(process) || has_session(process); }
  bool is_alive(base::ProcessId process) override { return !has_lost_launcher() && is_running(process); }
  std::uint32_t slot_of(base::ProcessId process) const { return bootstrap_->node_map().local_rank(process.rank); }

  // in the order of construction; destroyed in reverse
  base::Settings settings_;
  base::Log log_;
  Factories factories_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  std::unique_ptr<ProcessSets> sets_;
  std::unique_ptr<bootstrap::NodeSegment> segment_;  ///< null where no other process of the job is on the node
  std::unique_ptr<transport::Transport> self_transport_, shm_transport_, fabric_transport_;
  std::mutex fabric_mutex_;     ///< guards fabric_transport_ and the next while the fabric is opened
  bool published_ = false;
  std::uint32_t life_ = 0;      ///< set at the start
  std::mutex addresses_mutex_;  ///< guards the next
  std::unordered_map<base::ProcessId, FabricAddress> addresses_;
  std::unique_ptr<p2p::Engine> engine_;
  coll::ScratchPoolPtr scratch_ = std::make_shared<coll::ScratchPool>();
  std::unique_ptr<Creations> creations_;
  std::atomic<bool> lost_launcher_{false};           ///< so that it is said once; pairs with nothing
  std::atomic<std::uint32_t> context_counter_{0};    ///< where there is no segment; a plain count, pairs with nothing
  std::atomic<std::uint64_t> extended_counter_{0};   ///< a plain count, pairs with nothing
};

}  // namespace shim::sessions
