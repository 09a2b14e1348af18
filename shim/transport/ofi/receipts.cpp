// SPDX-License-Identifier: BSD-3-Clause
// What has arrived: receipts, for who waits for long and for who closes; and goodbyes.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
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
/// neither takes nor says anything for this long while we flush, and we try, is given up.
constexpr base::Nanoseconds kGoneNs = 2'000'000'000;
/// Who waits asks a peer that does not answer, because it computes, after twice as long each time, at most.
constexpr base::Nanoseconds kMostPatienceNs = 60'000'000'000;
/// Where the provider keeps no order, a frame that others wait for is lost after so many times a waiter's patience: such a provider sends
/// again itself what is lost on the way, which may take it seconds.
constexpr int kLongestGap = 30;
/// Who waits looks for losses more often than this.
constexpr base::Nanoseconds kAwayNs = 1'000'000'000;
/// Closing waits this long for the peers to hear our goodbye; one that is busy elsewhere hears it later.
constexpr base::Nanoseconds kGoodbyeNs = 100'000'000;

ConstSpan bytes_of(const Receipt& receipt) { return std::as_bytes(std::span(&receipt, 1)); }

std::optional<Receipt> receipt_in(ConstSpan bytes) {
  Receipt receipt;
  if (bytes.size() < sizeof receipt) return std::nullopt;
  std::memcpy(&receipt, bytes.data(), sizeof receipt);
  return receipt;
}

Error lost_packets(const char* which_way, const std::string& provider) {
  return {ErrorClass::proc_aborted, "packets " + std::string(which_way) + " that process were lost over libfabric's " + provider +
                                        " (FI_LOG_LEVEL=warn may tell more); set INTERSESSION_PROVIDER to another "
                                        "provider, or unset it"};
}

}  // namespace

/// A completed send says that the bytes left our hands, not that they will arrive: when an endpoint closes with bytes unread,
/// TCP resets its connections and drops what is on its way. So a flush asks every peer for a receipt. Some providers never complete what is
/// for the dead (udp;ofi_rxd, shm).
bool Ofi::is_flushed() const {
  if (broken_) return true;  // nothing more will leave
  bool settled = std::ranges::all_of(links_, [](const auto& entry) { return entry.second->is_settled(); });
  is_flushing_ = !settled;
  return settled && std::ranges::all_of(links_, [](const auto& entry) { return entry.second->under_way == 0 || entry.second->failure; });
}

Result<Attempt> Ofi::ask(OfiLink& link) {
  const Receipt sent{link.packets_sent};
  SHIM_TRY_ASSIGN(const Attempt attempt, send_frame(link, FrameKind::ask, bytes_of(sent), {}));
  if (attempt != Attempt::done) return attempt;
  link.packets_asked = link.packets_sent;
  link.in_doubt_asked = link.in_doubt;
  link.asked_at = base::now_ns();
  link.asks = {};
  return attempt;
}

void Ofi::ask_for_receipts() {
  const base::Nanoseconds now = base::now_ns();
  for (auto& [cookie, link] : links_) {
    if (link->is_settled() || link->has_said_bye) continue;
    if (link->packets_asked == link->packets_sent && now - link->asked_at < kAskAgainNs) continue;
    auto attempt = ask(*link);
    if (!attempt || *attempt == Attempt::done || !link->asks.add(kGoneNs)) continue;  // the failure is the link's
    // It may compute, and send later what somebody waits for; so it is not gone.
    fail(*link, Error(ErrorClass::proc_aborted, "a process takes no packets any more over " + endpoint_.provider()));
  }
}

/// A provider may lose without a word what it has taken, as tcp;ofi_rxm does with a connection that is refused. Nobody sees that but the
/// two who wait for each other then, or in a circle of more; so who waits asks all.
void Ofi::ask_of_losses() {
  const base::Nanoseconds now = base::now_ns();
  for (auto& [cookie, link] : links_) {
    const bool is_to_be_told = link->failure && !link->is_told && !link->has_left && closing_loses_packets(endpoint_.provider());
    if (link->is_settled() && !is_to_be_told) {
      link->patience = 0;
    } else if (link->patience == 0) {
      link->patience = patience_;
      link->asked_at = now;
    } else if (now - link->asked_at >= link->patience && (is_to_be_told ? owe_answer(*link) : has_asked(*link))) {
      link->asked_at = now;
      link->patience = std::min(2 * link->patience, kMostPatienceNs);
    }
  }
}

bool Ofi::has_asked(OfiLink& link) {
  auto attempt = ask(link);
  return attempt && *attempt == Attempt::done;
}

/// Only of a provider that keeps no order. A gap that is not closed though its sender goes on, and though we poll.
void Ofi::look_for_gaps() {
  if (traits_.keeps_order) return;
  const base::Nanoseconds now = base::now_ns();
  const bool was_away = now - std::exchange(gaps_looked_at_, now) > kAwayNs;
  for (auto& [cookie, link] : links_) {
    if (link->failure) continue;
    if (!link->order.has_gap()) {
      link->gap_since = 0;
    } else if (was_away || link->gap_since == 0 || link->gap_at != link->order.next()) {
      link->gap_since = now;
      link->gap_at = link->order.next();
    } else if (now - link->gap_since >= kLongestGap * patience_) {
      link->misses_frames = true;  // it may have died all the same: if it lives, it answers when it is told
      cut_off(*link, lost_packets("from", endpoint_.provider()));
    }
  }
}

