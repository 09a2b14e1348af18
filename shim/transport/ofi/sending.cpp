// SPDX-License-Identifier: BSD-3-Clause
// Frames on their way out.
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstring>

#include "shim/base/copy.hpp"
#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;

Result<Attempt> Ofi::introduce_ourselves(OfiLink& link) {
  SHIM_TRY_ASSIGN(Attempt attempt, send_frame(link, FrameKind::hello, address(), {}));
  link.is_introduced = attempt == Attempt::done;
  return attempt;
}

/// Puts the peer into the address table.
Result<Attempt> Ofi::insert(OfiLink& link) {
  auto address = endpoint_.insert(library_, link.to.name);
  if (!address && is_passing(-address.error().foreign_code())) return Attempt::again;
  if (!address) return std::move(address).error();
  link.address = *address;
  ++counts_.addresses_inserted;
  return Attempt::done;
}

void Ofi::expect(Link& to) {
  auto& link = static_cast<OfiLink&>(to);
  if (!traits_.knows_callers && link.address == FI_ADDR_UNSPEC) (void)insert(link);  // else when we send, which says so if it cannot be
}

Result<Attempt> Ofi::make_ready(OfiLink& link) {
  if (link.failure) return link.failure->clone();
  return reach(link);
}

/// Sees to it that the peer is in the address table, and nothing of an earlier packet left to be sent.
Result<Attempt> Ofi::reach(OfiLink& link) {
  if (link.address == FI_ADDR_UNSPEC) [[unlikely]] {
    SHIM_TRY_ASSIGN(const Attempt inserted, insert(link));
    if (inserted != Attempt::done) return inserted;
  }
  return link.unsent.empty() ? Attempt::done : push(link);
}

/// As the provider wants it; answers how long it is.
std::size_t Ofi::write_frame(std::byte* into, OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload) const {
  const Frame frame{link.to.cookie, cookie_, static_cast<std::uint32_t>(kind), link.frames_sent};
  std::byte* next = into + traits_.prefix_bytes;
  std::memcpy(next, &frame, sizeof frame);
  next += sizeof frame;
  if (!header.empty()) std::memcpy(next, header.data(), header.size());
  next += header.size();
  if (!payload.empty()) base::copy_long(next, payload.data(), payload.size());
  return static_cast<std::size_t>(next - into) + payload.size();
}

/// What libfabric said of one frame to this peer.
Result<Attempt> Ofi::outcome_of(OfiLink& link, ssize_t code) {
  if (code == 0) [[likely]] return Attempt::done;
  if (is_passing(code)) return Attempt::again;
  cut_off(link, failure(static_cast<int>(code)));
  return link.failure->clone();
}

/// Half of what is free is for others: a peer that takes nothing, or is dead, must not keep us from them.
bool Ofi::has_room(const OfiLink& link, std::size_t sends) const { return link.under_way + sends <= sends_.available(); }

Operation* Ofi::take_send(OfiLink& link) {
  Operation* send = sends_.take();
  send->link = &link;
  ++link.under_way;
  return send;
}

void Ofi::give_back(Operation* send) {
  --send->link->under_way;
  sends_.give_back(send);
}

Result<Attempt> Ofi::post(OfiLink& link, Operation& send) {
  if (send.match.is_matched)
    return outcome_of(link, ::fi_tsend(endpoint_.ep(), send.bytes, send.length, sends_.description, link.address, send.match.bits, &send.context));
  return outcome_of(link, ::fi_send(endpoint_.ep(), send.bytes, send.length, sends_.description, link.address, &send.context));
}

/// The one place that sends what fits into one frame. Copies, so that the caller's bytes are free at once. Packets that are short
/// enough are injected; the frames that ask whether somebody is there are not, because nobody hears that an injected one has failed.
/// @param bits of one that the provider matches
Result<Attempt> Ofi::send_frame(OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload, std::uint64_t bits) {
  SHIM_TRY_ASSIGN(const Attempt ready, tells_of_failure(kind) ? reach(link) : make_ready(link));
  if (ready != Attempt::done) return ready;
  const Match match{.is_matched = kind == FrameKind::matched, .bits = bits};
  const bool is_packet = kind == FrameKind::packet || match.is_matched;
  const bool is_injected = is_packet && sizeof(Frame) + header.size() + payload.size() <= traits_.inject_bytes;
  SHIM_TRY_ASSIGN(const Attempt attempt, is_injected ? inject(link, match, write_frame(injected_.get(), link, kind, header, payload))
                                                     : send_copy(link, match, kind, header, payload));
  if (attempt == Attempt::done && !match.is_matched) ++link.frames_sent;
  return attempt;
}

