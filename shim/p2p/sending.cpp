// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/sending.hpp"

#include <cstring>

#include "shim/p2p/context_failures.hpp"
#include "shim/p2p/sending_fast_path.hpp"

namespace shim::p2p {

/// Poll on behalf of a sender that never waits. Errors are left to the next round, which returns
/// them again.
void Sending::poll_after_sends() {
  base::Status returned_later;
  collaborators_.polling.poll_all(returned_later);
}

/// Send a message as one packet to a process whose messages a provider may match. False if it
/// cannot leave now, or takes another path. @param number 0: the message cannot be cancelled
bool Sending::send_over_provider(Context& context, const types::ConstBuffer& data, int rank,
                                 int tag, Plane plane, std::uint64_t number) {
  Peer* to = context.known_peer(rank);
  if (to == nullptr || !to->may_match_in_provider || !to->is_clear() ||
      data.bytes() >= to->eager_end)
    return false;
  SendBuffer buffer(data);
  const auto send = [&](const auto& header) {
    auto sent = to->try_send(wire::bytes_of(header), buffer.all());
    return sent && *sent == transport::Attempt::done;
  };
  const bool is_sent = number == 0 ? send(header_for(wire::PacketType::eager, context, rank, tag,
                                                     plane, data.bytes()))
                                   : send(wire::NumberedEager{
                                         header_for(wire::PacketType::eager_numbered, context, rank,
                                                    tag, plane, data.bytes()),
                                         number});
  if (is_sent) count_eager_send(data.bytes());
  return is_sent;
}

/// Send the message of a request like the overload above.
bool Sending::send_over_provider(SendRequest& request) {
  const MessageAddress& address = request.address;
  Peer* to = address.context->known_peer(address.rank);
  if (to == nullptr || !to->may_match_in_provider || !to->is_clear() ||
      request.data.bytes() >= to->eager_end)
    return false;
  number(request, *to);
  const auto sent = to->try_send(
      wire::bytes_of(wire::NumberedEager{request.header, request.number}), request.data.all());
  if (!sent || *sent != transport::Attempt::done) return false;
  count_eager_send(request.data.bytes());
  return true;
}

bool Sending::send_at_once(SendRequest& request) {
  const MessageAddress& address = request.address;
  Peer* to = peer_for_fast_path(*address.context, address.rank, request.data.bytes());
  if (to == nullptr) [[unlikely]]
    return collaborators_.limits.may_match_in_provider() && send_over_provider(request);
  number(request, *to);
  return try_eager(*to, wire::NumberedEager{request.header, request.number}, request.data.all());
}

Request* Sending::request_of(Core* core, Context& context, const InlineSent& inline_sent) {
  SendRequest* request = make(core, MessageAddress{&context, inline_sent.dest, 0, Plane::user},
                              types::ConstBuffer{nullptr, 0, &types::byte_type()},
                              SendMode::standard);
  request->receiver = context.known_peer(inline_sent.dest);
  request->number = inline_sent.number;
  request->header = header_for(wire::PacketType::eager_numbered, context, inline_sent.dest, 0,
                               Plane::user, 0);  // only the fields that identify the message
  request->complete({});
  return request;
}

/// Fill in the header of a message that needs no answer, but may be cancelled.
void Sending::number(SendRequest& request, Peer& to) {
  const auto& [context, rank, tag, plane] = request.address;
  request.receiver = &to;
  request.number = ++messages_numbered_;
  request.header = header_for(wire::PacketType::eager_numbered, *context, rank, tag, plane,
                              request.data.bytes());
}

void Sending::start(SendRequest& request, Peer& to) {
  request.peer = &to;
  request.cancel_requested = request.was_sent = request.is_revoked = request.is_refused = false;
  to.unfinished.push_back(request);
  request.awaits_reply = false;
  number(request, to);
  const bool is_eager = request.data.bytes() < to.eager_end;
  const std::uint64_t bytes = is_eager ? request.data.bytes() : 0;
  if (is_eager) {
    ++collaborators_.counts.eager_sent;
    if (request.mode == SendMode::synchronous) {
      expect_reply(request, collaborators_.send_ids);
      request.header.kind = wire::PacketType::eager_synchronous;
    }
    collaborators_.output.transmit(to, wire::NumberedEager{request.header, request.number},
                                   &request);
  } else {
    collaborators_.output.transmit(to, collaborators_.long_sends.announce(request), &request);
  }
  if (collaborators_.transports.is_poll_due(bytes)) poll_after_sends();
}

void Sending::on_finished(const wire::Finished& header) {
  SendRequest* request = collaborators_.send_ids.find(header.send);
  if (request == nullptr) return;
  if (request->is_revoked) [[unlikely]]
    end(*request, revoked_error(), false);
  else
    end(*request, std::nullopt, false);
}

void Sending::on_flow(Peer& to, wire::PacketType kind) {
  to.throttles_us = kind == wire::PacketType::throttle;
  if (to.link == nullptr) return;
  collaborators_.limits.set(to);
  if (to.throttles_us) announce_queued(to);
}

/// Turn queued messages into announcements. A message whose cancellation has been requested keeps
/// the kind and number by which that request identifies it.
void Sending::announce_queued(Peer& to) {
  for (QueuedOutput& queued : to.queue) {
    SendRequest* request = queued.request;
    if (request == nullptr || request->cancel_requested ||
        request->header.kind == wire::PacketType::ready_to_send)
      continue;
    const wire::ReadyToSend header = collaborators_.long_sends.announce(*request);
    std::memcpy(queued.header.data(), &header, sizeof header);
    queued.header_bytes = sizeof header;
  }
}

void Sending::unlink(SendRequest& request) {
  if (request.id != 0) collaborators_.send_ids.remove(std::exchange(request.id, 0));
  if (request.is_long) collaborators_.long_sends.forget(request);
  if (request.peer == nullptr) return;
  Peer& to = *std::exchange(request.peer, nullptr);
  to.unfinished.erase(to.unfinished.iterator_to(request));
  if (std::exchange(request.streaming, false)) to.streams.erase(to.streams.iterator_to(request));
}

void Sending::end(SendRequest& request, std::optional<base::Error> error, bool cancelled) {
  unlink(request);
  if (request.is_released()) --released_;
  request.complete({.cancelled = cancelled}, std::move(error));
}

void Sending::abandon(SendRequest& request) {
  if (request.peer != nullptr)
    std::erase_if(request.peer->queue, [&](auto& queued) { return queued.request == &request; });
  unlink(request);
}

}  // namespace shim::p2p
