// SPDX-License-Identifier: BSD-3-Clause
// RendezvousProtocol creates a communicator of one node through a shared-memory rendezvous, without
// messages.
//
// All uncommon cases fall back to messages: a slow or dead member, an earlier message about this
// creation, a long key. If one member falls back, all do: a member that has arrived aborts the
// rendezvous. Any other sends its contribution to rank 0, which then aborts it. Rank 0 also aborts
// it while it waits for contributions itself.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/sessions/creation_protocol.hpp"
#include "shim/sessions/creation_state.hpp"

namespace shim::node {
class ShmRendezvous;
}

namespace shim::sessions {

class RendezvousProtocol final : public CreationProtocol {
 public:
  /// is_by_messages: true if messages about the creation have arrived, so that it needs messages.
  RendezvousProtocol(Process& process, std::function<bool(const CreationKey&)> is_by_messages)
      : process_(process), is_by_messages_(std::move(is_by_messages)) {}

  std::optional<base::Result<Agreement>> agree(const CreationCall& call) override;
  /// Make the calls that wait at the rendezvous of this creation fall back to messages. Called when
  /// a message about it has arrived.
  void divert(const CreationKey& key);

 private:
  class Wait;
  std::optional<base::Result<Agreement>> arrive(const CreationCall& call, const Wait& wait);
  bool wait_until_complete(const node::ShmRendezvous& rendezvous, const Wait& wait);

  Process& process_;
  const std::function<bool(const CreationKey&)> is_by_messages_;
  std::mutex mutex_;  ///< guards waits_
  std::vector<Wait*> waits_;
};

/// Keeps the rendezvous of a creation aborted while rank 0 waits for messages, so that members that
/// call later do not wait at the rendezvous.
class ClosedRendezvous {
 public:
  /// Without effect unless this process is rank 0 of a group on one node.
  ClosedRendezvous(Process& process, const Creation& creation);
  /// Abort the rendezvous if a member has arrived there.
  void abort() const;

 private:
  Process& process_;
  const GroupPtr group_;
  std::vector<std::byte> name_;  ///< empty: without effect
};

}  // namespace shim::sessions
