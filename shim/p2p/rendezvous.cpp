// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/rendezvous.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace shim::p2p {

namespace {

// Bytes per read: long enough to amortize its fixed cost, short enough that other work gets its
// turn.
constexpr std::uint64_t kReadChunkBytes = 1024 * 1024;
constexpr int kReadsPerRound = 4;
/// Longest message streamed regardless of the stream budget: to be read, pages of the sender's
/// memory must be looked up and pinned, which takes longer than copying this much twice.
constexpr std::uint64_t kMaxStreamed = 256 * 1024;
/// Shortest message streamed if processes outnumber cores: the request for data costs both
/// processes one more wait for a core. In a collective other processes can run meanwhile.
constexpr std::uint64_t kMinStreamedOversubscribed = 32 * 1024;
/// Value of the key in announcements of memory that needs no registration: the sender waits for
/// this message and permits streaming.
constexpr std::uint64_t kSenderWaits = 1;
/// Most runs (contiguous blocks) of a buffer with holes that one read fills.
constexpr std::size_t kPiecesAtOnce = 128;

}  // namespace

wire::ReadyToSend Rendezvous::announce(SendRequest& request) {
  ++collaborators_.counts.rendezvous_sent;
  request.is_long = true;
  ++long_sends_;
  expect_reply(request, collaborators_.send_ids);
  request.header.kind = wire::PacketType::ready_to_send;
  request.header.bytes = 0;
  const transport::RemoteMemory memory = offer(request);
  return {request.header, request.number, request.data.bytes(), memory.address, memory.key};
}

/// The sender's decision: true if it waits until the message has left, and copying twice is faster
/// than a read.
bool Rendezvous::may_be_streamed(const SendRequest& request) const {
  if (request.caller == Caller::returns_at_once) return false;
  transport::StreamLimits* const limits = request.peer->interfaces->stream_limits;
  const auto budget = limits == nullptr ? transport::StreamBudget{} : limits->stream_budget();
  const std::uint64_t bytes = request.data.bytes();
  const bool is_of_collective = request.address.plane ==
                                Plane::collective;  // other members send at the same time
  if (request.caller == Caller::waits_for_several) return bytes <= budget.for_each;
  if (!collaborators_.load.is_oversubscribed())
    return bytes <= std::max(kMaxStreamed, is_of_collective ? budget.for_each : budget.all);
  return bytes <= budget.for_each && (bytes >= kMinStreamedOversubscribed || is_of_collective);
}

/// The receiver's decision: true if the message is streamed instead of read, because both processes
/// wait for it. A receiver that does other work meanwhile reads instead, so that the sender need
/// not wait for it.
bool Rendezvous::is_streamed(const ReceiveRequest& request) const {
  const Peer& from = *request.peer;
  return request.caller != Caller::returns_at_once && request.remote_key == kSenderWaits &&
         from.link != nullptr && from.interfaces->registered_reads == nullptr;
}

/// Return the location of the message's data for its announcement. Register the data if the
/// transport needs that.
transport::RemoteMemory Rendezvous::offer(SendRequest& request) {
  Peer& to = *request.peer;
  transport::RegisteredReads* const reads = to.interfaces->registered_reads;
  if (reads == nullptr)
    return {request.data.address(), may_be_streamed(request) ? kSenderWaits : 0};
  if (!collaborators_.single_copy || request.data.bytes() == 0 || !request.data.is_one_run())
    return {};
  request.offer = reads->offer(*to.link, request.data.all());
  return request.offer == nullptr ? transport::RemoteMemory{} : request.offer->memory();
}

void Rendezvous::begin(ReceiveRequest& request, const MessageInfo& info, Peer& from) {
  if (from.failure)
    return collaborators_.operations.end(request, {info.source, info.tag, 0},
                                         from.failure->clone());
  request.matched_source = info.source;
  request.matched_tag = info.tag;
  request.remote_send = info.number;
  request.remote_address = info.address;
  request.remote_key = info.key;
  request.total = info.bytes;
  request.wanted = std::min(info.bytes, request.into.capacity());
  request.received = 0;
  request.is_read_alone = false;
  request.peer = &from;
  from.incoming.push_back(request);
  if (request.wanted != 0 && (info.address == 0 || !may_read(request) || is_streamed(request)))
    return request_data(request);
  if (from.shared != nullptr && collaborators_.sharing.is_for_two(request, sends_long())) {
    request.waits_for_shared_copy = true;
    return;
  }
  request.reading = true;
  reads_.push_back(request);
  if (from.link != nullptr) {
    read_chunk(request);
  } else {
    collaborators_.routes.request_route(from);
  }
}

/// True if the sender's memory may be read, as far as is known without the link.
bool Rendezvous::may_read(const ReceiveRequest& request) const {
  return collaborators_.single_copy && request.peer->can_read &&
         (request.into.is_one_run() || request.into.is_of_long_runs(0));
}

