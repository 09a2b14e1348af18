// SPDX-License-Identifier: BSD-3-Clause
// Factories makes the parts of a Process; tests replace them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/transport/transport.hpp"

namespace shim::sessions {

/// Counts the incarnations of an OS process. Its Process objects exist one after another, so
/// relaxed accesses suffice.
struct ProcessHistory {
  std::atomic<std::uint32_t> started{0};  ///< incarnations that had an address for other nodes
  /// Number of incarnations, from the first on, whose key the launcher has (publish_address).
  std::atomic<std::uint32_t> published{0};
  /// World ranks on this node that had a session by the end of an earlier Process. Written by one
  /// Process, read by the next.
  std::set<std::uint32_t> seen_ranks;
  /// Extended ids that this OS process has made. A peer may still have communicators of an earlier
  /// incarnation, so no incarnation makes an id again. Any thread adds to it.
  std::atomic<std::uint64_t> extended_ids{0};
  std::atomic<bool> has_warned{false};  ///< about the launcher; pairs with nothing
};

/// Each function is called at most once, on demand.
struct Factories {
  std::function<base::Result<std::unique_ptr<bootstrap::Bootstrap>>(const base::Settings&)>
      bootstrap;
  /// Used if a provider is named. Runs on a separate thread when the first message to or from
  /// another node is due (or as `fabric_opens` selects).
  std::function<base::Result<std::unique_ptr<transport::Transport>>(const base::Settings&)> fabric;
  std::size_t fabric_packet_bytes = 0;  ///< minimum capacity of a fabric packet
  std::string segment_directory = "/dev/shm";
  int log_descriptor = 2;
  /// Shared by all successive Process objects of one OS process, so that peers can order their
  /// addresses.
  std::shared_ptr<ProcessHistory> history = std::make_shared<ProcessHistory>();
  /// State that the launcher's client keeps until the OS process exits; null until needed.
  std::shared_ptr<std::unique_ptr<bootstrap::ProcessLifetime>> lifetime =
      std::make_shared<std::unique_ptr<bootstrap::ProcessLifetime>>();
  /// Launch environment, read once: later changes of the environment have no effect. Null in tests.
  std::shared_ptr<const bootstrap::LaunchEnv> launch_env;
  /// Time (ns) after which a creation fails if its missing members are stuck all that time
  /// (stuck_members.cpp). Tests shorten it.
  base::Nanoseconds stuck_after = 30'000'000'000;
  bool nodes_share_machine = false;  ///< simulated nodes of a test share this machine
  /// Listener for the phases of starts and creations; outlives all Process objects. Null: none.
  base::PhaseListener* phases = nullptr;
  /// Passed to the engines for reports of blocked calls; references outlive all Process objects.
  p2p::WaitReports reports = {};
  /// Return the production factories: open_bootstrap and transport/ofi. One set serves all Process
  /// objects of an OS process.
  static Factories standard();
};

}  // namespace shim::sessions
