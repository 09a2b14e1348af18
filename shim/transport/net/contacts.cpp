// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/contacts.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "shim/transport/cookie.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

constexpr int kEventsAtOnce = 16;
/// More waits for one contact only where it does not read, or has not answered the call yet.
constexpr std::size_t kMostWaiting = 2 * kLongestFrame;
/// An address that does not answer for so long: the next one.
constexpr base::Nanoseconds kCallPatience = 2'000'000'000;
/// Each address is called so often, because a listener's queue may be full for a moment.
constexpr std::size_t kRounds = 3;
/// An unauthenticated connection is closed after this time: a caller of the job may compute between its call and its hello.
constexpr base::Nanoseconds kStrangerPatience = 10'000'000'000;
/// So is each, as soon as there are as many as may be: others wait behind them. A caller of the job calls again.
constexpr base::Nanoseconds kCrowdedPatience = 100'000'000;
/// Unauthenticated connections at a time, further ones wait in the system's queue: they cannot take all descriptors of the
/// process. Callers of the job leave this state within the poll in which their hello is read.
constexpr std::size_t kMostStrangers = 128, kLeastStrangers = 4, kPartOfDescriptors = 8;
/// Ports that are tried until one is free at all addresses.
constexpr int kMostPorts = 16;
constexpr base::Nanoseconds kClockEvery = 100'000'000;

template <typename T>
ConstSpan bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// At most the given part of the descriptors that the process may have.
std::size_t most_strangers() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeastStrangers;
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur) / kPartOfDescriptors, kLeastStrangers, kMostStrangers);
}

}  // namespace

Presence Contact::presence() const {
  if (connections_ > 0) return Presence::there;
  if (has_ended_one_) return Presence::gone;
  if (!failure_ || round_.other) return Presence::unknown;
  return round_.refused ? Presence::gone : round_.refused_by_us ? Presence::gone_if_near : Presence::unknown;
}

