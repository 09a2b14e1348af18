// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/net.hpp"

#include <algorithm>
#include <span>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/transport/fork_mark.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/net/contacts.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

/// Looking at connections is a system call; the fabric, and shared memory beside us, are looked at far more often. Connections that
/// messages come over are looked at more often than others, and those of others less by one who looks at its own all the time; a fabric
/// over which messages come is what its processes wait for.
constexpr base::Nanoseconds kLookForMessagesEvery = 2'000, kLookAtOthersEvery = 20'000, kLookBesideFabricEvery = 10'000,
                            kLookBesideBusyFabricEvery = 100'000;
/// Who waits for one process looks at its connection, and every so many times in vain at all of them: a small part of its time, however
/// long a system call takes.
constexpr unsigned kLooksAtOnePerAll = 32;
/// For so long after its last packet whoever spoke last is asked at every look: it may answer at once, and the others' turn comes too late then.
constexpr base::Nanoseconds kConversation = 50'000;
constexpr base::Nanoseconds kLongestNap = 1'000'000;
/// Longer packets cost fewer system calls for each byte; from here on nothing more is won (docs/measurements.md).
constexpr std::size_t kLongPacketBytes = 80 * 1024;

struct NetLink final : Link {
  Contact* contact = nullptr;
  Link* fabric = nullptr;         ///< once both ends are open
  Bytes address;                  ///< of its fabric; empty until it is known
  bool has_asked = false;         ///< we have
  bool has_told = false;          ///< it knows the address of ours
  std::optional<Error> failure;   ///< of its fabric or ours, for good
  bool is_used = false;           ///< packets of ours go to it over its connection
};

/// Of no use to try again, so whoever waits for that process ends its wait.
Error unreachable(const std::string& why) {
  return Error(ErrorClass::proc_aborted, "no messages go to and from a process of another node: " + why);
}

class NetTransport final : public Net, private Matcher {
 public:
  NetTransport(std::unique_ptr<Contacts> contacts, NetSettings settings)
      : settings_(std::move(settings)), contacts_(std::move(contacts)), opening_(settings_.open_fabric) {}

  std::string_view name() const override { return "net"; }
  std::size_t max_packet_bytes() const override { return settings_.max_packet_bytes; }
  std::size_t long_packet_bytes(const Link& to) const override;
  Bytes address() const override { return contacts_->address().to_bytes(); }
  Result<Link*> open(ConstSpan address) override;
  [[gnu::hot]] Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  Result<Attempt> try_send_ahead(Link& link, ConstSpan header, ConstSpan payload) override;
  [[gnu::hot]] Result<int> poll(Sink& sink) override;
  [[gnu::hot]] Result<int> poll_link(Link& link, Sink& sink) override;
  Result<Attempt> try_read(Link& link, std::uint64_t remote_address, std::span<std::byte> into) override;
  bool needs_offers() const override { return fabric_ ? fabric_->needs_offers() : wants_fabric(); }
  std::unique_ptr<Offer> offer(Link& link, ConstSpan memory) override;
  std::unique_ptr<Read> begin_read(Link& link, const RemoteMemory& from, std::span<std::byte> into) override;
  bool is_gone(const Link& link) const override;
  bool tells_of_death() const override { return true; }
  std::string_view why_gone(const Link& link) const override;
  bool has_lost(const Link& link) const override;
  bool has_losses() const override;
  void look_for_losses() override { if (fabric_) fabric_->look_for_losses(); }
  Presence presence(const Link& link) const override;
  bool is_flushed() const override { return contacts_->is_flushed() && (!fabric_ || fabric_->is_flushed()); }
  bool can_sleep() const override { return descriptor() >= 0; }
  void sleep(std::int64_t nanoseconds, const LastLook& last_look, std::span<const int>) override;
  /// A fabric has none.
  int descriptor() const override { return wants_fabric() ? -1 : contacts_->descriptor(); }
  const Counts& counts() const override;
  Matcher* matcher() override { return fabric_ && fabric_->matcher() ? this : nullptr; }
  bool may_match() const override { return fabric_ ? fabric_->may_match() : settings_.may_match && !fabric_failure_; }

