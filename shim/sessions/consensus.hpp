// SPDX-License-Identifier: BSD-3-Clause
// Consensus is an agreement among members that may die (docs/decisions/0012). MPIX_Comm_agree and
// MPIX_Comm_shrink of ULFM use it.
//
// The living member with the lowest world rank is the coordinator. It collects the votes of all
// living members, computes a decision, and proposes it; when all living members have accepted, it
// announces the decision as final. If a member's coordinator dies, the member joins the next living
// one and reports the last proposal it accepted, which is then proposed again. So all members that
// get a decision get an equal one. (In terms of Paxos, Lamport 1998: the coordinators' ranks are
// the ballots, and the living members are the quorum.)
//
// A member keeps the decision for members that may request it after the coordinator's death. It
// discards the decision when the coordinator announces that all living members have it. If the
// coordinator dies before, the decision stays until the process ends its last session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/consensus_wire.hpp"

namespace shim::sessions {

class Process;

/// State of one consensus in this process: its own call, or messages received before its call.
struct Consensus {
  explicit Consensus(ConsensusKey of);
  ~Consensus();
  const ConsensusKey key;
  // Set by the caller; empty until this process calls.
  std::vector<std::uint32_t> members;
  Vote vote;

  std::uint32_t promised = 0;                  ///< proposals of lower coordinators are rejected
  std::optional<std::uint32_t> joined;         ///< the coordinator that has this member's vote
  std::optional<std::uint32_t> accepted_from;  ///< the coordinator that proposed `accepted`
  std::optional<Decision> accepted;
  std::optional<Decision> decided;

  /// State of the coordinator, or of a member that others consider the coordinator.
  struct Coordination {
    std::map<std::uint32_t, ConsensusMessage> joins;
    std::optional<Decision> proposal;
    std::set<std::uint32_t> accepts;
    bool has_announced = false;           ///< announced itself as coordinator
    bool has_announced_decision = false;  ///< announced the decision to the others
    std::set<std::uint32_t> done;         ///< members that have the decision
  } coordination;

  std::set<std::uint32_t> gone;  ///< members considered dead, perhaps wrongly
  class Watch;
  std::map<std::uint32_t, std::unique_ptr<Watch>> watches;

  bool is_called() const { return !members.empty(); }
};
using ConsensusPtr = std::shared_ptr<Consensus>;

/// All consensuses of one process. Thread-safe; lock order: this object's mutex, then the engine's
/// lock.
class Consensuses {
 public:
  explicit Consensuses(Process& process);
  ~Consensuses();

  /// Begin a consensus. Collective over the living members.
  /// @param members world ranks, the caller's among them, in ascending order
  ConsensusPtr begin(const ConsensusKey& key, std::vector<std::uint32_t> members, Vote vote);
  /// Make progress without blocking. Return the decision once there is one; it then never changes.
  const Decision* advance(const ConsensusPtr& consensus);
  void on_message(base::ProcessId from, std::span<const std::byte> bytes);
  /// Declare that this process makes no more calls with this scope. Local.
  void close(const std::string& scope);
  /// Return the number of consensuses in progress, or decided and kept for other members.
  std::size_t kept() const;

 private:
  ConsensusPtr find(const ConsensusKey& key) const;
  ConsensusPtr find_or_make(const ConsensusKey& key);
  bool is_forgotten(const ConsensusKey& key) const;
  void reply_to_forgotten(std::uint32_t to, const ConsensusMessage& message);
  void step(Consensus& consensus);
  void find_failed(Consensus& consensus);
  std::uint32_t coordinator_of(const Consensus& consensus) const;
  void follow(Consensus& consensus, std::uint32_t coordinator);
  void coordinate(Consensus& consensus);
  bool has_all_votes(Consensus& consensus);
  Decision decision_of(const Consensus& consensus) const;
  void announce_decision(Consensus& consensus);
  void decide(Consensus& consensus, Decision decision);
  bool is_done_everywhere(Consensus& consensus);
  void forget(const Consensus& consensus);
  void forget_completed();
  void handle(const ConsensusPtr& consensus, std::uint32_t from, ConsensusMessage message);
  void watch(Consensus& consensus, std::uint32_t member);
  void handle_join(Consensus& consensus, std::uint32_t from, ConsensusMessage message);
  void handle_coordinator(Consensus& consensus, std::uint32_t coordinator);
  void handle_proposal(Consensus& consensus, const ConsensusMessage& message);
  ConsensusMessage join_of(const Consensus& consensus, std::uint32_t coordinator) const;
  void send(std::uint32_t to, const ConsensusMessage& message);

  Process& process_;
  mutable std::mutex mutex_;  ///< guards all members below
  std::map<ConsensusKey, ConsensusPtr> all_;
  std::map<std::string, std::uint32_t> begun_;  ///< number of consensuses begun, by scope
};

}  // namespace shim::sessions