namespace {

Result<base::Descriptor> open_listener(const IpAddress& address, std::uint16_t& port) {
  base::Descriptor socket(base::above_standard_streams(
      ::socket(address.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  if (!socket.is_open()) return base::system_error(errno, "socket");
  sockaddr_storage name;
  socklen_t length = address.to_socket_address(port, name);
  auto* generic = reinterpret_cast<sockaddr*>(&name);
  if (::bind(socket.get(), generic, length) != 0) return base::system_error(errno, "bind");
  if (::listen(socket.get(), SOMAXCONN) != 0) return base::system_error(errno, "listen");
  if (::getsockname(socket.get(), generic, &length) != 0) return base::system_error(errno, "getsockname");
  sockaddr_in either{};  // the port is at the same place in both
  std::memcpy(&either, &name, sizeof either);
  port = ntohs(either.sin_port);
  return socket;
}

}  // namespace

/// Another process may have the port of the first address at a further one: then all take another port.
Result<Contacts::Listeners> Contacts::open_listeners(const std::vector<IpAddress>& addresses, std::uint16_t& port) {
  for (int tries = 0;; ++tries) {
    Listeners listeners;
    port = 0;
    for (const IpAddress& address : addresses) {
      auto listener = open_listener(address, port);
      if (listener) {
        listeners.push_back(*std::move(listener));
        continue;
      }
      const bool is_taken = listener.error().foreign_code() == EADDRINUSE;
      if (!is_taken || tries >= kMostPorts) return std::move(listener).error().within("to listen at " + address.text());
      break;
    }
    if (listeners.size() == addresses.size()) return listeners;
  }
}

Result<std::unique_ptr<Contacts>> Contacts::listen(const std::string& interface) {
  ContactAddress own{.cookie = 0, .port = 0, .addresses = own_addresses(interface)};
  if (own.addresses.empty())
    return Error(ErrorClass::other, "this machine has no network address that other nodes' processes could call");
  SHIM_TRY_ASSIGN(own.cookie, random_cookie());
  SHIM_TRY_ASSIGN(Listeners listeners, open_listeners(own.addresses, own.port));
  base::Descriptor events(base::above_standard_streams(::epoll_create1(EPOLL_CLOEXEC)));
  if (!events.is_open()) return base::system_error(errno, "epoll_create1");
  std::unique_ptr<Contacts> made(new Contacts(std::move(listeners), std::move(events), std::move(own)));
  made->look_for_calls();
  if (!made->is_looking_for_calls_) return base::system_error(errno, "epoll_ctl");
  return made;
}

Contacts::Contacts(Listeners listeners, base::Descriptor events, ContactAddress own)
    : listeners_(std::move(listeners)), events_(std::move(events)), own_(std::move(own)), most_strangers_(most_strangers()) {}

Result<Contact*> Contacts::open(ConstSpan bytes) {
  auto address = ContactAddress::from_bytes(bytes);
  if (!address) return Error(ErrorClass::arg, "this is not an address of a process");
  auto& contact = contacts_[address->cookie];
  if (!contact) contact = std::make_unique<Contact>(*std::move(address));
  return contact.get();
}

Result<bool> Contacts::send(Contact& to, ContactFrame kind, ConstSpan first, ConstSpan second) {
  if (to.failure_) return to.failure_->clone();
  if (to.out_.waiting() + to.unsealed_bytes_ > kMostWaiting) return false;
  to.is_kept_ = to.is_kept_ || kind == ContactFrame::packet;
  count_sent(first.size() + second.size());
  if (to.way_ != nullptr && to.way_->state() == Connection::State::open) [[likely]] {
    SHIM_TRY(send_sealed(to, kind, first, second));
    return true;
  }
  Bytes bytes(first.begin(), first.end());
  bytes.insert(bytes.end(), second.begin(), second.end());
  to.unsealed_bytes_ += bytes.size();
  to.unsealed_.push_back({kind, std::move(bytes)});
  if (to.way_ == nullptr) call(to);
  return true;
}

void Contacts::count_sent(std::size_t bytes) {
  ++counts_.frames_sent;
  counts_.bytes_sent += sizeof(FrameHead) + bytes;
}

/// Over its way, which is open.
base::Status Contacts::send_sealed(Contact& to, ContactFrame kind, ConstSpan first, ConstSpan second) {
  const SealedHead head{static_cast<std::uint32_t>(kind)};
  Bytes plain;
  plain.reserve(sizeof head + first.size() + second.size());
  for (const ConstSpan part : {bytes_of(head), first, second}) plain.insert(plain.end(), part.begin(), part.end());
  auto sealed = connections_.at(to.way_->descriptor()).seal->close(plain);
  if (!sealed) {
    give_up(to, sealed.error().clone());
    return std::move(sealed).error();
  }
  note_sent(to, to.way_->send(to.out_, ContactFrame::sealed, *sealed, {}));
  return {};
}

/// For good.
void Contacts::give_up(Contact& contact, Error why) {
  contact.failure_ = std::move(why);
  contact.out_.clear();
  contact.unsealed_.clear();
  contact.unsealed_bytes_ = 0;
}

Result<std::shared_ptr<const Crypto>> Contacts::crypto() {
  if (!crypto_) {
    SHIM_TRY_ASSIGN(crypto_, Crypto::load());
  }
  return crypto_;
}

Result<bool> Contacts::send_now(Contact& to, ConstSpan first, ConstSpan second) {
  if (to.failure_) return to.failure_->clone();
  to.is_kept_ = true;
  if (to.way_ == nullptr) call(to);
  const bool is_open = to.way_ != nullptr && to.way_->state() == Connection::State::open;
  if (!is_open || !to.out_.is_empty()) return false;
  if (to.patient_way_ != to.way_) [[unlikely]] {
    to.way_->carry_messages();  // before it is asked for its room
    to.patient_way_ = to.way_;
  }
  if (!to.way_->has_room(first.size() + second.size())) return false;
  count_sent(first.size() + second.size());
  note_sent(to, to.way_->send(to.out_, ContactFrame::packet, first, second));
  return true;
}

/// Calls the contact's addresses from the next one on, until one call begins.
void Contacts::call(Contact& contact) {
  while (!contact.failure_ && !call_next(contact)) {
  }
}

bool Contacts::call_next(Contact& contact) {
  const auto& addresses = contact.to_.addresses;
  if (contact.next_address_ >= addresses.size() * kRounds) {
    give_up(contact, Error(ErrorClass::proc_aborted, "a process cannot be reached at " + contact.to_.text() + " (" + contact.last_failure_ +
                                                         "): it has ended, or its node cannot be called from this one; "
                                                         "INTERSESSION_INTERFACE names the network to use"));
    return true;
  }
  const std::size_t next = contact.next_address_++ % addresses.size();
  if (next == 0) contact.round_ = {};
  auto connection = Connection::call(addresses[next], contact.to_.port);
  if (!connection) {
    note_failed_call(contact, connection.error());
    return false;
  }
  const int descriptor = connection->descriptor();
  KeptConnection& kept = connections_.try_emplace(descriptor, KeptConnection{*std::move(connection), &contact}).first->second;
  contact.way_ = &kept.connection;
  watch(kept.connection, true, true);
  return true;
}

/// Of the address that was called last.
void Contacts::note_failed_call(Contact& contact, const Error& reason) {
  contact.last_failure_ = reason.text();
  const bool is_refused = reason.origin() == base::Origin::system && reason.foreign_code() == ECONNREFUSED;
  const auto& addresses = contact.to_.addresses;
  if (!is_refused) contact.round_.other = true;
  else if (is_own(addresses[(contact.next_address_ + addresses.size() - 1) % addresses.size()])) contact.round_.refused_by_us = true;
  else contact.round_.refused = true;
}

void Contacts::watch(const Connection& connection, bool is_new, bool for_room) {
  epoll_event wanted{.events = for_room ? EPOLLIN | EPOLLOUT : std::uint32_t{EPOLLIN}, .data = {.fd = connection.descriptor()}};
  (void)::epoll_ctl(events_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection.descriptor(), &wanted);
}

/// Sends what waits.
void Contacts::push(Contact& contact) {
  if (contact.way_->state() != Connection::State::open) return;
  contact.unsealed_bytes_ = 0;
  for (const Contact::Unsealed& waiting : std::exchange(contact.unsealed_, {}))
    if (!contact.failure_) (void)send_sealed(contact, waiting.kind, waiting.bytes, {});  // its failure says why not
  note_sent(contact, contact.way_->send(contact.out_));
}

/// A way that has failed is lost at the next poll: the caller may stand in the middle of it.
void Contacts::note_sent(Contact& contact, const base::Status& sent) {
  if (!sent) broken_.push_back(&contact);
  else if (!contact.out_.is_empty()) watch(*contact.way_, false, true);
}

void Contacts::look_for_calls() {
  is_looking_for_calls_ = std::ranges::all_of(listeners_, [&](const base::Descriptor& listener) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener.get()}};
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, listener.get(), &wanted) == 0 || errno == EEXIST;
  });
}

