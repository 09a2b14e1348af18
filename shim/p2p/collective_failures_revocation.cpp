// SPDX-License-Identifier: BSD-3-Clause
// Implements revoked communicators (MPIX_Comm_revoke of ULFM).
//
// All operations on a revoked communicator end, at all members, now and later. The caller notifies
// the members, and each notified member notifies the others, so that all are reached even if some
// die. A receiver may be reading from the sender's memory at that moment: the send continues until
// the receiver has answered, so that no receive completes with data that the sender's program has
// written there after the revocation.
#include "shim/p2p/collective_failures.hpp"
#include "shim/p2p/context_failures.hpp"

namespace shim::p2p {

void CollectiveFailures::revoke(Context& context) {
  if (context.is_revoked) return;
  context.is_revoked = context.has_failures = true;
  context.collective_failure = revoked_error();
  // release: pairs with the acquire of threads that begin a collective
  context.collectives_have_failed.store(true, std::memory_order_release);
  collaborators_.failed_ranks.drop_unacknowledged(context);
  context.retain();  // ending the last receive must not destroy it
  notify_members(context);
  end_receives(context, Scope::all);
  end_sends(context, Scope::all);
  refuse_unexpected(context);
  context.peers.for_each(
      [](int, Peer*& member) { member = nullptr; });  // the fast paths find peers there only
  context.drop();
}

/// Drop all unexpected messages of a context that receives no more.
void CollectiveFailures::refuse_unexpected(Context& context) {
  for (Matching& matching : context.queues) {
    while (UnexpectedMsg* unexpected = matching.first_unexpected()) {
      matching.remove(*unexpected);
      auto& message = static_cast<StoredMessage&>(*unexpected);
      refuse(message.info);
      collaborators_.unexpected.free(message);
    }
  }
}

/// Notify the sender of a dropped message that no data of it is read: a revoked send may wait for
/// this.
void CollectiveFailures::refuse(const MessageInfo& info) {
  if (info.kind != wire::PacketType::ready_to_send &&
      info.kind != wire::PacketType::eager_synchronous)
    return;
  const auto from = info.origin.process();
  if (!from) return;
  Peer& sender = collaborators_.peers.at(*from);
  wire::Refused reply;
  reply.send = info.number;
  if (!sender.failure) collaborators_.output.transmit(sender, reply);
}

/// The sender may learn of the revocation after this answer.
void CollectiveFailures::on_refused(const wire::Refused& header) {
  SendRequest* request = collaborators_.send_ids.find(header.send);
  if (request == nullptr) return;
  if (request->is_revoked)
    collaborators_.operations.end(*request, revoked_error());
  else
    request->is_refused = true;
}

/// True if the receiver may read the message from this process's memory without a request.
bool CollectiveFailures::may_be_read(const SendRequest& request) const {
  const Peer& to = *request.peer;
  const bool reads_memory = to.link != nullptr && to.interfaces->registered_reads == nullptr &&
                            collaborators_.single_copy;
  return request.is_long && !request.streaming && reads_memory && to.process != collaborators_.self;
}

}  // namespace shim::p2p