  void open_fabric_early() override { if (wants_fabric()) opening_.begin(); }
  void wait_for_opening() const override { opening_.wait(); }

 private:
  // --- Matcher: the fabric's
  bool takes(base::ContextId context, std::int32_t source) const override { return fabric_->matcher()->takes(context, source); }
  [[gnu::hot]] Result<Attempt> try_send(Link& to, const Envelope& message, ConstSpan header, ConstSpan payload) override;
  [[gnu::hot]] Result<Attempt> post(MatchedReceive& receive, Link& from, const Envelope& wanted) override;
  std::size_t room() const override { return fabric_->matcher()->room(); }
  void withdraw(MatchedReceive& receive) override { fabric_->matcher()->withdraw(receive); }
  void forget(MatchedReceive& receive) override { fabric_->matcher()->forget(receive); }
  void gather(const Gathering& what) override { fabric_->matcher()->gather(what); }
  bool is_gathering(base::ContextId context) const override { return fabric_->matcher()->is_gathering(context); }
  std::uint64_t begin_sweep() override { return fabric_->matcher()->begin_sweep(); }
  std::uint64_t sweeps() const override { return fabric_->matcher()->sweeps(); }

  bool wants_fabric() const { return settings_.open_fabric != nullptr; }
  void count_packet(NetLink& link, std::size_t bytes);
  NetLink& link_of(Contact& contact);
  Result<bool> is_connected(NetLink& link);
  Status ask(NetLink& link);
  bool answer(NetLink& link);
  void learn(NetLink& link, ConstSpan address);
  Result<bool> tell(NetLink& link);
  void connect(NetLink& link);
  void finish_asking(NetLink& link);
  void take_fabric();
  void note_packet(Contact& from);
  class FramesFor;
  [[gnu::hot]] void take_frame(Contact& contact, const ReceivedFrame& frame, Sink& sink);
  void take_word(NetLink& link, const ReceivedFrame& frame);
  [[gnu::hot]] int poll_contacts(Sink& sink, base::Nanoseconds now, base::Nanoseconds every);
  [[gnu::hot]] int poll_speaker(Sink& sink, base::Nanoseconds now);
  base::Nanoseconds patience() const;

  NetSettings settings_;
  ForkMark mark_;
  std::unique_ptr<Contacts> contacts_;
  std::unordered_map<const Contact*, std::unique_ptr<NetLink>> links_;
  std::vector<NetLink*> to_be_answered_;
  Opening opening_;
  std::unique_ptr<Transport> fabric_;
  std::optional<Error> fabric_failure_;
  base::Nanoseconds last_look_ = 0;  ///< at the connections of all; 0: it has found something, so there may be more
  unsigned looks_at_one_ = 0;        ///< that found nothing
  bool is_fabric_busy_ = false;      ///< something has come over it since
  Contact* speaker_ = nullptr;       ///< over whose connection the last packet has come
  bool has_spoken_ = false;          ///< since the last look at the clock
  base::Nanoseconds spoke_ = 0;      ///< at that look
  std::uint64_t sends_again_ = 0, links_used_ = 0, packets_sent_ = 0, bytes_sent_ = 0, packets_received_ = 0;  ///< not the fabric's
  mutable Counts counts_;
};

NetLink& NetTransport::link_of(Contact& contact) {
  auto& link = links_[&contact];
  if (!link) {
    link = std::make_unique<NetLink>();
    link->contact = &contact;
  }
  return *link;
}

Result<Link*> NetTransport::open(ConstSpan address) {
  SHIM_TRY_ASSIGN(Contact * contact, contacts_->open(address));
  return &link_of(*contact);
}

Status NetTransport::ask(NetLink& link) {
  opening_.begin();
  const Bytes own = fabric_ ? fabric_->address() : Bytes();  // so that it need not ask us
  SHIM_TRY_ASSIGN(link.has_asked, contacts_->send(*link.contact, ContactFrame::ask, own));
  link.has_told = link.has_asked && fabric_;
  return {};
}

/// Can packets go over the fabric? If not, sees to it that they can at some time.
Result<bool> NetTransport::is_connected(NetLink& link) {
  if (link.fabric) [[likely]] return true;
  if (link.failure) return link.failure->clone();
  SHIM_TRY(mark_.check());
  if (const Error* failure = link.contact->failure()) return failure->clone();
  if (fabric_failure_) return unreachable(fabric_failure_->text());
  if (!link.has_asked) SHIM_TRY(ask(link));
  return false;
}

