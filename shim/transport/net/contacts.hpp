// SPDX-License-Identifier: BSD-3-Clause
// Messages between processes that have not met: over TCP, which every cluster has between its nodes, because its launcher uses it, and
// which costs a process a socket. Connections are made when there is something to say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/connection.hpp"
#include "shim/transport/net/frame.hpp"
#include "shim/transport/net/seal.hpp"

namespace shim::transport {

class Contact;

/// A connection, and whose it is.
struct KeptConnection {
  Connection connection;
  Contact* contact = nullptr;  ///< null for a stranger's
  Nonce nonce{};               ///< the caller's, where this process has called
  std::optional<Seal> seal{};  ///< from the challenge on
};

/// One other process, as long as its Contacts live.
class Contact {
 public:
  explicit Contact(ContactAddress address) : to_(std::move(address)) {}
  const ContactAddress& address() const { return to_; }
  /// Why it cannot be reached, for good: proc_aborted. Null where that is not known.
  const base::Error* failure() const { return failure_ ? &*failure_ : nullptr; }
  /// Has one of its connections ended by itself, and is none left that could bring something? Processes close what serves packets only
  /// when they end, and what begins anew has another address.
  bool has_left() const { return connections_ == 0 && (has_ended_one_ || failure_); }
  /// What is known of it. A call that is refused says that nobody listens there any more; one that gets no answer, or finds no way, says
  /// nothing.
  Presence presence() const;
  /// Would the system take a packet of so many bytes as a whole, once what it has is sent?
  bool takes_whole(std::size_t bytes) const { return way_ != nullptr && way_->takes_whole(bytes); }

 private:
  friend class Contacts;
  ContactAddress to_;
  std::optional<base::Error> failure_;
  FrameQueue out_;
  /// Frames that wait for a connection, whose keys they will be sealed with.
  struct Unsealed {
    ContactFrame kind;
    Bytes bytes;
  };
  std::vector<Unsealed> unsealed_;
  std::size_t unsealed_bytes_ = 0;
  Connection* way_ = nullptr;     ///< that what we say goes over
  KeptConnection* heard_over_ = nullptr;  ///< that its last packet has come over: most often the same
  std::size_t next_address_ = 0;  ///< to be called
  int connections_ = 0;           ///< over which both have said who they are
  bool has_ended_one_ = false;    ///< the other, or the system because it is gone
  bool is_kept_ = false;          ///< packets go over its connection
  const Connection* patient_way_ = nullptr;  ///< its way, once messages go over it
  std::string last_failure_;      ///< why its last call has failed
  /// How all its addresses have answered, one call each.
  struct Round {
    bool refused = false, refused_by_us = false;  ///< by another machine, by this one
    bool other = false;                           ///< what else can go wrong
  } round_;
};

/// Takes no lock of its own, as transports. An address contains a secret of its process, the cookie. A caller proves that it knows the
/// secret, and so does the called process; the secret itself is never sent in clear (seal.hpp). Strangers are turned away.
class Contacts {
 public:
  /// Whom frames that have come are for.
  class Receiver {
   public:
    /// The frame's bytes are valid during the call. It may call open() and send().
    virtual void on_frame(Contact& from, const ReceivedFrame& frame) = 0;

   protected:
    ~Receiver() = default;
  };

  /// Begin to listen at this process's own addresses alone, on one port of the system's choice. interface: see
  /// own_addresses(). Local. Errors: other (no network, no socket).
  static base::Result<std::unique_ptr<Contacts>> listen(const std::string& interface);

  const ContactAddress& address() const { return own_; }
  /// Local. Errors: arg (not such an address).
  base::Result<Contact*> open(ConstSpan address);