/// The frame that has been written for it.
Result<Attempt> Ofi::inject(OfiLink& link, const Match& match, std::size_t bytes) {
  if (match.is_matched) return outcome_of(link, ::fi_tinject(endpoint_.ep(), injected_.get(), bytes, link.address, match.bits));
  return outcome_of(link, ::fi_inject(endpoint_.ep(), injected_.get(), bytes, link.address));
}

Result<Attempt> Ofi::send_copy(OfiLink& link, const Match& match, FrameKind kind, ConstSpan header, ConstSpan payload) {
  if (!has_room(link, 1)) return Attempt::again;
  Operation* send = take_send(link);
  send->match = match;
  send->length = write_frame(send->bytes, link, kind, header, payload);
  Result<Attempt> attempt = post(link, *send);
  if (!attempt || *attempt != Attempt::done) give_back(send);
  return attempt;
}

/// Over a provider whose messages are shorter than our packets. All parts are taken at once or none; those that find no room are
/// sent by polls, and by the next packet to this peer before itself.
Result<Attempt> Ofi::send_in_parts(OfiLink& link, ConstSpan header, ConstSpan payload) {
  SHIM_TRY_ASSIGN(const Attempt ready, make_ready(link));
  const std::size_t longest = traits_.frame_bytes - sizeof(Frame), bytes = header.size() + payload.size();
  if (ready != Attempt::done || !has_room(link, (bytes + longest - 1) / longest)) return Attempt::again;
  Bytes packet(header.begin(), header.end());
  packet.insert(packet.end(), payload.begin(), payload.end());
  for (ConstSpan rest = packet; !rest.empty();) {
    const ConstSpan part = rest.first(std::min(longest, rest.size()));
    rest = rest.subspan(part.size());
    Operation* send = take_send(link);
    send->match = {};
    send->length = write_frame(send->bytes, link, rest.empty() ? FrameKind::packet : FrameKind::part, part, {});
    ++link.frames_sent;
    ++unsent_;
    link.unsent.push_back(send);
  }
  SHIM_TRY(push(link));
  return Attempt::done;
}

/// done: nothing is left.
Result<Attempt> Ofi::push(OfiLink& link) {
  while (!link.unsent.empty()) {
    SHIM_TRY_ASSIGN(const Attempt attempt, post(link, *link.unsent.front()));
    if (attempt != Attempt::done) return attempt;
    link.unsent.pop_front();
    --unsent_;
  }
  return Attempt::done;
}

void Ofi::push_all() {
  for (auto& [cookie, link] : links_)
    if (!link->unsent.empty()) (void)push(*link);  // a failure is the link's
}

Result<Attempt> Ofi::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  return try_send_as(FrameKind::packet, 0, static_cast<OfiLink&>(to), header, payload);
}

/// A packet, or a message that the other's provider matches by these bits: then it is no longer than a frame.
Result<Attempt> Ofi::try_send_as(FrameKind kind, std::uint64_t bits, OfiLink& link, ConstSpan header, ConstSpan payload) {
  SHIM_TRY(check());
  const std::size_t bytes = header.size() + payload.size();
  if (bytes > max_packet_bytes()) return Error(ErrorClass::intern, "a packet is longer than the libfabric transport's max_packet_bytes");
  Attempt attempt = Attempt::done;
  if (!link.is_introduced) [[unlikely]] {
    SHIM_TRY_ASSIGN(attempt, introduce_ourselves(link));
  }
  if (attempt == Attempt::done) {
    const bool fits = sizeof(Frame) + bytes <= traits_.frame_bytes;
    SHIM_TRY_ASSIGN(attempt, fits ? send_frame(link, kind, header, payload, bits) : send_in_parts(link, header, payload));
  }
  if (attempt == Attempt::again) {
    ++counts_.sends_again;
    return attempt;
  }
  if (link.packets_sent++ == 0) ++counts_.links_used;
  ++counts_.packets_sent;
  counts_.bytes_sent += bytes;
  return attempt;
}

}  // namespace shim::transport