/// While there is no descriptor, no memory or too many strangers, calls wait in the system's queue, which would report
/// them all the time: no thread could sleep.
void Contacts::leave_calls_for_later() {
  for (const base::Descriptor& listener : listeners_) ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
  is_looking_for_calls_ = false;
  next_look_ = base::now_ns() + kClockEvery;
}

void Contacts::accept_all(int listener) {
  for (;;) {
    if (!has_room_for_strangers()) return leave_calls_for_later();
    base::Descriptor socket(
        base::above_standard_streams(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)));
    if (!socket.is_open()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) leave_calls_for_later();
      return;
    }
    const int descriptor = socket.get();
    const auto at = connections_.try_emplace(descriptor, KeptConnection{Connection::accepted(std::move(socket)), nullptr}).first;
    watch(at->second.connection, true, false);
    ++strangers_;
  }
}

/// A stranger has become a contact or is about to be closed.
void Contacts::one_stranger_less() {
  --strangers_;
  if (!is_looking_for_calls_) look_for_calls();
}

int Contacts::poll(Receiver& receiver, Sink& places) {
  const std::uint64_t before = counts_.frames_received;
  for (Contact* contact : std::exchange(broken_, {}))
    if (contact->way_) lose(connections_.at(contact->way_->descriptor()), Error(ErrorClass::other, "what was sent has not arrived"));
  epoll_event events[kEventsAtOnce];
  const int count = ::epoll_wait(events_.get(), events, kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    if (std::ranges::find(listeners_, events[i].data.fd, &base::Descriptor::get) != listeners_.end()) {
      accept_all(events[i].data.fd);
      continue;
    }
    auto at = connections_.find(events[i].data.fd);  // an earlier event may have ended it
    if (at != connections_.end()) on_event(at->second, events[i].events, receiver, places);
  }
  look_at_clock();
  return static_cast<int>(counts_.frames_received - before);
}