std::size_t NetTransport::long_packet_bytes(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  if (wants_fabric()) return link.fabric != nullptr ? fabric_->long_packet_bytes(*link.fabric) : max_packet_bytes();
  return link.contact->takes_whole(kLongPacketBytes) ? kLongPacketBytes : max_packet_bytes();
}

Presence NetTransport::presence(const Link& link) const {
  const Contact& contact = *static_cast<const NetLink&>(link).contact;
  const Presence known = contact.presence();
  return known == Presence::gone && wants_fabric() && contact.failure() == nullptr ? Presence::unknown : known;  // see is_gone()
}

void NetTransport::count_packet(NetLink& link, std::size_t bytes) {
  if (!std::exchange(link.is_used, true)) ++links_used_;
  ++packets_sent_;
  bytes_sent_ += bytes;
}

Result<Attempt> NetTransport::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<NetLink&>(to);
  if (!wants_fabric()) {
    SHIM_TRY(mark_.check());
    SHIM_TRY_ASSIGN(const bool taken, contacts_->send_now(*link.contact, header, payload));
    if (taken) count_packet(link, header.size() + payload.size());
    else ++sends_again_;
    return taken ? Attempt::done : Attempt::again;
  }
  SHIM_TRY_ASSIGN(const bool connected, is_connected(link));
  if (!connected) {
    ++sends_again_;
    return Attempt::again;
  }
  return fabric_->try_send(*link.fabric, header, payload);
}

Result<Attempt> NetTransport::try_send(Link& to, const Envelope& message, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<NetLink&>(to);
  SHIM_TRY_ASSIGN(const bool connected, is_connected(link));
  if (!connected) {
    ++sends_again_;
    return Attempt::again;
  }
  return fabric_->matcher()->try_send(*link.fabric, message, header, payload);
}

Result<Attempt> NetTransport::post(MatchedReceive& receive, Link& from, const Envelope& wanted) {
  auto& link = static_cast<NetLink&>(from);
  SHIM_TRY_ASSIGN(const bool connected, is_connected(link));
  if (!connected) return Attempt::again;
  return fabric_->matcher()->post(receive, *link.fabric, wanted);
}

Result<Attempt> NetTransport::try_send_ahead(Link& to, ConstSpan header, ConstSpan payload) {
  SHIM_TRY(mark_.check());
  SHIM_TRY_ASSIGN(const bool taken, contacts_->send(*static_cast<NetLink&>(to).contact, ContactFrame::packet, header, payload));
  return taken ? Attempt::done : Attempt::again;
}

Result<Attempt> NetTransport::try_read(Link& from, std::uint64_t remote_address, std::span<std::byte> into) {
  auto& link = static_cast<NetLink&>(from);
  if (!wants_fabric()) return Attempt::unsupported;
  SHIM_TRY_ASSIGN(const bool connected, is_connected(link));
  if (!connected) return Attempt::again;
  return fabric_->try_read(*link.fabric, remote_address, into);
}

/// A fabric may never say that a process is gone of which something is awaited. Connections that have served their purpose are closed where
/// there is one, so that their end says nothing; but nobody takes a call any more where a process has ended.
bool NetTransport::is_gone(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  Contact& contact = *link.contact;
  if (!mark_.is_own_process()) return !wants_fabric() && contact.has_left();
  if (!wants_fabric()) {
    if (!contact.has_left()) contacts_->look_for(contact);
    return contact.has_left();
  }
  contacts_->look_for(contact);
  return contact.failure() != nullptr || (link.fabric != nullptr && fabric_->is_gone(*link.fabric));
}

std::string_view NetTransport::why_gone(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  const bool has_ended = link.contact->failure() != nullptr;  // then its fabric's troubles come of that
  return link.fabric == nullptr || has_ended ? std::string_view() : fabric_->why_gone(*link.fabric);
}

bool NetTransport::has_lost(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  return link.fabric != nullptr && fabric_->has_lost(*link.fabric);
}

