// SPDX-License-Identifier: BSD-3-Clause
// Implements the engine's part of a round, and what must be done before a flush ends.
#include <algorithm>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

int Core::poll_all(bool thorough, base::Status& status) {
  const auto polled = transports_.poll(
      thorough, *this, status, [this] { return expected_ != nullptr && expected_->is_received; });
  if (polled.is_complete) bytes_since_poll_ = 0;
  return polled.packets;
}

int Core::progress_all(Guard& guard, bool thorough, base::Status& status) {
  if (may_match_in_provider_) {
    provider.progress();
    if (cancelling.has_deferred()) cancelling.reply_to_deferred();
  }
  int moved = poll_all(thorough, status);
  if (!busy_.empty()) moved += push_all();
  if (rendezvous.has_reads()) moved += rendezvous.read_some();
  if (shared_copies.has_writes()) moved += shared_copies.write_some(rendezvous.has_reads());
  if (!unrouted_.empty()) route_waiting(guard);
  if (inbox_.has_work()) {
    guard.unlock();
    inbox_.handle();
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
      poll_all(false, status);
      return;
    }
  }
  static_cast<void>(loop.round(false));
}

bool Core::is_flushed() {
  Guard guard = enter();
  if (unfinished_released != 0) return false;
  const Peer* const with_output = peers_.find_first([&](Peer& peer) -> Peer* {
    const bool has_output = !peer.queue.empty() || !peer.streams.empty();
    return has_output && spec.router->receives_packets(peer.process) ? &peer : nullptr;
  });
  return with_output == nullptr && transports_.are_flushed();
}

/// A poll for another message may have received control messages, or the beginning of one.
bool Core::has_handled_all_control() {
  std::vector<base::ProcessId> senders;
  {
    Guard guard = enter();
    if (inbox_.has_work()) return false;
    peers_.for_each([&](const Peer& peer) {
      if (!peer.control_part.empty() && !peer.failure) senders.push_back(peer.process);
    });
  }
  return std::ranges::none_of(senders, [&](base::ProcessId process) {
    return spec.router->receives_packets(process) && spec.router->is_alive(process);
  });
}

}  // namespace shim::p2p
