// SPDX-License-Identifier: BSD-3-Clause
// Implements the ULFM (User-Level Failure Mitigation) tools for survivors of a failure: failed
// members, revocation, agreement, and shrinking. On intercommunicators "members" are both groups'
// members.
#pragma once

#include <functional>
#include <memory>

#include "shim/sessions/communicator.hpp"
#include "shim/sessions/consensus.hpp"

namespace shim::sessions {

/// Return the members known to have failed, in the order of detection; the group only grows. Local.
GroupPtr failed_members(Communicator& comm);
/// Acknowledge the first `count` of failed_members(). Return the number acknowledged in all. Local.
int acknowledge_failed(Communicator& comm, int count);
/// Return the members whose failure is acknowledged. Local.
GroupPtr acknowledged_members(Communicator& comm);

/// Fail all present and future operations on the communicator at all members, except those of this
/// file (p2p::Engine::revoke). Local.
void revoke(Communicator& comm);
bool is_revoked(const Communicator& comm);
/// Errors: revoked.
base::Status check_not_revoked(const Communicator& comm);

/// Collective call of the living members with one result for all, even if members die meanwhile.
/// Works on revoked communicators.
class SurvivorCall {
 public:
  SurvivorCall(CommunicatorPtr comm, Vote vote);
  /// Make progress without blocking; null until decided.
  const Decision* advance();
  /// Block until decided, making progress.
  base::Result<const Decision*> wait();
  Communicator& comm() const { return *comm_; }

 private:
  CommunicatorPtr comm_;
  ConsensusPtr consensus_;
  const Decision* decision_ = nullptr;
};

/// MPIX_Comm_agree: set `flag` to the bitwise AND of the living members' flags (for an
/// intercommunicator: of the remote group), even if the call fails. Collective over the living
/// members. Errors: proc_failed (at all members: not all have acknowledged a failure).
base::Status agree(const CommunicatorPtr& comm, std::int32_t& flag);
/// Return a request for agree(), which writes `flag` at its end.
p2p::Request* begin_agree(const CommunicatorPtr& comm, std::int32_t* flag);

/// MPIX_Comm_shrink: make a communicator of the members that have not failed, in rank order; from
/// an intercommunicator an intercommunicator, null if a group has no survivor. Collective over the
/// living members. Errors: proc_failed (the others consider this process dead).
base::Result<CommunicatorPtr> shrink(const CommunicatorPtr& comm);
/// Return a request for shrink(), which passes the communicator to `made` at its end.
p2p::Request* begin_shrink(const CommunicatorPtr& comm,
                           std::function<base::Status(CommunicatorPtr)> made);

}  // namespace shim::sessions