bool NetTransport::has_losses() const { return fabric_ != nullptr && fabric_->has_losses(); }

std::unique_ptr<Offer> NetTransport::offer(Link& to, ConstSpan memory) {
  Link* link = static_cast<NetLink&>(to).fabric;
  return link == nullptr ? nullptr : fabric_->offer(*link, memory);
}

std::unique_ptr<Read> NetTransport::begin_read(Link& from, const RemoteMemory& memory, std::span<std::byte> into) {
  Link* link = static_cast<NetLink&>(from).fabric;
  return link == nullptr ? nullptr : fabric_->begin_read(*link, memory, into);
}

Result<bool> NetTransport::tell(NetLink& link) {
  SHIM_TRY_ASSIGN(link.has_told, contacts_->send(*link.contact, ContactFrame::fabric, fabric_->address()));
  return link.has_told;
}

/// False: there is no room at the moment. Who cannot be reached is not answered.
bool NetTransport::answer(NetLink& link) {
  Result<bool> sent = true;
  if (fabric_) {
    sent = tell(link);
  } else {
    const std::string_view text = fabric_failure_->text();
    sent = contacts_->send(*link.contact, ContactFrame::no_fabric, std::as_bytes(std::span(text)));
  }
  return !sent || *sent;
}

void NetTransport::learn(NetLink& link, ConstSpan address) {
  link.address.assign(address.begin(), address.end());
  if (fabric_ && !link.fabric) connect(link);
}

/// Once our fabric is open and the other's address known. Whoever asked sends over the fabric only when it has told who it is: it need not
/// be asked, then. Both may have asked, of whom one is about to send alone (a receive that the provider is to match asks, too).
void NetTransport::connect(NetLink& link) {
  auto opened = fabric_->open(link.address);
  if (!opened) {
    link.failure = unreachable(opened.error().text());
    return;
  }
  link.fabric = *opened;
  fabric_->expect(*link.fabric);
  if (link.has_asked && !link.has_told) (void)tell(link);  // a contact that is lost is found out by who sends
}

void NetTransport::finish_asking(NetLink& link) {
  if (link.has_asked && (link.fabric || link.failure)) contacts_->finish(*link.contact);
}

void NetTransport::take_fabric() {
  auto opened = opening_.take();
  if (opened && (*opened)->max_packet_bytes() < settings_.max_packet_bytes)
    opened = Error(ErrorClass::intern, "the fabric takes shorter packets than was said");
  if (opened) fabric_ = *std::move(opened);
  else fabric_failure_ = std::move(opened).error();
  for (auto& [contact, link] : links_) {
    if (!fabric_) link->failure = unreachable(fabric_failure_->text());
    else if (!link->address.empty()) {
      connect(*link);
      finish_asking(*link);
    }
  }
}

void NetTransport::note_packet(Contact& from) {
  ++packets_received_;
  speaker_ = &from;
  has_spoken_ = true;
}

void NetTransport::take_frame(Contact& contact, const ReceivedFrame& frame, Sink& sink) {
  if (frame.kind != ContactFrame::packet) return take_word(link_of(contact), frame);
  if (!wants_fabric()) note_packet(contact);
  if (frame.placed != 0) sink.on_placed(frame.bytes, frame.placed);
  else sink.on_packet(frame.bytes);
}

/// About fabrics.
void NetTransport::take_word(NetLink& link, const ReceivedFrame& frame) {
  switch (frame.kind) {
    case ContactFrame::ask:
      if (!wants_fabric()) fabric_failure_ = Error(ErrorClass::other, "its messages between nodes go over TCP connections");
      to_be_answered_.push_back(&link);
      if (wants_fabric()) opening_.begin();
      if (!frame.bytes.empty()) learn(link, frame.bytes);
      return;
    case ContactFrame::fabric:
      learn(link, frame.bytes);
      finish_asking(link);
      return;
    case ContactFrame::no_fabric:
      link.failure = unreachable("of the other's side, " + std::string(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()));
      return;
    case ContactFrame::packet:
    case ContactFrame::hello:
    case ContactFrame::challenge:
    case ContactFrame::proof:
    case ContactFrame::welcome:
    case ContactFrame::sealed: return;
  }
}

