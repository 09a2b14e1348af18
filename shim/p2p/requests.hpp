// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives in progress, and messages that wait for a receive. Plain records: what happens to them is in the files of
// the protocols (send.cpp, receive.cpp, rendezvous.cpp), always under the engine's lock.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <memory>

#include "shim/p2p/matching.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/payload.hpp"
#include "shim/p2p/wire.hpp"
#include "shim/transport/matching.hpp"

namespace shim::p2p {

struct Peer;

// Here and not with complete(), so that it is inlined: it is a part of every message.
inline void Request::succeed(const Outcome& outcome) {
  outcome_ = outcome;
  const std::uint8_t before = life_.load(std::memory_order_relaxed);
  // release: pairs with is_done(); from here on the owner may take the object away
  life_.store(before | kDone, std::memory_order_release);
  if ((before & kReleased) != 0) [[unlikely]] dispose();
}

struct OfPeer;
struct Streaming;
template <typename Tag>
using RequestHook = list_base_hook<boost::intrusive::tag<Tag>, link_mode<normal_link>>;
template <typename Request, typename Tag>
using RequestList = boost::intrusive::list<Request, boost::intrusive::constant_time_size<false>,
                                           boost::intrusive::base_hook<RequestHook<Tag>>>;

/// To whom a send or receive is addressed, for starting it (again).
struct Address {
  Context* context = nullptr;
  int rank = 0;
  int tag = 0;
  Plane plane = Plane::user;

  /// Of a receive: may it get a message with this tag?
  bool accepts_tag(int of_message) const { return of_message == tag || (tag == kAnyTag && of_message >= 0); }
};

class SendRequest final : public Request, public RequestHook<OfPeer>, public RequestHook<Streaming> {
 public:
  SendRequest(Core& of_core, const Address& to, const types::ConstBuffer& what, Mode how)
      : Request(of_core), address(to), data(what), mode(how) {}

  /// Makes the engine the keeper of the data.
  void keep_copy();

  Address address;
  Outgoing data;
  Mode mode;
  std::unique_ptr<std::byte[]> copy;  ///< the data, where the engine keeps it

  // what MPI_Cancel asks for it back with, when its communicator may be gone
  Peer* receiver = nullptr;  ///< null where nothing has been sent (MPI_PROC_NULL)
  wire::Eager header;        ///< as it was sent
  std::uint64_t number = 0;  ///< as it was sent; 0 where it had none

  // while under way
  Peer* peer = nullptr;      ///< set: in the peer's list of unfinished sends
  std::uint64_t id = 0;      ///< our number for the other side's answer; 0 where none is expected
  bool waits_for_answer = false;
  bool is_long = false;      ///< counted among the engine's long sends
  Caller caller = Caller::goes_on;
  bool streaming = false;    ///< in the peer's list of streams
  std::unique_ptr<transport::Offer> offer;  ///< of the data of a long message, for its receiver to read; null where that takes none
  bool given_up = false;     ///< the receiver has been asked to forget it …
  bool had_left = false;     ///< … after its data had left, which completed it
  std::uint64_t remote_receive = 0, offset = 0, end = 0;  ///< of the stream: whose, next byte, last byte and one

