// SPDX-License-Identifier: BSD-3-Clause
// What has arrived when this end closes: receipts, and goodbyes.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

/// A flush asks again after this long: an ask, unlike silence, finds out that the peer is gone.
constexpr base::Nanoseconds kAskAgainNs = 20'000'000;
/// tcp;ofi_rxm (libfabric 1.17) connects to a peer that is gone again and again, and says "try again" meanwhile. A peer that
/// neither takes nor says anything for this long while we flush is taken for gone.
constexpr base::Nanoseconds kGoneNs = 2'000'000'000;
/// Closing waits this long for the peers to hear our goodbye; one that is busy elsewhere hears it later.
constexpr base::Nanoseconds kGoodbyeNs = 100'000'000;

}  // namespace

/// A completed send says that the bytes left our hands, not that they will arrive: when an endpoint closes with bytes unread,
/// TCP resets its connections and drops what is on its way. So a flush asks every peer for a receipt.
bool Ofi::is_flushed() const {
  if (broken_) return true;  // nothing more will leave
  bool settled = std::ranges::all_of(links_, [](const auto& entry) { return entry.second->is_settled(); });
  is_flushing_ = !settled;
  return settled && sends_.in_use() == 0;
}

void Ofi::ask_for_receipts() {
  base::Nanoseconds now = base::now_ns();
  for (auto& [cookie, link] : links_) {
    if (link->is_settled()) continue;
    if (link->packets_asked == link->packets_sent && now - link->asked_at < kAskAgainNs) continue;
    auto attempt = send_frame(*link, FrameKind::ask, {}, {});
    if (!attempt) continue;  // the failure is the link's
    if (*attempt == Attempt::done) {
      link->packets_asked = link->packets_sent;
      link->asked_at = now;
      link->refused_since = 0;
    } else if (link->refused_since == 0) {
      link->refused_since = now;
    } else if (now - link->refused_since > kGoneNs) {
      fail(*link, Error(ErrorClass::proc_aborted, "a process takes no packets any more over " + endpoint_.provider()));
    }
  }
}

/// Packets come in the order sent, so what was sent before an ask has been seen by then. Where an answer finds no room it is
/// dropped: the asker asks again.
Result<Attempt> Ofi::send_receipt(OfiLink& link, FrameKind kind) {
  const Receipt receipt{link.packets_seen};
  return send_frame(link, kind, std::as_bytes(std::span(&receipt, 1)), {});
}

/// Is answered when all that has come has been read: a goodbye behind it means that nobody wants the answer, and with libfabric's
/// shm that it would end this process (closing_loses_packets).
void Ofi::take_ask(OfiLink& link) {
  if (matcher_) link.asked_sweep = matcher_->begin_sweep();  // we have not seen what waits at the provider
  if (!std::exchange(link.is_asking, true)) asking_.push_back(&link);
}

void Ofi::answer_asks() {
  std::erase_if(asking_, [&](OfiLink* link) {
    if (matcher_ && matcher_->sweeps() < link->asked_sweep) return false;
    link->is_asking = false;
    (void)send_receipt(*link, FrameKind::seen);  // a failed link takes none
    return true;
  });
}

void Ofi::take_receipt(OfiLink& link, ConstSpan bytes) {
  Receipt receipt;
  if (bytes.size() < sizeof receipt) return;
  std::memcpy(&receipt, bytes.data(), sizeof receipt);
  link.packets_confirmed = std::max(link.packets_confirmed, receipt.packets);
}

void Ofi::take_bye(OfiLink& link, ConstSpan bytes) {
  take_receipt(link, bytes);
  // If there is no room, it stops waiting by itself.
  if (closing_loses_packets(endpoint_.provider())) (void)send_frame(link, FrameKind::bye_heard, {}, {});
  fail(link, Error(ErrorClass::proc_aborted, "a process has closed its network endpoint"));
}

/// Tells everybody we have exchanged packets with what we have seen, so that nobody waits for a receipt from us, and answers
/// their last questions, until all have heard it.
void Ofi::say_goodbye() {
  struct Deaf final : Sink {
    bool on_packet(ConstSpan) override { return true; }
  } nobody;
  const base::Nanoseconds end = base::now_ns() + kGoodbyeNs;
  // Reads first: to one whose own goodbye has come nothing must be sent any more.
  while (poll(nobody) && base::now_ns() < end) {
    bool is_over = true;
    for (auto& [cookie, link] : links_) {
      if (!link->needs_goodbye()) continue;
      is_over = false;
      if (link->has_said_bye) continue;
      auto attempt = send_receipt(*link, FrameKind::bye);
      link->has_said_bye = attempt && *attempt == Attempt::done;
      link->bye_is_heard = link->has_said_bye && !closing_loses_packets(endpoint_.provider());
    }
    if (is_over) return;
  }
}

}  // namespace shim::transport
