// SPDX-License-Identifier: BSD-3-Clause
// CollectiveFailures ends the collectives of a communicator at all members when one fails, and all
// operations of a revoked communicator.
//
// In a collective a process waits for messages of some members. Such a member may be alive and
// send none, because its own call has failed after the death of a third member. The first member
// whose collective fails therefore notifies the others, and all their collectives on that
// communicator end, now and later (as MPIX_Comm_revoke ends all communication of a communicator).
//
// After that no operation of this process accesses the caller's memory: receives are unlinked from
// the lists by which packets, reads and shared copies find them. Another member may still read
// memory that a send has announced. It gets the notice before it accepts the data, because the
// sender's call waits, for a limited time, until the notice is in the member's ring
// (has_sent_notices), and the member polls its ring after its reads (confirm_reads).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "shim/p2p/context_failures.hpp"
#include "shim/p2p/context_table.hpp"
#include "shim/p2p/peers.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/unexpected_messages.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class CollectiveFailures final : public CollectiveEnder, public MessageRefusal {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    base::ProcessId self;
    Router* router;
    bool single_copy;  ///< receivers read long messages from this process's memory if they can
    ContextTable& contexts;
    Peers& peers;
    const IdTable<SendRequest>& send_ids;
    UnexpectedMessages& unexpected;
    PacketOutput& output;
    OperationEnder& operations;
    FailedRanks& failed_ranks;
    Engine::Counts& counts;
  };
  explicit CollectiveFailures(const Collaborators& collaborators) : collaborators_(collaborators) {}

  /// See FailureHandling::fail_collectives.
  void end_collectives(Context& context, const base::Error& reason) override;
  void record_refusal(Context& context, bool is_persistent_collective, const base::Error& reason);
  /// Notify the members of a call after a refusal, and check the notices received.
  void check_call_number(Context& context, int tag);
  void recheck_pending_notices();
  bool has_sent_notices() const;

  // --- notices from members
  void on_collectives_failed(const wire::CollectivesFailed& notice);
  void on_call_after_refusal(const wire::CallAfterRefusal& notice);
  /// Apply the notices that arrived before this communicator existed.
  void apply_early_notices(Context& context);
  /// Drop notices for communicators that will never be made.
  void drop_early_notices();

  // --- revocation (collective_failures_revocation.cpp)
  void revoke(Context& context);
  void refuse(const MessageInfo& info) override;
  void refuse_unexpected(Context& context);
  void on_refused(const wire::Refused& header);

 private:
  void end_receives(Context& context, Scope scope);
  void end_sends(Context& context, Scope scope);
  ReceiveRequest* find_matched_receive(const Context& context, Scope scope);
  SendRequest* find_send(const Context& context, Scope scope);
  bool may_be_read(const SendRequest& request) const;
  void notify_members(Context& context);
  wire::SenderNumber failed_member(const Context& context) const;
  void record_early_notice(base::ContextId id, const wire::CollectivesFailed& notice);
  void check_pending_notices(Context& context);
  template <typename Notice>
  void transmit_to_members(Context& context, Notice notice);
  void handle_failure_notice(Context& context, const wire::CollectivesFailed& notice);

  const Collaborators collaborators_;

  /// Notices for communicators that do not exist here yet, by id of the user plane.
  std::unordered_map<base::ContextId, wire::CollectivesFailed> early_notices_;
  std::unordered_map<base::ContextId, std::vector<wire::CallAfterRefusal>> early_call_notices_;
};

}  // namespace shim::p2p
