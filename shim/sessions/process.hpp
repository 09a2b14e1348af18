// SPDX-License-Identifier: BSD-3-Clause
// The Process object: everything one process has while it has a session. Nothing below it is global, so a test makes eight.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/node_hardware.hpp"
#include "shim/bootstrap/node_segment.hpp"
#include "shim/coll/scratch_pool.hpp"
#include "shim/p2p/engines.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/address_book.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/known_groups.hpp"
#include "shim/sessions/lane.hpp"
#include "shim/sessions/network_address.hpp"
#include "shim/sessions/process_sets.hpp"
#include "shim/sessions/session.hpp"
#include "shim/transport/net/net.hpp"
#include "shim/transport/shm/board.hpp"
#include "shim/transport/shm/roll_call.hpp"
#include "shim/transport/transport.hpp"

namespace shim::bootstrap {
class LaunchedProcesses;
}

namespace shim::sessions {

class Creations;

/// How often an operating-system process has begun anew. Its Process objects live one after another, so these are plain counts that
/// pair with nothing.
struct Lives {
  std::atomic<std::uint32_t> begun{0};      ///< in which it had an address for other nodes
  std::atomic<std::uint32_t> published{0};  ///< the first of them, those that the launcher has a key for
  /// World ranks on this node that had a session by the end of an earlier Process. One Process
  /// writes it, the next one reads it.
  std::set<std::uint32_t> met;
};

/// Where a Process gets its parts from; tests give others. Each is called at most once, and only when needed.
struct Factories {
  std::function<base::Result<std::unique_ptr<bootstrap::Bootstrap>>(const base::Settings&)> bootstrap;
  /// Where a provider is named. Called on a thread of its own when the first message to or from another node is to be sent (or as `fabric_opens` says).
  std::function<base::Result<std::unique_ptr<transport::Transport>>(const base::Settings&)> fabric;
  std::size_t fabric_packet_bytes = 0;  ///< that a packet of it holds at least
  std::string segment_directory = "/dev/shm";
  int log_descriptor = 2;
  /// Whoever starts one Process after the other hands the same to each, so that others can tell a newer address from an older one.
  std::shared_ptr<Lives> lives = std::make_shared<Lives>();
  /// What the launcher's client must keep until the operating-system process ends; holds null until something needs it.
  std::shared_ptr<std::unique_ptr<bootstrap::ProcessLife>> life = std::make_shared<std::unique_ptr<bootstrap::ProcessLife>>();
  /// Where this process is in its job, found once: later changes of the environment do not count.
  /// Null in tests.
  std::shared_ptr<const bootstrap::LaunchEnv> launch_env;
  /// A creation fails after this time if its missing members cannot come unless they first do
  /// something that they have not done all that time (stuck_members.cpp). Tests shorten it.
  base::Nanoseconds stuck_after = 30'000'000'000;
  bool nodes_share_machine = false;  ///< those of a test
  /// Who is told of the phases of starts and creations; outlives all Process objects. Null: nobody.
  base::PhaseListener* phases = nullptr;
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
  const bootstrap::Place& place() const { return place_; }
  /// The first lane's, which serves everything that spans nodes, and creations.
  p2p::Engine& engine() { return *engine_; }
  const coll::ScratchPoolPtr& scratch() const { return scratch_; }
  Creations& creations() { return *creations_; }
  ProcessSets& sets() { return *sets_; }
  KnownGroups& groups() { return groups_; }
  base::ProcessId self() const { return {0, bootstrap_->job().rank}; }

  // --- lanes; the first one is 0
  std::uint32_t lane_count() const { return lane_count_; }
  /// For communicators made from a session that this thread opens. Threads get one after the other, in turn.
  std::uint32_t lane_of(std::thread::id thread);
  /// Makes a lane usable. Local. Where one process of the node has done so, the others do not fail for want of shared memory. Errors:
  /// no_space.
  base::Status open_lane(std::uint32_t lane);
  /// The same for the one who chooses the lane: not where the messages of communicators in it might find no room. Errors: no_space.
  base::Status begin_lane(std::uint32_t lane);
  /// Of a lane that is open.
  p2p::Engine& engine(std::uint32_t lane) { return lane == 0 ? *engine_ : further_lane(lane)->engine(); }
  /// On which processes of the node that wait in this lane, which is open, sleep.
  base::SharedArea& area(std::uint32_t lane) { return lane == 0 ? *segment_ : *further_lane(lane)->area(); }
  /// All that are open by now.
  std::vector<p2p::Engine*> engines();
  /// One round in each lane, but for those that other threads move. Errors: as Engine::progress.
  base::Status progress() { return all_engines_->progress(); }
  const std::shared_ptr<p2p::Engines>& all_engines() const { return all_engines_; }

  /// Next base of context ids, never used twice while messages for it may be under way. One of which no context is made is given to
  /// skip_base.
  std::uint32_t take_context_base();
  /// No context of it will be made, in no lane.
  void skip_base(std::uint32_t base);
  base::ExtendedId make_extended_id();

