// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/context_failures.hpp"

#include <string>

namespace shim::p2p {

base::Error revoked_error() {
  return {base::ErrorClass::revoked,
          "the communicator has been revoked (MPIX_Comm_revoke); create a new one with "
          "MPIX_Comm_shrink, and free this one"};
}

std::string text_of(base::ProcessId process) {
  const std::string name = "process " + std::to_string(process.rank);
  return process.world == 0 ? name : name + " of world " + std::to_string(process.world);
}

base::Error died_error(base::ProcessId process) {
  return {base::ErrorClass::proc_aborted, text_of(process) +
                                              " has died or finalized; see its output for the "
                                              "reason, and free the communicators that contain it"};
}

bool is_in(Scope scope, const MessageAddress& address, const Context& context) {
  if (address.context != &context) return false;
  return scope == Scope::all ||
         (address.plane == Plane::collective && address.tag < kFirstPartitionTag);
}

const base::Error* failure_of(const Context& context, int source) {
  if (context.failed == 0) return nullptr;
  if (source != kAnySource) {
    const Peer* from = context.known_peer(source);
    return from != nullptr && from->failure ? &*from->failure : nullptr;
  }
  if (context.lossy_peer != nullptr) return &*context.lossy_peer->failure;
  if (context.failed < context.others) return nullptr;
  const base::Error* reason = nullptr;
  context.peers.for_each([&](int, const Peer* from) {
    if (reason == nullptr && from != nullptr && from->failure) reason = &*from->failure;
  });
  return reason;
}

const base::Error* failure_of(const MessageAddress& from) {
  const Context& context = *from.context;
  if (context.collective_failure &&
      (context.is_revoked || is_in(Scope::collectives, from, context)))
    return &*context.collective_failure;
  if (const base::Error* failure = failure_of(context, from.rank)) return failure;
  const bool may_be_from_failed = from.rank == kAnySource && from.plane == Plane::user &&
                                  context.unacknowledged;
  return may_be_from_failed ? &*context.unacknowledged : nullptr;
}

}  // namespace shim::p2p
