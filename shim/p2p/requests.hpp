// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives in progress, and unexpected messages. The protocols are in sending.hpp,
// receiving.hpp and rendezvous.hpp, always under the engine's lock.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <memory>

#include "shim/p2p/matching.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/payload.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/wire.hpp"
#include "shim/transport/cooperative_copy.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/registered_reads.hpp"

namespace shim::p2p {

struct Peer;

// Defined here to be inlined: every message calls it.
inline void Request::succeed(const MessageStatus& outcome) {
  outcome_ = outcome;
  const std::uint8_t before = state_bits_.load(std::memory_order_relaxed);
  // release: pairs with is_done(); from here on the owner may release the object
  state_bits_.store(before | kDone, std::memory_order_release);
  if ((before & kReleased) != 0) [[unlikely]]
    dispose();
}

inline void Request::set_failure_pending() {
  // release: pairs with the acquire in has_settled()
  state_bits_.store(state_bits_.load(std::memory_order_relaxed) | kFailurePending,
                    std::memory_order_release);
}

inline void Request::clear_failure_pending() {
  const std::uint8_t state_bits = state_bits_.load(std::memory_order_relaxed);
  if ((state_bits & kFailurePending) == 0) [[likely]]
    return;
  state_bits_.store(state_bits & static_cast<std::uint8_t>(~kFailurePending),
                    std::memory_order_relaxed);
}

struct OfPeer;
struct Streaming;
template <typename Tag>
using RequestHook = list_base_hook<boost::intrusive::tag<Tag>, link_mode<normal_link>>;
template <typename Request, typename Tag>
using RequestList = boost::intrusive::list<Request, boost::intrusive::constant_time_size<false>,
                                           boost::intrusive::base_hook<RequestHook<Tag>>>;

/// Destination or source of an operation, kept for (re)starting it.
struct MessageAddress {
  Context* context = nullptr;
  int rank = 0;
  int tag = 0;
  Plane plane = Plane::user;