/// True if the transport can read into the buffer; a buffer with holes needs a transport that reads
/// without registration.
bool Rendezvous::may_read_on(const ReceiveRequest& request) const {
  return request.into.is_one_run() || (request.peer->interfaces->registered_reads == nullptr &&
                                       request.into.is_of_long_runs(request.received));
}

int Rendezvous::read_some() {
  int moved = 0;
  for (int i = 0; i < kReadsPerRound && !reads_.empty(); ++i) {
    ReceiveRequest& request = reads_.front();
    reads_.splice(reads_.end(), reads_, reads_.begin());  // several reads take turns
    if (request.peer->link != nullptr && read_chunk(request)) ++moved;
  }
  return moved;
}

/// Return true if data or state has changed; the request may be gone then.
bool Rendezvous::read_chunk(ReceiveRequest& request) {
  Peer& from = *request.peer;
  if (request.received != request.wanted && !may_read_on(request)) {
    request_data(request);
    return true;
  }
  if (from.interfaces->registered_reads != nullptr) return read_offered(request);
  const bool may_begin = request.shared_copy == nullptr && request.received == 0 &&
                         (from.shared == nullptr || from.shared == &request);
  if (may_begin && collaborators_.sharing.is_for_two(request, sends_long()) &&
      collaborators_.sharing.begin(request))
    return true;
  if (may_begin && from.shared != nullptr) collaborators_.sharing.give_up(from);
  if (request.shared_copy != nullptr) {
    const CopySharing::State sharing = collaborators_.sharing.copy(request);
    if (sharing != CopySharing::State::over) return sharing == CopySharing::State::moved;
  }
  if (request.received != request.wanted) {
    auto read = read_on(request);
    if (!read) return give_up_reading(request, &read.error());
    if (*read == transport::Attempt::unsupported) return give_up_reading(request, nullptr);
    if (*read == transport::Attempt::again) return false;
  }
  end_if_read(request);
  return true;
}

/// Read the next chunk of the missing bytes, and count it.
base::Result<transport::Attempt> Rendezvous::read_on(ReceiveRequest& request) {
  Peer& from = *request.peer;
  transport::RemoteReads* const reads = from.interfaces->remote_reads;
  if (reads == nullptr) return transport::Attempt::unsupported;
  const std::uint64_t address = request.remote_address + request.received;
  const std::uint64_t most = std::min(kReadChunkBytes, request.wanted - request.received);
  if (!request.into.is_one_run()) {
    std::array<std::span<std::byte>, kPiecesAtOnce> pieces;
    const auto [count, bytes] = request.into.pieces(request.received, most, pieces);
    auto read = reads->try_read_pieces(*from.link, address, std::span(pieces).first(count));
    if (read && *read == transport::Attempt::done) request.received += bytes;
    return read;
  }
  const std::span<std::byte> window = request.into.window(request.received, most);
  auto read = reads->try_read(*from.link, address, window);
  if (read && *read == transport::Attempt::done) request.received += window.size();
  return read;
}

/// Read over a transport that completes the read asynchronously.
bool Rendezvous::read_offered(ReceiveRequest& request) {
  Peer& from = *request.peer;
  if (request.received == request.wanted) return end_if_read(request);
  if (request.read == nullptr) {
    const transport::RemoteMemory memory{request.remote_address, request.remote_key};
    request.read = from.interfaces->registered_reads->begin_read(
        *from.link, memory, request.into.window(0, request.wanted));
    if (request.read == nullptr) return give_up_reading(request, nullptr);
  }
  auto read = request.read->progress();
  if (!read) {
    request.read.reset();
    request.received = 0;  // missing bytes may be anywhere
    return give_up_reading(request, &read.error());
  }
  const bool has_moved = std::exchange(request.received, *read) != *read;
  return end_if_read(request) || has_moved;
}

/// Complete the receive; return false while bytes are missing.
bool Rendezvous::end_if_read(ReceiveRequest& request) {
  if (request.received != request.wanted) return false;
  Peer& from = *request.peer;
  wire::Finished reply;
  reply.send = request.remote_send;
  if (request.wanted != 0) ++collaborators_.counts.single_copies;
  // for collectives only: they keep their context, whereas those of other receives may be gone
  if (request.address.plane == Plane::collective && request.address.tag < kFirstPartitionTag)
    request.address.context->has_unconfirmed_reads.store(true, std::memory_order_relaxed);
  end_long(request);  // before the reply: if that fails, it ends all operations with this peer
  collaborators_.output.transmit(from, reply);
  return true;
}

