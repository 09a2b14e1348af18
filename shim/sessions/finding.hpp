// SPDX-License-Identifier: BSD-3-Clause
// Finding is a reason of the watchdog to fail a creation.
#pragma once

#include <utility>
#include <vector>

#include "shim/base/error.hpp"
#include "shim/sessions/creation_registry.hpp"
#include "shim/sessions/creation_wire.hpp"

namespace shim::sessions {

class CallerThreads;
class Process;

struct Finding {
  base::Error error;
  ExcludedMembers excluded = {};
  /// Members that wait in another creation, with its key. That creation fails, too.
  std::vector<std::pair<int, CreationKey>> elsewhere = {};
  /// The node leader of this process is dead, so that it cannot notify its own partners.
  bool node_leader_is_dead = false;
};

/// Inputs of a watchdog; the references outlive it.
struct WatchContext {
  Process& process;
  const Creation& creation;
  const CreationRegistry& registry;
  const CallerThreads& threads;
};

}  // namespace shim::sessions