/// Frames that looks at connections find, on their way to what takes packets.
class NetTransport::FramesFor final : public Contacts::Receiver {
 public:
  FramesFor(NetTransport& net, Sink& sink) : net_(net), sink_(sink) {}
  void on_frame(Contact& from, const ReceivedFrame& frame) override { net_.take_frame(from, frame, sink_); }

 private:
  NetTransport& net_;
  Sink& sink_;
};

/// How long connections may go without a look.
base::Nanoseconds NetTransport::patience() const {
  if (!wants_fabric()) return kLookForMessagesEvery;
  return is_fabric_busy_ ? kLookBesideBusyFabricEvery : kLookBesideFabricEvery;
}

/// The one who spoke last, as long as that may be a conversation.
int NetTransport::poll_speaker(Sink& sink, base::Nanoseconds now) {
  if (std::exchange(has_spoken_, false)) spoke_ = now;
  if (speaker_ == nullptr || now - spoke_ > kConversation) return 0;
  FramesFor receiver(*this, sink);
  return contacts_->poll_from(*speaker_, receiver, sink);
}

int NetTransport::poll_contacts(Sink& sink, base::Nanoseconds now, base::Nanoseconds every) {
  if (now - last_look_ < every) return 0;
  FramesFor receiver(*this, sink);
  const int frames = contacts_->poll(receiver, sink);
  last_look_ = frames > 0 ? 0 : now;
  is_fabric_busy_ = false;
  if (wants_fabric() && !fabric_ && !fabric_failure_ && opening_.is_over()) take_fabric();
  if (fabric_ || fabric_failure_) std::erase_if(to_be_answered_, [&](NetLink* link) { return answer(*link); });
  return frames;
}

Result<int> NetTransport::poll(Sink& sink) {
  SHIM_TRY(mark_.check());
  const base::Nanoseconds now = base::now_ns();
  int moved = poll_speaker(sink, now);
  moved += poll_contacts(sink, now, moved == 0 ? patience() : kLookAtOthersEvery);  // however much one has to say, others have their turn
  if (fabric_) {
    SHIM_TRY_ASSIGN(const int packets, fabric_->poll(sink));
    is_fabric_busy_ |= packets != 0;
    moved += packets;
  }
  return moved;
}

Result<int> NetTransport::poll_link(Link& from, Sink& sink) {
  auto& link = static_cast<NetLink&>(from);
  if (link.fabric) {
    auto packets = fabric_->poll_link(*link.fabric, sink);
    is_fabric_busy_ |= packets && *packets != 0;
    return packets;
  }
  if (wants_fabric()) return poll(sink);
  SHIM_TRY(mark_.check());
  FramesFor receiver(*this, sink);
  const int frames = contacts_->poll_from(*link.contact, receiver, sink);
  if (frames > 0 || ++looks_at_one_ % kLooksAtOnePerAll != 0) return frames;
  return poll_contacts(sink, base::now_ns(), 0);
}

void NetTransport::sleep(std::int64_t nanoseconds, const LastLook& last_look, std::span<const int>) {
  if (!last_look()) contacts_->sleep(std::min(nanoseconds, kLongestNap));
}

const Transport::Counts& NetTransport::counts() const {
  counts_ = fabric_ ? fabric_->counts() : Counts{};
  const Contacts::Counts& contacts = contacts_->counts();
  counts_.links_opened = links_.size();
  counts_.sends_again += sends_again_;
  counts_.links_used += links_used_;
  counts_.packets_sent += packets_sent_;
  counts_.bytes_sent += bytes_sent_;
  counts_.packets_received += packets_received_;
  counts_.contacts_made = contacts.connections;
  counts_.contact_messages = contacts.frames_sent;
  counts_.contact_bytes = contacts.bytes_sent;
  counts_.fabrics_open = fabric_ ? 1 : 0;
  counts_.packets_refused += contacts.refused;
  return counts_;
}

}  // namespace

Result<std::unique_ptr<Net>> make_net(NetSettings settings) {
  SHIM_TRY_ASSIGN(auto contacts, Contacts::listen(settings.interface));
  return std::unique_ptr<Net>(std::make_unique<NetTransport>(std::move(contacts), std::move(settings)));
}

}  // namespace shim::transport