/// Request the missing bytes as packets, unless the sender is gone. Return true: state has changed.
bool Rendezvous::give_up_reading(ReceiveRequest& request, const base::Error* why) {
  Peer& from = *request.peer;
  if (why != nullptr && why->error_class() == base::ErrorClass::proc_aborted) {
    collaborators_.failures.fail_link(from, *why);
    return true;
  }
  if (why != nullptr && collaborators_.log != nullptr)
    collaborators_.log->write(
        base::LogLevel::warn,
        "reading a peer's memory failed; using packets instead: " + why->text());
  from.can_read = false;
  request_data(request);
  return true;
}

void Rendezvous::request_data(ReceiveRequest& request) {
  if (std::exchange(request.reading, false)) reads_.erase(reads_.iterator_to(request));
  request.id = receive_ids_.add(request);
  wire::ClearToSend reply;
  reply.send = request.remote_send;
  reply.receive = request.id;
  reply.offset = request.received;
  reply.bytes = request.wanted - request.received;
  collaborators_.output.transmit(*request.peer, reply);
}

void Rendezvous::on_clear_to_send(const wire::ClearToSend& header) {
  SendRequest* request = collaborators_.send_ids.find(header.send);
  if (request == nullptr || request->streaming) return;
  std::uint64_t bytes = request->data.bytes();
  if (header.bytes == 0 || header.offset > bytes || header.bytes > bytes - header.offset) {
    ++collaborators_.counts.stale_dropped;
    return;
  }
  request->remote_receive = header.receive;
  request->offset = header.offset;
  request->end = header.offset + header.bytes;
  request->streaming = true;
  Peer& to = *request->peer;
  to.streams.push_back(*request);
  collaborators_.output.push_data(to);
}

/// Return the receive of these bytes; null if none waits for them.
ReceiveRequest* Rendezvous::receiver_of(const wire::Data& header, std::size_t payload_bytes) {
  ReceiveRequest* request = receive_ids_.find(header.receive);
  const bool fits = request != nullptr && header.offset <= request->wanted &&
                    payload_bytes <= request->wanted - header.offset;
  return fits ? request : nullptr;
}

void Rendezvous::on_data(const wire::Data& header, transport::ConstSpan payload) {
  ReceiveRequest* request = receiver_of(header, payload.size());
  if (request == nullptr) {
    ++collaborators_.counts.stale_dropped;
    return;
  }
  request->into.write(header.offset, payload);
  record_received_bytes(*request, payload.size());
}

void Rendezvous::record_received_bytes(ReceiveRequest& request, std::size_t bytes) {
  request.received += bytes;
  if (request.received == request.wanted) end_long(request);
}

/// Return the receive buffer for the bytes of a long message. Called for each piece, because the
/// receive may end in between.
std::optional<transport::Placement> Rendezvous::place(transport::ConstSpan beginning,
                                                      std::size_t bytes) {
  if (beginning.empty() || static_cast<wire::PacketType>(beginning[0]) != wire::PacketType::data)
    return std::nullopt;
  const auto header = wire::read<wire::Data>(beginning);
  if (!header) return std::nullopt;
  const std::size_t payload_bytes = bytes - sizeof *header;
  ReceiveRequest* request = receiver_of(*header, payload_bytes);
  if (request == nullptr || !request->into.is_one_run()) return std::nullopt;
  return transport::Placement{sizeof *header, request->into.window(header->offset, payload_bytes)};
}

void Rendezvous::on_placed(transport::ConstSpan header, std::size_t payload_bytes) {
  const auto data = wire::read<wire::Data>(header);
  ReceiveRequest* request = data ? receiver_of(*data, payload_bytes) : nullptr;
  if (request == nullptr)
    ++collaborators_.counts.stale_dropped;
  else
    record_received_bytes(*request, payload_bytes);
}

void Rendezvous::end_long(ReceiveRequest& request) {
  collaborators_.operations.end(
      request, {request.matched_source, request.matched_tag, request.wanted},
      misfit(request.total, request.matched_source, request.matched_tag, request.into));
}

void Rendezvous::read_now(ReceiveRequest& waiting) {
  waiting.waits_for_shared_copy = false;
  waiting.reading = true;
  reads_.push_back(waiting);
}

void Rendezvous::forget(SendRequest& request) {
  if (std::exchange(request.is_long, false)) --long_sends_;
  request.offer.reset();
}

void Rendezvous::forget(ReceiveRequest& request) {
  if (request.id != 0) receive_ids_.remove(std::exchange(request.id, 0));
  if (std::exchange(request.reading, false)) reads_.erase(reads_.iterator_to(request));
  request.read.reset();
  if (request.peer == nullptr) return;
  collaborators_.sharing.stop(request);
  Peer& from = *std::exchange(request.peer, nullptr);
  from.incoming.erase(from.incoming.iterator_to(request));
}

}  // namespace shim::p2p