 private:
  friend class Core;
  friend class Engine;
  base::Status on_start() override;
  base::Status on_cancel() override;
  void on_release() override;
  void dispose() override;
};

class ReceiveRequest final : public Request,
                             public Posted,
                             public transport::MatchedReceive,
                             public RequestHook<OfPeer>,
                             public RequestHook<Streaming> {
 public:
  // Inlined, by parts: what it is made of has just been made, and a whole of it, read from memory, would not be there yet.
  [[gnu::always_inline]] ReceiveRequest(Core& of_core, const Address& from, const types::Buffer& where)
      : Request(of_core), address{from.context, from.rank, from.tag, from.plane}, into(where) {}

  Address address;
  Incoming into;
  bool posted = false;       ///< in its context's queues
  bool below = false;        ///< or with the transport that its peer is reached by, and in the peer's list of these
  Caller caller = Caller::goes_on;
  bool gathered = false;     ///< posted, and in its context's list of those whose message may come from below
  bool owed = false;         ///< freed while active: in the engine's set of receives that it completes by itself

  // of a long message, once matched
  Peer* peer = nullptr;      ///< set: in the peer's list of incoming messages
  std::uint64_t id = 0;      ///< our number for data packets; 0 where we read
  bool reading = false;      ///< in the engine's list of reads
  std::uint64_t remote_send = 0, remote_address = 0, remote_key = 0;
  std::unique_ptr<transport::Read> read;  ///< under way, of memory that was offered
  std::uint64_t total = 0, wanted = 0, received = 0;  ///< bytes: of the message, of it into the buffer, of these so far
  int matched_source = 0, matched_tag = 0;
  // while its sender may copy, too
  transport::CopyBoard* board = nullptr;
  std::uint32_t turn = 0, parts = 0;  ///< on the board; parts that are not ours: nobody's yet or the sender's
  bool goes_alone = false;   ///< we could not read a part
  bool waits_turn = false;   ///< not in the engine's list of reads: another message has the board

 private:
  friend class Core;
  friend class Engine;
  base::Status on_start() override;
  base::Status on_cancel() override;
  void on_release() override;
  void dispose() override;
};

/// What a packet says about the message it brings or announces.
struct Arrival {
  wire::Kind kind = wire::Kind::eager;
  int source = 0;
  int tag = 0;
  std::uint64_t bytes = 0;     ///< of the message
  std::uint64_t number = 0;    ///< by which the sender names it; 0 where it does not
  std::uint64_t address = 0;   ///< of a message that stayed with the sender
  transport::ConstSpan payload;
  std::uint64_t key = 0;       ///< goes with the address
  wire::Origin origin = {};    ///< of a message that brings its data
};

inline Arrival arrival_of(const wire::Eager& message, transport::ConstSpan payload, std::uint64_t number = 0) {
  return {message.kind, message.source, message.tag, message.bytes, number, 0, payload, 0, message.from()};
}
inline Arrival arrival_of(const wire::NumberedEager& header, transport::ConstSpan payload) {
  return arrival_of(header.message, payload, header.number);
}
inline Arrival arrival_of(const wire::ReadyToSend& header, transport::ConstSpan) {
  return {header.message.kind, header.message.source, header.message.tag, header.bytes, header.number, header.address, {}, header.key};
}
/// Has as much of the message come as should have?
inline bool is_whole(const Arrival& arrival) {
  return arrival.kind == wire::Kind::ready_to_send || arrival.payload.size() == arrival.bytes;
}

/// A message that came before its receive. Its payload is its own.
class Message final : public Arrived {
 public:
  Message(const Arrival& from, Plane of_plane);
  Arrival arrival;
  Plane plane;
  Context* context = nullptr;  ///< set by a matched probe, which keeps the context alive
  /// What it takes here.
  std::uint64_t memory() const { return sizeof(Message) + (long_payload_ == nullptr ? 0 : arrival.payload.size()); }

 private:
  std::array<std::byte, 128> short_payload_;
  std::unique_ptr<std::byte[]> long_payload_;
};

/// A receive that its thread polls for with the lock held: nobody else gets to see it, so it needs no place in the queues.
struct Awaited {
  const Address& address;
  const types::Buffer& into;  ///< in one run
  base::Result<Outcome>& received;
  std::uint64_t context = 0;  ///< as messages for it say it
  int sources = 0;            ///< ranks that they can come from
  bool has_come = false;
  bool is_for_long_way = false;  ///< its message has come, and is no short one
  bool is_worth_a_look = true;   ///< another one: nothing here is for the long way

  bool accepts(const wire::EagerWords& message) const {
    return message.context == context && address.accepts_tag(message.tag()) &&
           (message.source() == address.rank || (address.rank == kAnySource && message.source() >= 0 && message.source() < sources));
  }
};

/// The error of a receive whose message was too long for it (truncate), or ends inside an element (type); nothing where it fits.
std::optional<base::Error> misfit(std::uint64_t bytes, int source, int tag, const Incoming& into);

}  // namespace shim::p2p
