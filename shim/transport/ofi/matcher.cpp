// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/matcher.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <utility>

#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

namespace {

/// A receive that accepts all is given back at once where it can be; a provider that has not done so by then never will.
constexpr int kTrialPolls = 1000;
/// Of messages that the other may not have seen, so many bytes are on their way to it at most; each takes some more where it lies.
constexpr std::size_t kMostInDoubt = std::size_t{1} << 20, kBesideEachMessage = 512;

}  // namespace

OfiMatcher::OfiMatcher(Ofi& of, const MatchBits& bits)
    : of_(of), bits_(bits), receives_(of.traits_.receives + 1, of.traits_.prefix_bytes + of.traits_.frame_bytes) {}

Status OfiMatcher::begin() {
  SHIM_TRY_ASSIGN(receives_.description, of_.endpoint_.register_buffers(of_.library_, receives_.memory(), FI_RECV));
  const std::uint64_t trial = begin_sweep();
  struct : Sink {
    bool on_packet(ConstSpan) override { return true; }
  } nobody;
  for (int i = 0; i < kTrialPolls && sweeps_ < trial; ++i) {
    SHIM_TRY(progress());
    SHIM_TRY(of_.read_completions(1, nobody));
  }
  if (sweeps_ < trial) return Error(ErrorClass::other, "it does not give receives back");
  return {};
}

/// What no receive waits for lies in the memory of the other's provider, until that is swept: an ask brings it to the other's owner, who
/// may tell us to hold back. done: more may be sent.
Result<Attempt> OfiMatcher::settle_doubt(OfiLink& link) {
  SHIM_TRY(of_.check());
  if (link.failure) return link.failure->clone();
  if (link.in_doubt_asked == 0) SHIM_TRY(of_.ask(link));
  if (link.in_doubt < kMostInDoubt) return Attempt::done;
  ++of_.counts_.sends_again;
  return Attempt::again;
}

Result<Attempt> OfiMatcher::try_send(Link& to, const Envelope& message, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<OfiLink&>(to);
  if (link.in_doubt >= kMostInDoubt / 2) [[unlikely]] {
    SHIM_TRY_ASSIGN(const Attempt settled, settle_doubt(link));
    if (settled != Attempt::done) return settled;
  }
  SHIM_TRY_ASSIGN(const Attempt attempt, of_.try_send_as(FrameKind::matched, bits_.of(message), link, header, payload));
  if (attempt == Attempt::done) link.in_doubt += header.size() + payload.size() + kBesideEachMessage;
  return attempt;
}

/// As the operation says. It is given back where the provider does not take it.
Result<Attempt> OfiMatcher::post(Operation* receive) {
  const std::size_t bytes = of_.traits_.prefix_bytes + of_.traits_.frame_bytes;
  const Match& match = receive->match;
  const ssize_t code = ::fi_trecv(of_.endpoint_.ep(), receive->bytes, bytes, receives_.description, match.sender, match.bits, match.ignored,
                                  &receive->context);
  if (code == 0) [[likely]] return Attempt::done;
  receives_.give_back(receive);
  if (is_passing(code)) return Attempt::again;
  return of_.library_.error(static_cast<int>(code), "fi_trecv");
}

/// A receive of messages from a sender that is named waits until the provider has shown that it knows who that is, and until all that
/// has come before it did has been gathered.
Result<Attempt> OfiMatcher::post(MatchedReceive& receive, Link& from, const Envelope& wanted) {
  SHIM_TRY(of_.check());
  if (is_gathering(wanted.context) || room() == 0) return Attempt::again;
  fi_addr_t sender = FI_ADDR_UNSPEC;
  if (bits_.names_sender()) {
    auto& link = static_cast<OfiLink&>(from);
    if (link.to.name.empty()) return Attempt::again;
    SHIM_TRY_ASSIGN(const Attempt ready, of_.make_ready(link));
    if (ready != Attempt::done || !knows(link)) return Attempt::again;
    sender = link.address;
  }
  Operation* operation = receives_.take();
  operation->match = {.is_matched = true, .bits = bits_.of(wanted), .ignored = MatchBits::ignored(wanted), .sender = sender, .receive = &receive};
  SHIM_TRY_ASSIGN(const Attempt attempt, post(operation));
  if (attempt == Attempt::done) receive.operation = operation;
  return attempt;
}

/// False where the provider says "try again". What else it says does not matter: too late, or not, the completion says.
bool OfiMatcher::ask_back(Operation& receive) { return !is_passing(::fi_cancel(&of_.endpoint_.ep()->fid, &receive.context)); }