  /// Sends it sealed. False: too much waits already; try after polling. Errors: the contact's failure.
  base::Result<bool> send(Contact& to, ContactFrame kind, ConstSpan first, ConstSpan second = {});
  /// A packet, in clear, that arrives whatever this process does when it was taken, other than one that waits here for its connection or for room.
  /// False: not now; the call, if it is the first, has begun.
  [[gnu::hot]] base::Result<bool> send_now(Contact& to, ConstSpan first, ConstSpan second);
  /// Calls it where there is no connection to it. Where it has ended, its failure says so in time; else the connection does when it ends, and
  /// the next call.
  void look_for(Contact& contact) { if (!contact.failure_ && contact.way_ == nullptr) call(contact); }
  /// Nothing more is to be asked of this process: a connection that served no packets is closed, so that descriptors do not grow in
  /// number with those who were asked something once.
  void finish(Contact& with);
  /// Moves things along; answers how many frames have come. `places` is asked where packets' payloads go (Sink::place).
  [[gnu::hot]] int poll(Receiver& receiver, Sink& places);
  /// The same of what comes from one, where its packets come already; it may do nothing for others.
  [[gnu::hot]] int poll_from(Contact& contact, Receiver& receiver, Sink& places);
  /// Has all that was sent come to the other machines, or is lost for good?
  /// One who ends waits for that; what others have sent is acknowledged meanwhile.
  bool is_flushed() const;

  /// Can be read when a poll would find something.
  int descriptor() const { return events_.get(); }
  /// Until something may have come, at most this long. Without the owner's lock.
  void sleep(base::Nanoseconds nanoseconds) const;

  struct Counts {
    std::uint64_t connections = 0;  ///< made by us
    std::uint64_t frames_sent = 0, bytes_sent = 0, frames_received = 0;
    std::uint64_t refused = 0;      ///< connections of strangers
  };
  const Counts& counts() const { return counts_; }

 private:
  class FramesOf;
  using Listeners = std::vector<base::Descriptor>;
  Contacts(Listeners listeners, base::Descriptor events, ContactAddress own);
  static base::Result<Listeners> open_listeners(const std::vector<IpAddress>& addresses, std::uint16_t& port);

  void call(Contact& contact);
  bool call_next(Contact& contact);
  static void note_failed_call(Contact& contact, const base::Error& reason);
  void push(Contact& contact);
  base::Status send_sealed(Contact& to, ContactFrame kind, ConstSpan first, ConstSpan second);
  [[gnu::hot]] void count_sent(std::size_t bytes);
  static void give_up(Contact& contact, base::Error why);
  base::Result<std::shared_ptr<const Crypto>> crypto();
  [[gnu::hot]] void note_sent(Contact& contact, const base::Status& sent);
  void watch(const Connection& connection, bool is_new, bool for_room);
  void look_for_calls();
  void leave_calls_for_later();
  void accept_all(int listener);
  bool has_room_for_strangers() const { return strangers_ < most_strangers_; }
  void one_stranger_less();
  void on_event(KeptConnection& kept, std::uint32_t events, Receiver& receiver, Sink& places);
  void on_called(KeptConnection& kept);
  [[gnu::hot]] void read(KeptConnection& kept, Receiver& receiver, Sink& places);
  void on_end(KeptConnection& kept);
  [[gnu::hot]] bool on_frame(KeptConnection& kept, const ReceivedFrame& frame, Receiver& receiver);
  bool on_hello(KeptConnection& kept, const ReceivedFrame& frame);
  bool on_challenge(KeptConnection& kept, const ReceivedFrame& frame);
  bool on_proof(KeptConnection& kept, const ReceivedFrame& frame);
  bool on_welcome(KeptConnection& kept, const ReceivedFrame& frame);
  bool on_sealed(KeptConnection& kept, const ReceivedFrame& frame, Receiver& receiver);
  static bool send_greeting(KeptConnection& kept, ContactFrame kind, ConstSpan bytes);
  [[gnu::hot]] void look_at_clock();
  bool is_late(const KeptConnection& kept, base::Nanoseconds now) const;
  /// @param is_broken what was sent may not have come, though it has left
  void lose(KeptConnection& kept, const base::Error& reason, bool is_broken = true);

  Listeners listeners_;
  base::Descriptor events_;
  ContactAddress own_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Contact>> contacts_;  ///< by their cookies
  std::unordered_map<int, KeptConnection> connections_;                  ///< by their descriptors; none moves
  std::vector<Contact*> broken_;  ///< whose way has failed while something was sent
  std::shared_ptr<const Crypto> crypto_;  ///< from the first connection on
  std::unique_ptr<std::byte[]> room_;  ///< kFrameRoom bytes, for what is read, from the first reading on
  base::Nanoseconds next_look_ = 0;
  bool is_looking_for_calls_ = false;
  std::size_t strangers_ = 0;  ///< connections in the state of that name
  const std::size_t most_strangers_;
  Counts counts_;
};

}  // namespace shim::transport