void Contacts::on_event(KeptConnection& kept, std::uint32_t events, Receiver& receiver, Sink& places) {
  if (kept.connection.state() == Connection::State::calling) return on_called(kept);
  if ((events & EPOLLOUT) != 0) {
    watch(kept.connection, false, false);
    if (kept.contact && kept.contact->way_ == &kept.connection) push(*kept.contact);
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read(kept, receiver, places);
}

void Contacts::on_called(KeptConnection& kept) {
  Connection& connection = kept.connection;
  if (auto failure = connection.call_failure()) return lose(kept, *failure);
  connection.enter(Connection::State::greeting);
  auto nonce = random_nonce();
  if (!nonce) return lose(kept, nonce.error());
  kept.nonce = *nonce;
  const Hello hello{Hello::kKind, *nonce};
  if (!send_greeting(kept, ContactFrame::hello, bytes_of(hello))) return lose(kept, Error(ErrorClass::other, "a new connection takes nothing"));
  watch(connection, false, false);
}

/// A new connection has room for all of these.
bool Contacts::send_greeting(KeptConnection& kept, ContactFrame kind, ConstSpan bytes) {
  FrameQueue frames;
  frames.add(kind, bytes);
  return kept.connection.send(frames) && frames.is_empty();
}

int Contacts::poll_from(Contact& contact, Receiver& receiver, Sink& places) {
  if (contact.heard_over_ == nullptr || !broken_.empty()) return poll(receiver, places);
  const std::uint64_t before = counts_.frames_received;
  read(*contact.heard_over_, receiver, places);
  return static_cast<int>(counts_.frames_received - before);
}

/// What comes over one connection, on its way to whom it is for.
class Contacts::FramesOf final : public Connection::Taker {
 public:
  FramesOf(Contacts& contacts, KeptConnection& kept, Receiver& receiver) : contacts_(contacts), kept_(kept), receiver_(receiver) {}
  bool take(const ReceivedFrame& frame) override { return contacts_.on_frame(kept_, frame, receiver_); }

 private:
  Contacts& contacts_;
  KeptConnection& kept_;
  Receiver& receiver_;
};

void Contacts::read(KeptConnection& kept, Receiver& receiver, Sink& places) {
  if (!room_) room_ = std::make_unique_for_overwrite<std::byte[]>(kFrameRoom);
  FramesOf frames(*this, kept, receiver);
  auto goes_on = kept.connection.receive({room_.get(), kFrameRoom}, frames, places);
  if (!goes_on) lose(kept, goes_on.error());
  else if (!*goes_on) on_end(kept);
}

/// The other sends no more. It reads until we close, or has ended; so what waits leaves first, and nothing is broken.
void Contacts::on_end(KeptConnection& kept) {
  Contact* contact = kept.contact;
  if (contact && contact->way_ == &kept.connection && kept.connection.state() == Connection::State::open) (void)kept.connection.send(contact->out_);
  lose(kept, Error(ErrorClass::other, "the other process has closed the connection"), false);
}

/// Only what opened a fabric may go: packets must not be overtaken on a later connection.
void Contacts::finish(Contact& with) {
  if (with.is_kept_ || with.way_ == nullptr || with.way_->state() != Connection::State::open || !with.out_.is_empty()) return;
  with.way_->say_end();
  with.way_ = nullptr;
}

bool Contacts::on_frame(KeptConnection& kept, const ReceivedFrame& frame, Receiver& receiver) {
  switch (kept.connection.state()) {
    case Connection::State::stranger: return kept.seal ? on_proof(kept, frame) : on_hello(kept, frame);
    case Connection::State::greeting: return kept.seal ? on_welcome(kept, frame) : on_challenge(kept, frame);
    default: break;
  }
  if (frame.kind == ContactFrame::sealed) return on_sealed(kept, frame, receiver);
  if (frame.kind != ContactFrame::packet) return false;
  ++counts_.frames_received;
  kept.contact->is_kept_ = true;
  kept.contact->heard_over_ = &kept;
  receiver.on_frame(*kept.contact, frame);
  return true;
}

bool Contacts::on_sealed(KeptConnection& kept, const ReceivedFrame& frame, Receiver& receiver) {
  const auto plain = kept.seal->open(frame.bytes);
  SealedHead head{};
  if (!plain || plain->size() < sizeof head) return false;
  std::memcpy(&head, plain->data(), sizeof head);
  const ReceivedFrame inner{.kind = static_cast<ContactFrame>(head.kind), .bytes = ConstSpan(*plain).subspan(sizeof head)};
  ++counts_.frames_received;
  if (inner.kind == ContactFrame::packet) {
    kept.contact->is_kept_ = true;
    kept.contact->heard_over_ = &kept;
  }
  receiver.on_frame(*kept.contact, inner);
  return true;
}

/// At the caller. Both ends have the same key from here on, if the other knows its secret.
bool Contacts::on_challenge(KeptConnection& kept, const ReceivedFrame& frame) {
  Challenge challenge{};
  if (frame.kind != ContactFrame::challenge || frame.bytes.size() != sizeof challenge) return false;
  std::memcpy(&challenge, frame.bytes.data(), sizeof challenge);
  Contact& contact = *kept.contact;
  const auto prove = [&]() -> Result<Bytes> {
    SHIM_TRY_ASSIGN(auto library, crypto());
    SHIM_TRY_ASSIGN(kept.seal, Seal::make(std::move(library), Seal::End::caller, contact.to_.cookie, kept.nonce, challenge.nonce));
    return kept.seal->close(own_.to_bytes());
  };
  auto proof = prove();
  if (proof) return send_greeting(kept, ContactFrame::proof, *proof);
  give_up(contact, std::move(proof).error());
  return false;
}

bool Contacts::on_welcome(KeptConnection& kept, const ReceivedFrame& frame) {
  if (frame.kind != ContactFrame::welcome || !kept.seal->open(frame.bytes)) return false;
  Contact& contact = *kept.contact;
  kept.connection.enter(Connection::State::open);
  ++contact.connections_;
  contact.next_address_ = 0;
  ++counts_.connections;
  push(contact);
  return true;
}

bool Contacts::on_hello(KeptConnection& kept, const ReceivedFrame& frame) {
  Hello hello{};
  if (frame.kind != ContactFrame::hello || frame.bytes.size() != sizeof hello) return false;
  std::memcpy(&hello, frame.bytes.data(), sizeof hello);
  if (hello.kind != Hello::kKind) return false;
  auto nonce = random_nonce();
  auto library = crypto();
  if (!nonce || !library) return false;
  auto seal = Seal::make(*std::move(library), Seal::End::called, own_.cookie, hello.nonce, *nonce);
  if (!seal) return false;
  kept.seal = *std::move(seal);
  const Challenge challenge{*nonce};
  return send_greeting(kept, ContactFrame::challenge, bytes_of(challenge));
}

bool Contacts::on_proof(KeptConnection& kept, const ReceivedFrame& frame) {
  if (frame.kind != ContactFrame::proof) return false;
  const auto address = kept.seal->open(frame.bytes);
  if (!address) return false;  // before anything is kept of it
  auto caller = open(*address);
  auto welcome = kept.seal->close({});
  if (!caller || !welcome) return false;
  kept.connection.enter(Connection::State::open);
  one_stranger_less();
  kept.contact = *caller;
  ++(*caller)->connections_;
  if (!send_greeting(kept, ContactFrame::welcome, *welcome)) return false;
  if ((*caller)->way_ == nullptr) (*caller)->way_ = &kept.connection;
  return true;
}

/// The connection is gone. A call goes on at the next address; what was under way over an open one is lost, and nobody can say how
/// much of it, so the contact is, too.
void Contacts::lose(KeptConnection& kept, const Error& reason, bool is_broken) {
  const Connection::State state = kept.connection.state();
  const bool was_open = state == Connection::State::open;
  if (state == Connection::State::stranger) {
    ++counts_.refused;
    one_stranger_less();
  }
  Contact* contact = kept.contact;
  if (contact && (was_open || state == Connection::State::closing)) {
    --contact->connections_;
    contact->has_ended_one_ = contact->has_ended_one_ || was_open;
  }
  if (contact && contact->heard_over_ == &kept) contact->heard_over_ = nullptr;
  if (contact && contact->way_ == &kept.connection) {
    contact->way_ = nullptr;
    contact->patient_way_ = nullptr;
    if (was_open && (!contact->out_.is_empty() || (is_broken && contact->is_kept_))) {
      give_up(*contact, Error(ErrorClass::proc_aborted, "the connection to a process at " + contact->to_.text() + " is lost: " + reason.text()));
    } else if (!was_open) {
      note_failed_call(*contact, reason);
      call(*contact);
    }
  }
  // closing it would end its events only where no child of fork(2) has it, too
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, kept.connection.descriptor(), nullptr);
  connections_.erase(kept.connection.descriptor());
}

