// SPDX-License-Identifier: BSD-3-Clause
// Receiving messages: packets come in, find their receive or wait for it.
#include <algorithm>
#include <string>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

std::optional<base::Error> misfit(std::uint64_t bytes, int source, int tag, const Incoming& into) {
  if (bytes == into.capacity()) [[likely]] return std::nullopt;
  const auto message = [&] {
    return "a message of " + std::to_string(bytes) + " bytes from rank " + std::to_string(source) + " with tag " + std::to_string(tag);
  };
  if (bytes > into.capacity())
    return base::Error(base::ErrorClass::truncate, message() + " came into a receive buffer of " + std::to_string(into.capacity()) + " bytes");
  if (bytes % into.element_bytes() != 0)
    return base::Error(base::ErrorClass::type, message() + " ends inside of an element, of which the receiver expects " +
                                                   std::to_string(into.element_bytes()) + " bytes each: its datatype does not match");
  return std::nullopt;
}

void Core::on_packet(transport::ConstSpan packet) {
  if (packet.empty()) return;
  switch (static_cast<wire::Kind>(packet[0])) {
    case wire::Kind::eager:
      if (auto header = wire::read<wire::Eager>(packet)) {
        on_message({wire::Kind::eager, header->source, header->tag, header->bytes, 0, 0, packet.subspan(sizeof *header)},
                   header->context);
      }
      break;
    case wire::Kind::eager_numbered:
    case wire::Kind::eager_synchronous:
      if (auto header = wire::read<wire::NumberedEager>(packet)) {
        const wire::Eager& message = header->message;
        on_message({message.kind, message.source, message.tag, message.bytes, header->number, 0,
                    packet.subspan(sizeof *header)},
                   message.context);
      }
      break;
    case wire::Kind::ready_to_send:
      if (auto header = wire::read<wire::ReadyToSend>(packet)) {
        const wire::Eager& message = header->message;
        on_message({message.kind, message.source, message.tag, header->bytes, header->number, header->address, {}},
                   message.context);
      }
      break;
    case wire::Kind::clear_to_send:
      if (auto header = wire::read<wire::ClearToSend>(packet)) on_clear_to_send(*header);
      break;
    case wire::Kind::data:
      if (auto header = wire::read<wire::Data>(packet)) on_data(*header, packet.subspan(sizeof *header));
      break;
    case wire::Kind::finished:
      if (auto header = wire::read<wire::Finished>(packet)) on_finished(*header);
      break;
    case wire::Kind::cancel:
      if (auto header = wire::read<wire::Cancel>(packet)) on_cancel(*header);
      break;
    case wire::Kind::cancelled:
      if (auto header = wire::read<wire::Cancelled>(packet)) on_cancelled(*header);
      break;
    case wire::Kind::control:
      if (auto header = wire::read<wire::Control>(packet)) on_control(*header, packet.subspan(sizeof *header));
      break;
  }
}

void Core::on_message(const Arrival& arrival, base::ContextId id) {
  Plane plane = (id & 1) != 0 ? Plane::collective : Plane::user;
  id &= ~base::ContextId{1};
  Context* context = contexts_.find(id);
  bool sensible = arrival.source >= 0 && arrival.tag >= 0 && (context == nullptr || arrival.source < context->size) &&
                  (arrival.kind == wire::Kind::ready_to_send || arrival.payload.size() == arrival.bytes);
  if (!sensible || (context == nullptr && contexts_.is_over(id))) {
    ++counts.stale_dropped;
    return;
  }
  Posted* posted = context == nullptr ? nullptr : context->matching(plane).take_posted(arrival.source, arrival.tag);
  if (posted != nullptr) {
    ++counts.posted_matches;
    auto& request = static_cast<ReceiveRequest&>(*posted);
    request.posted = false;
    deliver(request, arrival, *context);
    drop(*context);
    return;
  }
  ++counts.unexpected;
  Message* message = messages_.make(arrival, plane);
  if (context == nullptr) contexts_.hold(id, *message);
  else context->matching(plane).add(*message);
}

void Core::deliver(ReceiveRequest& request, const Arrival& arrival, Context& context) {
  if (arrival.kind == wire::Kind::ready_to_send) return begin_long(request, arrival, peer(context, arrival.source));
  if (arrival.kind == wire::Kind::eager_synchronous) {
    wire::Finished reply;
    reply.send = arrival.number;
    transmit(peer(context, arrival.source), reply);
  }
  request.into.put(0, arrival.payload);
  end(request, {arrival.source, arrival.tag, std::min(arrival.bytes, request.into.capacity())},
      misfit(arrival.bytes, arrival.source, arrival.tag, request.into));
}

base::Status Core::start(ReceiveRequest& request) {
  Context& context = *request.address.context;
  Matching& matching = context.matching(request.address.plane);
  request.source = request.address.rank;
  request.tag = request.address.tag;
  if (Arrived* arrived = matching.find_arrived(request.source, request.tag)) {
    matching.remove(*arrived);
    auto& message = static_cast<Message&>(*arrived);
    deliver(request, message.arrival, context);
    free_message(message);
    return {};
  }
  if (const base::Error* reason = failure_of(context, request.source)) return reason->clone();
  matching.post(request);
  request.posted = true;
  retain(context);
  return {};
}

void Core::start_matched(ReceiveRequest& request, Message& message) {
  Context& context = *message.context;
  deliver(request, message.arrival, context);
  free_message(message);
  drop(context);
}

void Core::unlink(ReceiveRequest& request) {
  if (request.id != 0) receive_ids_.remove(std::exchange(request.id, 0));
  if (std::exchange(request.reading, false)) reads_.erase(reads_.iterator_to(request));
  if (request.peer != nullptr) {
    Peer& from = *std::exchange(request.peer, nullptr);
    from.incoming.erase(from.incoming.iterator_to(request));
  }
  if (std::exchange(request.posted, false)) {
    Context& context = *request.address.context;
    context.matching(request.address.plane).remove(request);
    drop(context);
  }
}

void Core::end(ReceiveRequest& request, const Outcome& outcome, std::optional<base::Error> error) {
  unlink(request);
  request.complete(outcome, std::move(error));
}

void Core::abandon(ReceiveRequest& request) { unlink(request); }

void Core::cancel(ReceiveRequest& request) {
  if (!request.posted) return;  // done, or matched: too late
  Outcome outcome;
  outcome.cancelled = true;
  end(request, outcome, std::nullopt);
}

const base::Error* Core::failure_of(Context& context, int source) {
  if (context.failed == 0) return nullptr;
  if (source != kAnySource) {
    Peer* from = context.known_peer(source);
    return from != nullptr && from->failure ? &*from->failure : nullptr;
  }
  if (context.failed < context.others) return nullptr;
  const base::Error* reason = nullptr;
  context.peers.for_each([&](int, Peer* from) {
    if (reason == nullptr && from != nullptr && from->failure) reason = &*from->failure;
  });
  return reason;
}

}  // namespace shim::p2p