  /// True if a receive with this address accepts a message with this tag.
  bool accepts_tag(int of_message) const {
    return of_message == tag || (tag == kAnyTag && of_message >= 0);
  }
  Awaited awaited(Awaited::Kind kind) const { return {context, rank, tag, plane, kind}; }
};

/// A send that has begun.
///
/// Size: a record that all parts of an engine share, so it has more data members than a class that
/// owns its state (docs/decisions/0058-parts-of-the-engine.md).
class SendRequest final : public Request,
                          public RequestHook<OfPeer>,
                          public RequestHook<Streaming> {
 public:
  /// @param of_core null: a test owns the request
  SendRequest(Core* of_core, const MessageAddress& to, const types::ConstBuffer& what, SendMode how)
      : Request(of_core), address(to), data(what), mode(how) {}

  // for the protocols, under the engine's lock
  using Request::complete;
  using Request::is_released;
  using Request::reopen;
  using Request::take_error;

  /// Copy the data into memory that the engine owns.
  void keep_copy();
  std::optional<Awaited> awaited() const override {
    return address.awaited(Awaited::Kind::receipt);
  }

  MessageAddress address;
  SendBuffer data;
  SendMode mode;
  std::unique_ptr<std::byte[]> copy;  ///< the data, if the engine keeps it

  // for MPI_Cancel, possibly after the communicator is gone
  Peer* receiver = nullptr;  ///< null if nothing has been sent (MPI_PROC_NULL)
  wire::Eager header;        ///< as sent
  std::uint64_t number = 0;  ///< as sent; 0: none

  // while in progress
  Peer* peer = nullptr;  ///< set: in the peer's list of unfinished sends
  std::uint64_t id = 0;  ///< our id for the receiver's answer; 0: none expected
  bool awaits_reply = false;
  bool is_long = false;  ///< counted among the engine's long sends
  Caller caller = Caller::returns_at_once;
  bool streaming = false;  ///< in the peer's list of streams
  /// registration of a long message's data for its receiver to read; null if the transport needs
  /// none
  std::unique_ptr<transport::MemoryRegistration> offer;
  bool cancel_requested = false;  ///< a cancel request has been sent to the receiver
  bool was_sent = false;  ///< the data had left before the cancel request, which completed the send
  /// communicator revoked: ends with that error when the receiver answers
  bool is_revoked = false;
  bool is_refused = false;  ///< the receiver has dropped the message and reads none of it
  /// of the stream: receiver's id, next byte, end
  std::uint64_t remote_receive = 0, offset = 0, end = 0;

 private:
  friend class Core;
  friend class PointToPoint;
  base::Status on_start() override;
  base::Status on_cancel() override;
  void on_release() override;
  void dispose() override;
};

/// A receive that has begun.
///
/// Size: a record that all parts of an engine share, as SendRequest.
class ReceiveRequest final : public Request,
                             public PostedReceive,
                             public transport::MatchedReceive,
                             public RequestHook<OfPeer>,
                             public RequestHook<Streaming> {
 public:
  // Inlined and copied by member: the arguments have just been stored by member, and a wide load of
  // the whole struct would stall until these stores are complete (base/copy.hpp).
  [[gnu::always_inline]] ReceiveRequest(Core* of_core, const MessageAddress& from,
                                        const types::Buffer& where)
      : Request(of_core), address{from.context, from.rank, from.tag, from.plane}, into(where) {}

  // for the protocols, under the engine's lock
  using Request::clear_failure_pending;
  using Request::complete;
  using Request::set_failure_pending;
  using Request::succeed;
  using Request::take_error;

  std::optional<Awaited> awaited() const override {
    return address.awaited(Awaited::Kind::message);
  }

  MessageAddress address;
  ReceiveBuffer into;
  bool posted = false;  ///< in its context's queues
  /// posted to the transport of its peer instead, and in the peer's list of these
  bool with_provider = false;
  Caller caller = Caller::returns_at_once;
  /// posted, and in its context's drain: its message may come from the provider
  bool is_in_drain = false;
  /// program's receive: from any source it stays active if a member fails
  bool outlives_failures = false;
  bool is_freed_while_active = false;  ///< in the set Receiving::freed_

  // for a long message, once matched
  Peer* peer = nullptr;  ///< set: in the peer's list of incoming messages
  std::uint64_t id = 0;  ///< our id for data packets; 0 if we read
  bool reading = false;  ///< in the engine's list of reads
  std::uint64_t remote_send = 0, remote_address = 0, remote_key = 0;
  std::unique_ptr<transport::Read> read;  ///< read of registered memory in progress
  /// bytes: of the message, wanted in the buffer, received so far
  std::uint64_t total = 0, wanted = 0, received = 0;
  int matched_source = 0, matched_tag = 0;
  // while its sender may copy, too
  transport::CooperativeCopy* shared_copy = nullptr;
  /// generation of the shared copy (CooperativeCopy::open); number of parts that this process has
  /// not claimed: the sender has, or no process has
  std::uint32_t generation = 0, parts = 0;
  /// this process could not read a part: it reads the whole message alone afterwards
  bool is_read_alone = false;
  /// not in the engine's list of reads: another message uses the shared copy
  bool waits_for_shared_copy = false;

 private:
  friend class Core;
  friend class PointToPoint;
  base::Status on_start() override;
  base::Status on_cancel() override;
  void on_release() override;
  void dispose() override;
};

/// Contents of a packet that carries or announces a message.
struct MessageInfo {
  wire::PacketType kind = wire::PacketType::eager;
  int source = 0;
  int tag = 0;
  std::uint64_t bytes = 0;    ///< length of the message
  std::uint64_t number = 0;   ///< sender's number for it; 0: none
  std::uint64_t address = 0;  ///< sender's memory of an announced message
  transport::ConstSpan payload;
  std::uint64_t key = 0;           ///< registration key of the address
  wire::SenderNumber origin = {};  ///< the sender
};

inline MessageInfo info_of(const wire::Eager& message, transport::ConstSpan payload,
                           std::uint64_t number = 0) {
  return {message.kind,  message.source, message.tag, message.bytes, number, 0, payload, 0,
          message.from()};
}
inline MessageInfo info_of(const wire::NumberedEager& header, transport::ConstSpan payload) {
  return info_of(header.message, payload, header.number);
}
inline MessageInfo info_of(const wire::ReadyToSend& header, transport::ConstSpan) {
  return {header.message.kind,
          header.message.source,
          header.message.tag,
          header.bytes,
          header.number,
          header.address,
          {},
          header.key,
          header.message.from()};
}
/// True if the packet holds as many bytes as its header states.
inline bool is_whole(const MessageInfo& info) {
  return info.kind == wire::PacketType::ready_to_send || info.payload.size() == info.bytes;
}

/// Let a send end only with its receiver's answer, which names the send by the number of the
/// message.
inline void expect_reply(SendRequest& request, IdTable<SendRequest>& ids) {
  request.awaits_reply = true;
  if (request.id == 0) request.id = ids.add(request);
  request.number = request.id;
}

/// An unexpected message; owns its payload.
class StoredMessage final : public UnexpectedMsg {
 public:
  StoredMessage(const MessageInfo& from, Plane of_plane);
  MessageInfo info;
  Plane plane;
  Context* context = nullptr;  ///< set by a matched probe, which keeps the context alive
  /// Return the memory that the message uses.
  std::uint64_t memory() const {
    return sizeof(StoredMessage) + (long_payload_ == nullptr ? 0 : info.payload.size());
  }

 private:
  std::array<std::byte, 128> short_payload_;
  std::unique_ptr<std::byte[]> long_payload_;
};

/// A receive that its thread polls for with the lock held. It is in no queue, because no other
/// thread can see it.
struct ExpectedRecv {
  const MessageAddress& address;
  const types::Buffer& into;  ///< contiguous
  base::Result<MessageStatus>& received;
  std::uint64_t context = 0;  ///< context id in its messages
  int sources = 0;            ///< number of ranks that may send it
  bool is_received = false;
  bool needs_slow_path = false;  ///< its message has arrived, but needs an answer
  bool can_retry = true;         ///< false if the receive needs the slow path

  bool accepts(const wire::EagerWords& message) const {
    return message.context == context && address.accepts_tag(message.tag()) &&
           (message.source() == address.rank ||
            (address.rank == kAnySource && message.source() >= 0 && message.source() < sources));
  }
};

/// Return the error of a receive whose message was too long (truncate) or ends inside an element
/// (type); nothing if the message fits.
std::optional<base::Error> misfit(std::uint64_t bytes, int source, int tag,
                                  const ReceiveBuffer& into);

}  // namespace shim::p2p
