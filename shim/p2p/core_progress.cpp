// SPDX-License-Identifier: BSD-3-Clause
// Implements the engine's part of a round, and what must be done before a flush ends.
#include <algorithm>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

int Core::progress_all(Guard& guard, bool thorough, base::Status& status) {
  if (provider.is_enabled()) {
    provider.progress();
    if (cancelling.has_deferred()) cancelling.reply_to_deferred();
  }
  // no receive is on the fast path in a round, so no packet ends the poll early
  int moved = transports.poll(thorough, *this, status, [] { return false; }).packets;
  if (output.has_waiting()) moved += output.push_all();
  if (rendezvous.has_reads()) moved += rendezvous.read_some();
  if (shared_copies.has_writes()) moved += shared_copies.write_some(rendezvous.has_reads());
  if (links.has_requests()) links.open_requested(guard);
  if (inbox.has_work()) {
    guard.unlock();
    inbox.handle();
    guard.lock();
  }
  return moved;
}

base::Status Core::progress() {
  SHIM_TRY(loop.round(true));
  if (liveness.is_due()) [[unlikely]]
    liveness.check();
  return {};
}

void Core::poll_active() {
  {
    const EngineLock::Scope lock(lock_);
    if (!loop.is_round_due_after_poll()) {
      base::Status status;
      receiving.poll_all(false, status);
      return;
    }
  }
  static_cast<void>(loop.round(false));
}

void Core::complete_overdue() {
  cancelling.complete_abandoned();
  collective_failures.recheck_pending_notices();
}

/// Process the packets of members: after a failure notice, the data read from them may be invalid.
void Core::confirm_reads(Context& context) {
  context.has_unconfirmed_reads.store(false, std::memory_order_relaxed);
  base::Status status;
  receiving.poll_all(true, status);  // an error is left to the next round
}

bool Core::is_flushed() {
  Guard guard = enter();
  if (sending.has_released()) return false;
  const Peer* const with_output = peers.find_first([&](Peer& peer) -> Peer* {
    const bool has_output = !peer.queue.empty() || !peer.streams.empty();
    return has_output && spec.router->receives_packets(peer.process) ? &peer : nullptr;
  });
  return with_output == nullptr && transports.are_flushed();
}

/// A poll for another message may have received control messages, or the beginning of one.
bool Core::has_handled_all_control() {
  std::vector<base::ProcessId> senders;
  {
    Guard guard = enter();
    if (inbox.has_work()) return false;
    peers.for_each([&](const Peer& peer) {
      if (!peer.control_part.empty() && !peer.failure) senders.push_back(peer.process);
    });
  }
  return std::ranges::none_of(senders, [&](base::ProcessId process) {
    return spec.router->receives_packets(process) && spec.router->is_alive(process);
  });
}

}  // namespace shim::p2p
