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
    progress();
    SHIM_TRY(of_.read_completions(1, nobody));
  }
  if (sweeps_ < trial) return Error(ErrorClass::other, "it does not give receives back");
  return {};
}

Result<Attempt> OfiMatcher::try_send(Link& to, const Envelope& message, ConstSpan header, ConstSpan payload) {
  return of_.try_send_as(FrameKind::matched, bits_.of(message), static_cast<OfiLink&>(to), header, payload);
}

/// As the operation says.
ssize_t OfiMatcher::post(Operation& receive) {
  const std::size_t bytes = of_.traits_.prefix_bytes + of_.traits_.frame_bytes;
  return ::fi_trecv(of_.endpoint_.ep(), receive.bytes, bytes, receives_.description, receive.match.sender, receive.match.bits,
                    receive.match.ignored, &receive.context);
}

/// A receive of messages from a sender that is named waits until the provider has shown that it knows who that is, and until all that
/// has come before it did has been gathered.
Result<Attempt> OfiMatcher::post(MatchedReceive& receive, Link& from, const Envelope& wanted) {
  if (is_gathering() || !unposted_.empty() || room() == 0) return Attempt::again;
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
  const ssize_t code = post(*operation);
  if (code != 0) {
    receives_.give_back(operation);
    if (is_passing(code)) return Attempt::again;
    return of_.library_.error(static_cast<int>(code), "fi_trecv");
  }
  receive.operation = operation;
  return Attempt::done;
}

/// Too late, or not: the completion says.
void OfiMatcher::withdraw(MatchedReceive& receive) {
  if (receive.operation == nullptr || !of_.check()) return;
  auto* operation = static_cast<Operation*>(receive.operation);
  const auto unposted = std::ranges::find(unposted_, operation);
  if (unposted == unposted_.end()) {
    (void)::fi_cancel(&of_.endpoint_.ep()->fid, &operation->context);
    return;
  }
  unposted_.erase(unposted);
  operation->match.receive = nullptr;
  receive.operation = nullptr;
  receives_.give_back(operation);
  of_.held_.push_back({{}, &receive, true});
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

void OfiMatcher::gather(bool shall) {
  shall_gather_ = shall;
  if (shall && catch_all_ == nullptr && of_.check()) post_catch_all();
}

std::uint64_t OfiMatcher::begin_sweep() {
  sweeps_wanted_ = std::max(sweeps_wanted_, sweeps_ + (is_ending_ ? 2 : 1));  // what ends may have been asked back too early
  return sweeps_wanted_;
}

void OfiMatcher::post_catch_all() {
  if (!unposted_.empty()) return;
  Operation* operation = receives_.take();
  if (operation == nullptr) return;
  operation->match = {.is_matched = true, .bits = 0, .ignored = ~std::uint64_t{0}, .sender = FI_ADDR_UNSPEC, .receive = nullptr};
  if (post(*operation) == 0) catch_all_ = operation;
  else receives_.give_back(operation);  // the next poll tries again, and tells an error
}

void OfiMatcher::end_catch_all() {
  is_ending_ = true;
  (void)::fi_cancel(&of_.endpoint_.ep()->fid, &catch_all_->context);
}

void OfiMatcher::progress() {
  while (!unposted_.empty() && post(*unposted_.front()) == 0) unposted_.erase(unposted_.begin());
  const bool shall_sweep = sweeps_ < sweeps_wanted_;
  if (catch_all_ == nullptr) {
    if (shall_gather_ || shall_sweep) post_catch_all();
  } else if (!is_ending_ && (!shall_gather_ || shall_sweep)) {
    end_catch_all();
  }
}

/// Where it was, as far as that can be had: behind receives that were posted later.
void OfiMatcher::post_again(Operation& receive) {
  if (!unposted_.empty() || post(receive) != 0) unposted_.push_back(&receive);
}

/// The provider has told who has sent a message, and it is who should have.
void OfiMatcher::note_sender(OfiLink& link, fi_addr_t sender) {
  if (!link.recognised && sender != FI_ADDR_UNSPEC && sender == link.address) link.recognised = sweeps_;
}

void OfiMatcher::complete(Operation& operation, std::size_t bytes, fi_addr_t sender, Sink& sink) {
  const bool is_catch_all = &operation == catch_all_;
  if (is_catch_all) {
    catch_all_ = nullptr;
    is_ending_ = false;
  }
  const std::size_t prefix = of_.traits_.prefix_bytes;
  OfiLink* link = nullptr;
  const ConstSpan packet = of_.matched_packet(ConstSpan(operation.bytes, bytes).subspan(std::min(prefix, bytes)), link);
  MatchedReceive* receive = operation.match.receive;
  if (link == nullptr && receive != nullptr) return post_again(operation);
  if (link != nullptr) {
    note_sender(*link, sender);
    if (receive != nullptr) {
      receive->operation = nullptr;
      sink.on_matched(*receive, packet);
    } else {
      sink.on_packet(packet);
    }
  }
  receives_.give_back(&operation);
  if (is_catch_all && shall_gather_ && catch_all_ == nullptr) post_catch_all();  // what waits next is then in the next completions
}

void OfiMatcher::fail(Operation& operation, int code, Sink& sink) {
  MatchedReceive* receive = operation.match.receive;
  if (&operation == catch_all_) {
    catch_all_ = nullptr;
    is_ending_ = false;
    if (code == FI_ECANCELED) ++sweeps_;
  } else if (code != FI_ECANCELED && receive != nullptr) {
    ++of_.counts_.packets_refused;  // too long, from a stranger then, or cut off by a dying peer
    return post_again(operation);
  }
  receives_.give_back(&operation);
  if (receive == nullptr) return;
  receive->operation = nullptr;
  sink.on_withdrawn(*receive);
}

}  // namespace shim::transport