  /// From now on, whatever a thread waits for, another one may call.
  void allow_several_threads() { has_several_threads_.store(true, std::memory_order_relaxed); }
  /// A session that this process has not seen before. One with MPI_THREAD_MULTIPLE allows several threads by itself; two do whose levels, each by
  /// itself, leave them a thread each: those that two threads have opened, and those of which one may be handed on (MPI_THREAD_SERIALIZED).
  void meet_session(ThreadLevel level, std::thread::id opener);
  bool has_several_threads() const { return has_several_threads_.load(std::memory_order_relaxed); }

  /// How node roots come to know each other, as set.
  const Exchange& exchange() const { return exchange_named(settings_.exchange); }
  /// What decides the roles of a group's members in a creation.
  CreationGround creation_ground() const { return {bootstrap_->node_map(), everything_over_fabric(), exchange().shape}; }
  /// With transport=fabric every process counts as a node of its own.
  bool everything_over_fabric() const { return settings_.transport == "fabric"; }
  /// The way to other nodes, from now on open to their calls. Local. Errors: other (no network).
  base::Result<transport::Net*> network();
  /// The same, and whoever asks the launcher finds this process's address. Errors: the launcher's, too.
  base::Status publish_address(const base::Operation& during);
  /// The fabric is no longer being opened on another thread: MPI_Init of libraries changes the environment, which that one reads.
  void finish_opening();
  /// Where other nodes reach this process. Errors: of network().
  base::Result<NetworkAddress> own_address();
  /// The life of that address, also before there is one.
  std::uint32_t own_life() const { return life_; }
  /// The address of a process on another node, learned in an exchange. The newest life counts; what was under way to an older one
  /// ends.
  void learn_address(base::ProcessId process, std::uint32_t life, std::span<const std::byte> address);
  /// In this life the process is known to have published its address.
  void note_published(base::ProcessId process, std::uint32_t life);
  bool has_published(base::ProcessId process, std::uint32_t life) const;
  /// Likewise, of what the launcher has answered. Errors: other (that is no address).
  base::Status learn_found(base::ProcessId process, const NetworkAddress& found);
  /// Likewise, of an address that stands in the node's table already.
  void learn_life(base::ProcessId process, std::uint32_t life);
  /// Can the other processes of the node find this address?
  bool node_knows(base::ProcessId process, std::uint32_t life) const { return addresses_.is_in_table(process, life); }
  /// The newest life whose address is known on this node; this process goes by it from now on.
  std::optional<std::uint32_t> known_life(base::ProcessId process);

  /// The creation of a communicator, for those who listen to its phases.
  base::Operation new_creation(std::string_view tag, const Group& group) const {
    return {factories_.phases, base::OperationKind::communicator, tag, group.size()};
  }

  /// Counts anew who shares our cores, after others have come, until all have: those who have not begun yet are guesses.
  void look_at_crowd();

  /// What this process is bound to, kind by kind of hardware, the largest kind first. The machine is found out once on a node
  /// (bootstrap/node_hardware.hpp), the binding at each call. Local. Errors: other (no hwloc, or it finds nothing).
  base::Result<std::vector<bootstrap::HardwareResource>> hardware();

  /// Null where no other process of the job is on the node.
  transport::Boards* boards() { return boards_.get(); }
  /// Of processes on the own node: where they are in its memory.
  std::vector<std::uint32_t> slots_of(const p2p::Members& members) const;
  std::uint32_t slot_of(base::ProcessId process) const { return bootstrap_->node_map().local_rank(process.rank); }
  /// Null likewise.
  transport::RollCalls* roll_calls() { return roll_calls_.get(); }
  /// Are all of these, which are of the own world, on the own node, and in its memory?
  bool has_on_node(const p2p::Members& members) const;

  /// On the own node.
  bool is_local(base::ProcessId process) const;
  /// Only for local ones: has it a session at this moment?
  bool has_session(base::ProcessId process) const;
  /// True if a process of this job and node has shared memory of its own, as in a container. Milliseconds.
  bool sees_other_shared_memory() const { return segment_ && segment_->other_segment().has_value(); }
  const std::string& shared_memory_folder() const { return factories_.segment_directory; }
  /// Of this node: it has had a session, and has none now.
  bool has_finalized(base::ProcessId process) const;
  base::Nanoseconds stuck_after() const { return factories_.stuck_after; }
  /// The launcher is gone, and with it whoever would end this job: no wait for another process goes on. Says so once.
  bool has_lost_launcher();
  /// False when it is known to have ended. Processes of other nodes count as running.
  bool is_running(base::ProcessId process) const;
  /// Of this node. True if the process ended, or died, without a slot in the node's segment. False
  /// if the operating system does not tell (bootstrap/launched_processes.hpp). Takes some calls
  /// until it is certain.
  bool ended_before_attaching(base::ProcessId process);
  /// Of another node: is nobody to be found where it was called in the life that this process knows? It may have ended its session, or
  /// have died.
  bool is_out_of_reach(base::ProcessId process);
  /// Of another node: does a connection say that it is still in the life that this process knows?
  bool is_in_touch(base::ProcessId process);
  /// Looks for a process's address at the launcher; known: the life of one that is known already.
  AddressLookup look_for(base::ProcessId process, std::optional<std::uint32_t> known = std::nullopt);
  /// About how many processes, of which no address was known, it has been asked for that.
  std::uint64_t sought_count() const { return sought_.count(); }

