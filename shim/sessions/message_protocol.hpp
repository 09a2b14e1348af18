// SPDX-License-Identifier: BSD-3-Clause
// MessageProtocol creates communicators by messages over a tree of node leaders
// (docs/developer/architecture.md, "Communicator creation").
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/sessions/creation_protocol.hpp"
#include "shim/sessions/creation_registry.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/failure_notices.hpp"
#include "shim/sessions/finding.hpp"
#include "shim/sessions/network_address.hpp"

namespace shim::sessions {

class RendezvousProtocol;

/// Serves each call. Thread-safe; lock order: this object's mutex, then the engine's lock.
class MessageProtocol final : public CreationProtocol {
 public:
  MessageProtocol(Process& process, const CallerThreads& threads, RendezvousProtocol& rendezvous);
  ~MessageProtocol() override;

  std::optional<base::Result<Agreement>> agree(const CreationCall& call) override;
  /// True if messages about this creation have arrived, or a thread waits for them.
  bool knows(const CreationKey& key) const;
  void on_control(base::ProcessId from, std::span<const std::byte> bytes);
  /// See Creations.
  void close();
  std::size_t unnotified_failures() const;

 private:
  class WaitingCall;
  /// Contribution of this member.
  struct OwnContribution {
    std::uint32_t context_base = 0;
    NetworkAddress address;
    MemberEntry entry() const { return {context_base, address.incarnation, address.bytes, false}; }
  };

  // --- this process's call, in message_protocol_call.cpp
  base::Result<OwnContribution> make_own_contribution(const CreationRoles& roles,
                                                      const base::TracedOperation& during);
  base::Result<Agreement> run(const CreationCall& call, const OwnContribution& own);
  void refuse(const CreationCall& call, const base::Error& reason);
  void wait_for_queued_failures();
  base::Status join(const CreationCall& call, const OwnContribution& own, WaitingCall& waiting);
  void leave(WaitingCall& waiting);
  bool partners_are_in_reach(const CreationPtr& creation);
  /// Make progress without blocking; true once the creation is over.
  bool advance(WaitingCall& waiting);
  /// Fail the creation if check_precondition of its call returns an error. True if it does.
  bool fail_if_precondition_fails(WaitingCall& waiting);

  // --- message_protocol.cpp; the caller of all functions below holds the mutex
  void handle(base::ProcessId from, ContributionMessage message);
  void handle(base::ProcessId from, OutcomeMessage message);
  void handle(base::ProcessId from, FailureMessage message);
  void handle(base::ProcessId from, StatusRequest message);
  void handle(base::ProcessId from, StatusReply message);
  void handle(base::ProcessId from, ReturnedContribution message);
  void join_vci(std::uint32_t vci);
  void count_dropped(base::ProcessId from) const;
  void return_contribution(base::ProcessId to, const CreationKey& key, std::uint32_t call_id);
  std::optional<FailureMessage> failure_for(base::ProcessId requester,
                                            const StatusRequest& request);
  /// Return the call that waits in this creation; null if there is none.
  WaitingCall* call_in(const Creation& creation) const;

  // --- message_protocol_result.cpp
  void contribute(Creation& creation);
  void complete_as_root(const CreationPtr& creation, std::uint32_t wanted_vci);
  void finish(const CreationPtr& creation, const OutcomeMessage& outcome);
  /// Fail the creation if no message can be sent to this partner, for lack of memory or of a
  /// network. Return true if the creation has failed.
  bool fail_if_out_of_reach(const CreationPtr& creation, int rank);
  /// Fail the creation and notify all partners that wait in it, except the ranks in `notified`,
  /// which know of the failure already.
  void fail(const CreationPtr& creation, const base::Error& error, std::set<int> notified,
            const ExcludedMembers& excluded = {});
  /// Fail the creation, and those in which members wait instead, for a finding of its watchdog.
  void fail(const CreationPtr& creation, const Finding& finding);
  void fail_other(const Creation& mine, const CreationKey& other, int rank,
                  const base::Error& error);
  void notify_for_node_leader(const Creation& creation, const Finding& finding);

  Process& process_;
  const CallerThreads& threads_;
  RendezvousProtocol& rendezvous_;
  mutable std::mutex mutex_;  ///< guards all members below
  CreationRegistry registry_;
  FailureNotices notices_;
  std::vector<WaitingCall*> calls_;
  bool is_closing_ = false;
};

}  // namespace shim::sessions