void OfiMatcher::withdraw(MatchedReceive& receive) {
  if (receive.operation == nullptr || !of_.check()) return;
  auto* operation = static_cast<Operation*>(receive.operation);
  if (!std::exchange(operation->match.is_withdrawn, true) && !ask_back(*operation)) refused_.push_back(operation);
}

void OfiMatcher::forget(MatchedReceive& receive) {
  if (auto* operation = static_cast<Operation*>(receive.operation)) {
    withdraw(receive);
    operation->match.receive = nullptr;
    receive.operation = nullptr;
  }
  std::erase_if(of_.held_, [&](const Held& held) { return held.receive == &receive && held.is_withdrawn; });
  for (Held& held : of_.held_)
    if (held.receive == &receive) held.receive = nullptr;
}

void OfiMatcher::gather(const Gathering& what) {
  wanted_ = what;
  if (!what.is_nothing() && catch_all_ == nullptr && of_.check()) (void)post_catch_all();  // the next poll tries again, and tells an error
}

std::uint64_t OfiMatcher::begin_sweep() {
  sweeps_wanted_ = std::max(sweeps_wanted_, sweeps_ + (is_ending_ && caught_.is_all() ? 2 : 1));  // what ends may have been asked back too early
  return sweeps_wanted_;
}

Result<Attempt> OfiMatcher::post_catch_all() {
  Operation* operation = receives_.take();
  if (operation == nullptr) return Attempt::again;
  caught_ = due();
  operation->match = {.is_matched = true, .bits = 0, .ignored = ~std::uint64_t{0}, .sender = FI_ADDR_UNSPEC, .receive = nullptr};
  if (!caught_.is_all()) {
    operation->match.bits = bits_.of({caught_.context(), 0, kEveryTag});
    operation->match.ignored = bits_.ignored_of_context();
  }
  SHIM_TRY_ASSIGN(const Attempt attempt, post(operation));
  if (attempt == Attempt::done) catch_all_ = operation;
  return attempt;
}

Status OfiMatcher::progress() {
  if (!refused_.empty()) [[unlikely]] std::erase_if(refused_, [this](Operation* receive) { return ask_back(*receive); });
  if (catch_all_ == nullptr) {
    if (!due().is_nothing()) SHIM_TRY(post_catch_all());
  } else if (!is_ending_ && (caught_ != wanted_ || shall_sweep())) {
    is_ending_ = ask_back(*catch_all_);
  }
  return {};
}

/// Tells the owner what has come for its receive; of what is no message nothing, unless it wants the receive back anyway.
void OfiMatcher::hand_on(Operation& receive, ConstSpan packet, Sink& sink) {
  receive.match.receive->operation = nullptr;
  if (packet.empty() && receive.match.is_withdrawn) sink.on_withdrawn(*receive.match.receive);
  else sink.on_matched(*receive.match.receive, packet);
}

/// The provider has it no longer.
void OfiMatcher::leave(Operation& operation) {
  if (&operation == catch_all_) {
    catch_all_ = nullptr;
    is_ending_ = false;
  }
  if (!refused_.empty()) [[unlikely]] std::erase(refused_, &operation);
}

/// The provider has told who has sent a message, and it is who should have.
void OfiMatcher::note_sender(OfiLink& link, fi_addr_t sender) {
  if (!link.recognised && sender != FI_ADDR_UNSPEC && sender == link.address) link.recognised = sweeps_;
}

void OfiMatcher::complete(Operation& operation, std::size_t bytes, fi_addr_t sender, Sink& sink) {
  const bool is_catch_all = &operation == catch_all_;
  leave(operation);
  const std::size_t prefix = of_.traits_.prefix_bytes;
  OfiLink* link = nullptr;
  const ConstSpan packet = of_.matched_packet(ConstSpan(operation.bytes, bytes).subspan(std::min(prefix, bytes)), link);
  if (link != nullptr) note_sender(*link, sender);
  if (operation.match.receive != nullptr) hand_on(operation, packet, sink);
  else if (link != nullptr) sink.on_packet(packet);
  receives_.give_back(&operation);
  // What waits next is then in the next completions; else the next poll tries again, and tells an error.
  if (is_catch_all && !due().is_nothing() && catch_all_ == nullptr) (void)post_catch_all();
}

/// A receive that was given back, or that got what was too long, from a stranger then, or cut off by a dying peer.
void OfiMatcher::fail(Operation& operation, int code, Sink& sink) {
  const bool is_given_back = code == FI_ECANCELED;
  if (&operation == catch_all_ && caught_.is_all() && is_given_back) ++sweeps_;
  if (!is_given_back) ++of_.counts_.packets_refused;
  leave(operation);
  operation.match.is_withdrawn |= is_given_back;
  if (operation.match.receive != nullptr) hand_on(operation, {}, sink);
  receives_.give_back(&operation);
}

}  // namespace shim::transport