 private:
  Process() = default;
  base::Status set_up(Factories factories);
  base::Status set_up_node();
  base::Status settle_node_map();
  transport::Opened open_fabric();
  void set_up_engine();
  base::Status open_lanes_of_former_life();
  bool flush();
  // acquire: pairs with the release in open_lane, so that all of it is seen
  Lane* further_lane(std::uint32_t lane) const { return further_lanes_[lane - 1].load(std::memory_order_acquire); }
  base::Status begin_early_fence(const base::Operation& start);
  bool is_crowded() const;
  void end_former_life(base::ProcessId process);
  void say_end();
  void note_who_was_here();
  transport::Presence presence_of(base::ProcessId process);
  base::Result<p2p::Route> route_to(base::ProcessId process) override;
  bool takes_packets(base::ProcessId process) override { return !is_local(process) || has_session(process); }
  bool is_alive(base::ProcessId process) override { return !has_lost_launcher() && is_running(process); }
  bool has_died(base::ProcessId process) override { return is_local(process) && segment_->has_died(slot_of(process)); }

  // in the order of construction; destroyed in reverse
  base::Settings settings_;
  base::Log log_;
  Factories factories_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  bootstrap::Place place_;
  std::unique_ptr<ProcessSets> sets_;
  std::unique_ptr<bootstrap::NodeSegment> segment_;  ///< null where no other process of the job is on the node
  /// Null without a segment, and if the launcher identifies no process.
  std::unique_ptr<bootstrap::LaunchedProcesses> launched_;
  std::unique_ptr<bootstrap::NodeHardware> hardware_;
  std::unique_ptr<transport::Transport> self_transport_, shm_transport_;
  std::unique_ptr<transport::Boards> boards_;
  std::unique_ptr<transport::RollCalls> roll_calls_;
  Sought sought_;
  std::unique_ptr<transport::Net> network_;  ///< null until something is to be said to another node
  mutable std::mutex network_mutex_;    ///< guards the making of network_, and the next two
  bool published_ = false;
  std::atomic<bool> has_several_threads_{false};  ///< pairs with nothing
  struct FirstSession {
    std::thread::id opener;
    bool is_handed_on;
  };
  std::mutex first_session_mutex_;              ///< guards the next
  std::optional<FirstSession> first_session_;
  std::unordered_map<base::ProcessId, std::uint32_t> others_published_;  ///< the last life of each in which it did
  std::unique_ptr<bootstrap::Pending<bootstrap::Done>> early_fence_;  ///< nobody asks how it went: it only brings addresses near
  std::uint32_t life_ = 0;      ///< set at the start
  AddressBook addresses_;
  KnownGroups groups_;
  std::shared_ptr<p2p::Engines> all_engines_ = std::make_shared<p2p::Engines>();
  std::unique_ptr<p2p::Engine> engine_;
  static constexpr std::uint32_t kMostLanes = bootstrap::kMaxLanes;
  static_assert(kMostLanes <= p2p::Engines::kMost);
  std::uint32_t lane_count_ = 1;
  std::mutex lanes_mutex_;  ///< guards the making of lanes, and the next two
  std::array<std::thread::id, kMostLanes> threads_of_lanes_;  ///< the last one that was given each
  std::uint32_t next_lane_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;  ///< in the order of their making
  std::array<std::atomic<Lane*>, kMostLanes - 1> further_lanes_{};
  coll::ScratchPoolPtr scratch_ = std::make_shared<coll::ScratchPool>();
  std::unique_ptr<Creations> creations_;
  std::atomic<bool> crowd_is_known_{false};          ///< it need not be counted again; pairs with nothing
  std::atomic<bool> lost_launcher_{false};           ///< so that it is said once; pairs with nothing
  std::atomic<std::uint32_t> context_counter_{0};    ///< where there is no segment; a plain count, pairs with nothing
  /// A base of context ids that none is made of: unique in the life of a process on its segment, so it counts its lives as well.
  std::uint32_t incarnation_ = 0;
  std::atomic<std::uint64_t> extended_counter_{0};   ///< a plain count, pairs with nothing
};

/// The operating-system process ends, and has no Process: those who wait for its next session learn that there is none, if they have
/// found it through the launcher before. Errors: the launcher's.
base::Status say_exit(const base::Settings& settings, const Factories& factories);

}  // namespace shim::sessions