bool Ofi::is_gone(const Link& of) const { return static_cast<const OfiLink&>(of).is_gone; }

bool Ofi::has_lost(const Link& of) const { return static_cast<const OfiLink&>(of).has_lost; }

std::string_view Ofi::why_gone(const Link& of) const {
  const auto& link = static_cast<const OfiLink&>(of);
  return is_gone(link) ? std::string_view(link.failure->text()) : std::string_view();
}

/// Packets come in the order sent, so what was sent before an ask has been seen by then.
Result<Attempt> Ofi::send_receipt(OfiLink& link, FrameKind kind) {
  const Receipt receipt{link.packets_seen};
  return send_frame(link, kind, bytes_of(receipt), {});
}

/// Is answered when all that has come has been read: a goodbye behind it means that nobody wants the answer, and with libfabric's
/// shm that it would end this process (closing_loses_packets).
void Ofi::take_ask(OfiLink& link, ConstSpan bytes) {
  if (const auto sent = receipt_in(bytes)) link.packets_announced = std::max(link.packets_announced, sent->packets);
  if (matcher_) link.asked_sweep = matcher_->begin_sweep();  // we have not seen what waits at the provider
  link.answers = {};
  owe_answer(link);
}

/// False: that is so already.
bool Ofi::owe_answer(OfiLink& link) {
  if (std::exchange(link.is_asking, true)) return false;
  asking_.push_back(&link);
  return true;
}

void Ofi::answer_asks() {
  std::erase_if(asking_, [&](OfiLink* link) {
    if (matcher_ && matcher_->sweeps() < link->asked_sweep) return false;
    link->is_asking = !answer(*link);
    return !link->is_asking;
  });
}

/// Of the messages for our provider to match that had been sent when this was asked some time ago, have not all come, and does nothing come?
/// An ask may overtake them. What is lost of other frames their numbers say.
bool Ofi::misses_packets(OfiLink& link) const {
  if (!matcher_) return false;
  const base::Nanoseconds now = base::now_ns();
  if (link.packets_seen >= link.packets_announced || link.has_said_bye) {
    link.missed_since = 0;
  } else if (link.missed_since == 0 || link.packets_seen != link.packets_missing_since) {
    link.missed_since = now;
    link.packets_missing_since = link.packets_seen;
  }
  return link.missed_since != 0 && now - link.missed_since >= patience_ / 2;
}

/// False where it finds no room as yet. Where our own packets to the asker have failed, or it has lost some, it hears no more of us than that.
bool Ofi::answer(OfiLink& link) {
  if (link.has_left || link.to.name.empty()) return true;
  if (!link.failure && misses_packets(link)) note_missing(link);
  const FrameKind kind = link.misses_frames ? FrameKind::lost : link.failure ? FrameKind::mute : FrameKind::seen;
  auto attempt = send_receipt(link, kind);
  if (!attempt) return !link.failure || tells_of_failure(kind);  // else that is told next
  link.is_told = *attempt == Attempt::done && tells_of_failure(kind);
  return *attempt == Attempt::done || link.answers.add(kGoneNs);
}

void Ofi::take_failure(OfiLink& link, FrameKind kind) { note_loss(link, kind == FrameKind::lost ? "to" : "from"); }

/// One or more before a frame of this kind are lost. It is not taken, nor is what comes behind it: that would match what the lost were for.
void Ofi::miss_frames(OfiLink& link, FrameKind before) {
  ++counts_.packets_refused;
  if (before == FrameKind::bye) link.has_left = true;
  note_missing(link);
  if (before == FrameKind::ask) owe_answer(link);
}

/// Of the peer's frames, which never will come.
void Ofi::note_missing(OfiLink& link) {
  link.misses_frames = true;
  note_loss(link, "from");
}

void Ofi::note_loss(OfiLink& link, const char* which_way) {
  cut_off(link, lost_packets(which_way, endpoint_.provider()));
  link.is_gone = link.has_lost = has_losses_ = true;
}

/// One that does not count all that was asked about leaves the doubt to the next ask.
void Ofi::take_receipt(OfiLink& link, ConstSpan bytes) {
  const auto receipt = receipt_in(bytes);
  if (!receipt) return;
  link.packets_confirmed = std::max(link.packets_confirmed, receipt->packets);
  if (link.packets_confirmed >= link.packets_asked) link.in_doubt -= link.in_doubt_asked;
  link.in_doubt_asked = 0;
  if (link.patience != 0) link.patience = patience_;
}

void Ofi::take_bye(OfiLink& link, ConstSpan bytes) {
  take_receipt(link, bytes);
  link.has_left = true;
  link.is_gone = link.has_lost;  // what could not be sent to it was because it had closed
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
