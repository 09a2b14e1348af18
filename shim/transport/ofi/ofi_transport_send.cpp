// SPDX-License-Identifier: BSD-3-Clause
// Sends of frames.
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

Result<Attempt> Ofi::send_address(OfiLink& link) {
  SHIM_TRY_ASSIGN(Attempt attempt, send_frame(link, FrameKind::address, address(), {}));
  link.address_sent = attempt == Attempt::done;
  return attempt;
}

/// Insert the peer into the address vector.
Result<Attempt> Ofi::insert(OfiLink& link) {
  auto address = endpoint_.insert(library_, link.to.name);
  if (!address && is_transient(-address.error().foreign_code())) return Attempt::again;
  if (!address) return std::move(address).error();
  link.address = *address;
  ++counts_.addresses_inserted;
  return Attempt::done;
}

void Ofi::expect(Link& to) {
  auto& link = static_cast<OfiLink&>(to);
  if (!traits_.knows_callers && link.address == FI_ADDR_UNSPEC)
    (void)insert(link);  // a failure is retried, and reported, by the send
}

Result<Attempt> Ofi::prepare_send(OfiLink& link) {
  if (link.failure) return link.failure->clone();
  return prepare_link(link);
}

/// Ensure that the peer is in the address vector, and no fragment of an earlier packet is unsent.
Result<Attempt> Ofi::prepare_link(OfiLink& link) {
  if (link.address == FI_ADDR_UNSPEC) [[unlikely]] {
    SHIM_TRY_ASSIGN(const Attempt inserted, insert(link));
    if (inserted != Attempt::done) return inserted;
  }
  return link.unsent.empty() ? Attempt::done : send_unsent(link);
}

/// Write a frame in the provider's layout; return its length.
std::size_t Ofi::write_frame(std::byte* into, OfiLink& link, FrameKind kind, ConstSpan header,
                             ConstSpan payload) const {
  const Frame frame{link.to.cookie, cookie_, static_cast<std::uint32_t>(kind), link.frames_sent};
  std::byte* next = into + traits_.prefix_bytes;
  std::memcpy(next, &frame, sizeof frame);
  next += sizeof frame;
  if (!header.empty()) std::memcpy(next, header.data(), header.size());
  next += header.size();
  if (!payload.empty()) base::copy_long(next, payload.data(), payload.size());
  return static_cast<std::size_t>(next - into) + payload.size();
}

/// Convert libfabric's result of one send to this peer.
Result<Attempt> Ofi::result_of_post(OfiLink& link, ssize_t code) {
  if (code == 0) [[likely]]
    return Attempt::done;
  if (is_transient(code)) return Attempt::again;
  reset_link(link, failure(static_cast<int>(code)));
  return link.failure->clone();
}

/// True if sends to this peer, including these, would use at most about half of the operations that
/// sends to other peers leave: a peer that accepts nothing must not block sends to others.
bool Ofi::has_space(const OfiLink& link, std::size_t sends) const {
  return link.in_flight + sends <= sends_.available();
}

PendingOperation* Ofi::acquire_send(OfiLink& link) {
  PendingOperation* send = sends_.acquire();
  send->link = &link;
  ++link.in_flight;
  return send;
}

void Ofi::release(PendingOperation* send) {
  --send->link->in_flight;
  sends_.release(send);
}

Result<Attempt> Ofi::post(OfiLink& link, PendingOperation& send) {
  if (send.match.is_matched)
    return result_of_post(
        link, ::fi_tsend(endpoint_.ep(), send.bytes, send.length, sends_.description, link.address,
                         send.match.bits, &send.context));
  return result_of_post(link, ::fi_send(endpoint_.ep(), send.bytes, send.length, sends_.description,
                                        link.address, &send.context));
}

/// Send header and payload as one frame. Sends all frames but those of fragmented packets. Copies,
/// so the caller's bytes may be reused at once. Short packets are injected, but not ack requests,
/// because failures of injected frames are not reported.
/// @param bits of a provider-matched message
Result<Attempt> Ofi::send_frame(OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload,
                                std::uint64_t bits) {
  SHIM_TRY_ASSIGN(const Attempt ready, is_reset(kind) ? prepare_link(link) : prepare_send(link));
  if (ready != Attempt::done) return ready;
  const MatchCriteria match{.is_matched = kind == FrameKind::matched, .bits = bits};
  const bool is_packet = kind == FrameKind::packet || match.is_matched;
  const bool is_injected = is_packet &&
                           sizeof(Frame) + header.size() + payload.size() <= traits_.inject_bytes;
  SHIM_TRY_ASSIGN(
      const Attempt attempt,
      is_injected ? inject(link, match, write_frame(injected_.get(), link, kind, header, payload))
                  : send_copy(link, match, kind, header, payload));
  if (attempt == Attempt::done && !match.is_matched) ++link.frames_sent;
  return attempt;
}