bool Contacts::is_late(const KeptConnection& kept, base::Nanoseconds now) const {
  const base::Nanoseconds waited = now - kept.connection.in_state_since();
  switch (kept.connection.state()) {
    case Connection::State::open:
    case Connection::State::closing: return false;  // the other may be busy elsewhere, and what it sends before it sees our end is to be read
    case Connection::State::stranger: return waited > (has_room_for_strangers() ? kStrangerPatience : kCrowdedPatience);
    case Connection::State::calling: return waited > kCallPatience;
    case Connection::State::greeting: return waited > kCallPatience && kept.contact->to_.addresses.size() > 1;
  }
  return false;
}

void Contacts::look_at_clock() {
  const base::Nanoseconds now = base::now_ns();
  if (now < next_look_) return;
  next_look_ = now + kClockEvery;
  if (!is_looking_for_calls_) look_for_calls();
  std::vector<KeptConnection*> late;
  for (auto& [descriptor, kept] : connections_)
    if (is_late(kept, now)) late.push_back(&kept);
  for (KeptConnection* kept : late) {
    // who has taken the call and says nothing may be busy elsewhere: its addresses are tried in turn, for ever
    if (kept->connection.state() == Connection::State::greeting) kept->contact->next_address_ %= kept->contact->to_.addresses.size();
    lose(*kept, Error(ErrorClass::other, "no answer"));
  }
}

/// Nothing that a process must hear goes to one that has never answered: whoever waits for us has called us. Processes that end
/// together wait for each other's kernels, which are in no hurry.
bool Contacts::is_flushed() const {
  for (const auto& [descriptor, kept] : connections_) kept.connection.acknowledge();
  const base::Nanoseconds now = base::now_ns();
  return std::ranges::all_of(contacts_, [&](const auto& entry) {
    const Contact& contact = *entry.second;
    if (contact.way_ == nullptr) return contact.failure_ || (contact.out_.is_empty() && contact.unsealed_.empty());
    if (contact.way_->state() != Connection::State::open) return now - contact.way_->in_state_since() > kCallPatience;
    return contact.out_.is_empty() && contact.way_->is_delivered();
  });
}

void Contacts::sleep(base::Nanoseconds nanoseconds) const {
  const timespec longest{0, static_cast<long>(std::clamp<base::Nanoseconds>(nanoseconds, 0, 999'999'999))};
  pollfd events{.fd = events_.get(), .events = POLLIN, .revents = 0};
  (void)::ppoll(&events, 1, &longest, nullptr);
}

}  // namespace shim::transport
