// SPDX-License-Identifier: BSD-3-Clause
// Liveness detects process deaths, and ends the operations that depend on them.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/log.hpp"
#include "shim/p2p/context_table.hpp"
#include "shim/p2p/engine_lock.hpp"
#include "shim/p2p/peers.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock unless stated otherwise.
class Liveness final : public PeerFailures {
 public:
  /// How a process that is gone ended.
  enum class ProcessEnd : std::uint8_t {
    left,     ///< finalized: its last session ended
    unknown,  ///< unreachable
    died,
  };
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    base::ProcessId self;
    Router* router;
    const base::Log* log;  ///< may be null
    bool may_match_in_provider;
    EngineLock& lock;
    Transports& transports;
    ContextTable& contexts;
    Peers& peers;
    OperationEnder& operations;
    CollectiveEnder& collectives;
    FailedRanks& failed_ranks;
    LivenessActions& actions;
  };
  explicit Liveness(const Collaborators& collaborators) : collaborators_(collaborators) {}

  /// Check the processes that operations depend on, if the last check was long enough ago. Without
  /// the lock.
  void check();
  /// True if check() would check. Without the lock.
  bool is_due() const {
    return base::coarse_now_ns() >= next_check_.load(std::memory_order_relaxed);
  }
  /// Check the members of a communicator without waiting; return the ranks of those known to have
  /// failed. Without the lock.
  std::vector<int> check_members(Context& context);

  /// Fail everything that depends on this process, now and later, with this reason.
  /// @param how the process ended; nothing: end_of() decides
  void fail(Peer& gone, const base::Error& reason, std::optional<ProcessEnd> how = std::nullopt);
  void fail_link(Peer& from, const base::Error& why) override;
  void on_send_error(Peer& to, const base::Error& reason) override;
  /// Return why the last link to a process was given up; null if there is another, or never was
  /// one.
  const base::Error* link_failure_reason(base::ProcessId process) const;
  /// See ControlChannel::reset_peer.
  void reset_peer(base::ProcessId process, const base::Error& reason);

  void watch(Progress::Watched& process) { watched_.push_back(&process); }
  void unwatch(Progress::Watched& process) { std::erase(watched_, &process); }

  /// The source that a thread waits for without a request. Known to the checks during its lifetime,
  /// so that a wait that an exception ends leaves no pointer behind.
  class AwaitedSource {
   public:
    /// Without the lock; so is the destructor.
    AwaitedSource(Liveness& liveness, const MessageAddress& from)
        : liveness_(liveness), from_(from) {
      const Guard guard = liveness_.collaborators_.lock.enter();
      liveness_.awaited_.push_back(&from_);
    }
    ~AwaitedSource() {
      const Guard guard = liveness_.collaborators_.lock.enter();
      std::erase(liveness_.awaited_, &from_);
    }
    AwaitedSource(const AwaitedSource&) = delete;
    AwaitedSource& operator=(const AwaitedSource&) = delete;

   private:
    Liveness& liveness_;
    const MessageAddress from_;
  };

 private:
  struct Dependencies;
  /// @param with_output include processes with packets queued only
  Dependencies dependencies(bool with_output);
  void add_dependency(Dependencies& dependencies, const Context& context, int source) const;
  void add_probed_source(Dependencies& dependencies, Context& context) const;
  void add_members(Dependencies& dependencies, const Context& context) const;
  void end_operations(Peer& with, const base::Error& reason);
  void record_failure(Context& context, Peer& gone, ProcessEnd how);
  ProcessEnd end_of(const Peer& gone) const;
  bool is_dead(base::ProcessId process) const;
  bool is_depended_on(base::ProcessId process);
  void update_watched();
  void drain_transports();
  bool is_link_gone(base::ProcessId process) const;
  std::vector<base::ProcessId> peers_with_losses() const;
  void open_links(const Dependencies& watched, Guard& guard);
  void record_late_losses();
  void log(const std::string& text) const;

  const Collaborators collaborators_;

  std::vector<const MessageAddress*> awaited_;  ///< sources of AwaitedSource
  std::vector<Progress::Watched*> watched_;
  std::atomic<base::Nanoseconds> next_check_{0};  ///< written under the lock; a hint without it
};

}  // namespace shim::p2p