/// Inject the frame that has been written.
Result<Attempt> Ofi::inject(OfiLink& link, const MatchCriteria& match, std::size_t bytes) {
  if (match.is_matched)
    return result_of_post(
        link, ::fi_tinject(endpoint_.ep(), injected_.get(), bytes, link.address, match.bits));
  return result_of_post(link, ::fi_inject(endpoint_.ep(), injected_.get(), bytes, link.address));
}

Result<Attempt> Ofi::send_copy(OfiLink& link, const MatchCriteria& match, FrameKind kind,
                               ConstSpan header, ConstSpan payload) {
  if (!has_space(link, 1)) return Attempt::again;
  PendingOperation* send = acquire_send(link);
  send->match = match;
  send->length = write_frame(send->bytes, link, kind, header, payload);
  Result<Attempt> attempt = post(link, *send);
  if (!attempt || *attempt != Attempt::done) release(send);
  return attempt;
}

/// Send a packet longer than the provider's messages. All fragments are accepted or none; unsent
/// ones are sent by polls, and before the next packet to this peer.
Result<Attempt> Ofi::send_fragments(OfiLink& link, ConstSpan header, ConstSpan payload) {
  SHIM_TRY_ASSIGN(const Attempt ready, prepare_send(link));
  const std::size_t longest = traits_.frame_bytes - sizeof(Frame),
                    bytes = header.size() + payload.size();
  if (ready != Attempt::done || !has_space(link, (bytes + longest - 1) / longest))
    return Attempt::again;
  Bytes packet(header.begin(), header.end());
  packet.insert(packet.end(), payload.begin(), payload.end());
  for (ConstSpan rest = packet; !rest.empty();) {
    const ConstSpan part = rest.first(std::min(longest, rest.size()));
    rest = rest.subspan(part.size());
    PendingOperation* send = acquire_send(link);
    send->match = {};
    send->length = write_frame(send->bytes, link,
                               rest.empty() ? FrameKind::packet : FrameKind::fragment, part, {});
    ++link.frames_sent;
    ++unsent_;
    link.unsent.push_back(send);
  }
  SHIM_TRY(send_unsent(link));
  return Attempt::done;
}

/// Send the unsent fragments; done: none is left.
Result<Attempt> Ofi::send_unsent(OfiLink& link) {
  while (!link.unsent.empty()) {
    SHIM_TRY_ASSIGN(const Attempt attempt, post(link, *link.unsent.front()));
    if (attempt != Attempt::done) return attempt;
    link.unsent.pop_front();
    --unsent_;
  }
  return Attempt::done;
}

void Ofi::send_all_unsent() {
  for (auto& [cookie, link] : links_)
    if (!link->unsent.empty()) (void)send_unsent(*link);  // a failure is recorded in the link
}

Result<Attempt> Ofi::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  return try_send_as(FrameKind::packet, 0, static_cast<OfiLink&>(to), header, payload);
}

/// Send a packet, or a message of at most one frame that the peer's provider matches by these bits.
Result<Attempt> Ofi::try_send_as(FrameKind kind, std::uint64_t bits, OfiLink& link,
                                 ConstSpan header, ConstSpan payload) {
  SHIM_TRY(check());
  const std::size_t bytes = header.size() + payload.size();
  if (bytes > max_packet_bytes())
    return Error(ErrorClass::intern,
                 "a packet is longer than the libfabric transport's max_packet_bytes");
  Attempt attempt = Attempt::done;
  if (!link.address_sent) [[unlikely]] {
    SHIM_TRY_ASSIGN(attempt, send_address(link));
  }
  if (attempt == Attempt::done) {
    const bool fits = sizeof(Frame) + bytes <= traits_.frame_bytes;
    SHIM_TRY_ASSIGN(attempt, fits ? send_frame(link, kind, header, payload, bits)
                                  : send_fragments(link, header, payload));
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
