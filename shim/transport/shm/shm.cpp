// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/shm/shm.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/base/copy.hpp"
#include "shim/transport/doorbell.hpp"
#include "shim/transport/shm/peer_memory.hpp"
#include "shim/transport/shm/ring.hpp"
#include "shim/transport/shm/slot.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::SharedArea;
using base::Status;

/// Packets handed over in one poll, and of these from one sender.
constexpr int kPollBatch = 64;
constexpr int kRingBatch = 16;

/// Sleeping is announced without a barrier on the sender's side (README, "Sleeping"): a wake-up can be missed once in a long
/// while, and then this is what it costs.
constexpr std::int64_t kLongestNapNs = 1'000'000;
/// Nobody wakes a process that waits for room in a full ring.
constexpr std::int64_t kBlockedNapNs = 100'000;

/// A link that has been refused this often in a row looks at the clock, and this long after, asks whether the peer lives.
constexpr std::uint32_t kRefusalsBeforeClock = 64;
constexpr base::Nanoseconds kAliveCheckNs = 20'000'000;

struct ShmAddress {
  static constexpr std::uint32_t kKind = 0x6d687331;  // "1shm"
  std::uint32_t kind;
  std::uint32_t slot;
  std::uint64_t cookie;
};
static_assert(sizeof(ShmAddress) == 16);

struct ShmLink final : Link {
  explicit ShmLink(std::uint32_t slot_number) : slot(slot_number) {}
  std::uint32_t slot;
  bool connected = false;  ///< the ring is backed and the receiver knows of it
  RingWriter<> ring;
  RingWriter<>::Room reserved;  ///< for a packet that is being written
  SlotMemory* peer = nullptr;
  PeerMemory memory;
  std::uint32_t refusals = 0;  ///< sends in a row for which there was no room
  base::Nanoseconds checked_at = 0;
};

class Shm final : public Transport {
 public:
  Shm(SharedArea& area, const ShmSettings& settings)
      : area_(area),
        settings_(settings),
        own_(transport::slot_memory(area, area.own_slot())),
        probe_(own_),
        links_(area.slot_count()) {}

  std::string_view name() const override { return "shm"; }
  std::size_t max_packet_bytes() const override { return max_packet_; }
  /// What goes through the depot is faster, whatever else the ring takes.
  std::size_t long_packet_bytes(const Link&) const override {
    return depot_.memory().cells() == 0 ? max_packet_ : std::min(max_packet_, kLongestInDepot);
  }
  StreamRoom stream_room() override {
    const std::uint64_t all = depot_.room();
    return {all, all / std::max(area_.slot_count() - 1, 1u)};
  }
  Bytes address() const override { return shm_address(area_.own_slot(), settings_); }
  Result<Link*> open(ConstSpan address) override;
  Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  Result<Attempt> try_reserve(Link& link, ConstSpan header, std::size_t payload_bytes, std::span<std::byte>& payload) override;
  void publish(Link& link) override;
  Result<int> poll(Sink& sink) override;
  Result<int> poll_link(Link& link, Sink& sink) override;
  ConstSpan front(Link& link) override;
  void drop_front(Link& link, ConstSpan packet) override;
  Result<Attempt> try_read(Link& link, std::uint64_t remote_address, std::span<std::byte> into) override {
    return try_read_pieces(link, remote_address, {&into, 1});
  }
  Result<Attempt> try_read_pieces(Link& link, std::uint64_t remote_address, std::span<const std::span<std::byte>> into) override;
  Result<Attempt> try_write(Link& link, std::uint64_t remote_address, ConstSpan bytes) override;
  CopyBoard* copy_board_from(Link& link) override;
  CopyBoard* copy_board_to(Link& link) override;
  bool is_flushed() const override { return true; }  // what is in a ring stays there, whatever becomes of its sender
  bool can_sleep() const override { return true; }
  void sleep(std::int64_t nanoseconds, const LastLook&, std::span<const int> descriptors) override;
  bool may_wait_for_descriptors() override;
  const Counts& counts() const override { return counts_; }

 private:
  DepotMemory depot_of(std::uint32_t slot) { return {area_.depot(slot), area_.depot_bytes()}; }
  RingMemory ring_memory(std::uint32_t from, std::uint32_t to) {
    return RingMemory(area_.pair(from, to), shm_pair_bytes(settings_), from > to ? RingMemory::Near::end : RingMemory::Near::beginning);
  }
  SlotMemory* slot_memory(std::uint32_t slot) { return &transport::slot_memory(area_, slot); }
  Status back_ring_to(std::uint32_t slot);
  Status connect(ShmLink& link);
  Result<Attempt> look_closer(ShmLink& link, std::size_t bytes);
  void note_sent(ShmLink& link, std::size_t bytes);
  Result<Attempt> refuse(ShmLink& link);
  void look_for_contacts();
  void adopt_contacts();
  struct Drained {
    int packets;
    bool wants_more;  ///< the sink does
  };
  Drained drain(RingReader<>& ring, int most, Sink& sink);

  SharedArea& area_;
  ShmSettings settings_;
  std::size_t max_packet_ = ring_max_packet(ring_capacity(settings_.ring_bytes));
  SlotMemory& own_;
  Probe probe_;
  std::vector<std::unique_ptr<ShmLink>> links_;  ///< by slot; null where none has been opened
  Depot depot_{area_};
  std::optional<Doorbell> doorbell_;
  bool has_no_doorbell_ = false;  ///< and cannot have one
  RoundaboutRoom room_;                          ///< for what is read from them, and written to them

  std::vector<RingReader<>> rings_;   ///< of those who write to us
  static constexpr std::uint32_t kNoRing = ~0u;
  std::vector<std::uint32_t> ring_of_ = std::vector<std::uint32_t>(links_.size(), kNoRing);  ///< by slot: where in rings_
  std::uint64_t contact_version_ = 0;
  std::size_t next_ring_ = 0;         ///< where the next poll begins

  /// Links whose last send was refused; relaxed everywhere: sleep(), outside the owner's lock, only chooses a nap by it.
  std::atomic<std::uint32_t> blocked_{0};
  Counts counts_;
};

Result<Link*> Shm::open(ConstSpan address) {
  ShmAddress wanted{};
  if (address.size() == sizeof wanted) std::memcpy(&wanted, address.data(), sizeof wanted);
  if (wanted.kind != ShmAddress::kKind || wanted.slot >= area_.slot_count())
    return Error(ErrorClass::arg, "this is not the address of a process on this node's shared memory");
  if (wanted.cookie != settings_.cookie)
    return Error(ErrorClass::arg, "this shared-memory address belongs to another job");
  auto& link = links_[wanted.slot];  // one writer per ring, however often it is opened
  if (!link) {
    SHIM_TRY(back_ring_to(wanted.slot));
    link = std::make_unique<ShmLink>(wanted.slot);
    ++counts_.links_opened;
  }
  return link.get();
}

/// Here and not at the first contact, so that whoever has a link can send.
Status Shm::back_ring_to(std::uint32_t slot) {
  auto backed = area_.back_pair_to(slot);
  if (backed) return {};
  return std::move(backed).error().within("memory for messages to the process in slot " + std::to_string(slot) +
                                          " of this node");
}

/// The first contact. Leaves the link unconnected where the peer is not there yet.
Status Shm::connect(ShmLink& link) {
  if (!area_.is_ready(link.slot)) return {};
  link.ring = RingWriter<>(ring_memory(area_.own_slot(), link.slot), &depot_);
  link.peer = slot_memory(link.slot);
  link.peer->announce_contact(area_.own_slot());
  link.connected = true;
  ++counts_.links_used;
  return {};
}

/// No room. Seldom enough not to matter, asks whether there will ever be.
Result<Attempt> Shm::refuse(ShmLink& link) {
  ++counts_.sends_again;
  if (link.refusals++ == 0) {
    blocked_.fetch_add(1, std::memory_order_relaxed);
    link.checked_at = base::now_ns();
  }
  if (link.refusals % kRefusalsBeforeClock == 0 && base::now_ns() - link.checked_at > kAliveCheckNs) {
    link.checked_at = base::now_ns();
    if (!area_.is_alive(link.slot))
      return Error(ErrorClass::proc_aborted, "it has ended with messages to it still waiting");
  }
  return Attempt::again;
}

/// At the first packet, or one that is too long; done: it may be written all the same, where there is room.
Result<Attempt> Shm::look_closer(ShmLink& link, std::size_t bytes) {
  if (bytes > max_packet_) return Error(ErrorClass::intern, "a packet is longer than the shared-memory transport's max_packet_bytes");
  SHIM_TRY(connect(link));
  return link.connected ? Attempt::done : refuse(link);
}

[[gnu::always_inline]] inline void Shm::note_sent(ShmLink& link, std::size_t bytes) {
  if (link.refusals != 0) [[unlikely]] {
    link.refusals = 0;
    blocked_.fetch_sub(1, std::memory_order_relaxed);
  }
  wake_sleepers(link.peer->wake);
  ++counts_.packets_sent;
  counts_.bytes_sent += bytes;
}

Result<Attempt> Shm::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<ShmLink&>(to);
  const std::size_t bytes = header.size() + payload.size();
  if (!link.connected || bytes > max_packet_) [[unlikely]] {
    auto may = look_closer(link, bytes);
    if (!may || *may != Attempt::done) return may;
  }
  if (!link.ring.write(header, payload)) [[unlikely]] return refuse(link);
  note_sent(link, bytes);
  return Attempt::done;
}

Result<Attempt> Shm::try_reserve(Link& to, ConstSpan header, std::size_t payload_bytes, std::span<std::byte>& payload) {
  auto& link = static_cast<ShmLink&>(to);
  const std::size_t bytes = header.size() + payload_bytes;
  if (!link.connected || bytes > max_packet_) {
    auto may = look_closer(link, bytes);
    if (!may || *may != Attempt::done) return may;
  }
  const auto room = link.ring.find_room(bytes);
  if (!room) return refuse(link);
  if (!link.ring.may_be_made_in(*room, payload_bytes)) return Attempt::unsupported;  // sooner copied from this core's cache
  link.reserved = *room;
  base::copy_short(room->packet, header.data(), header.size());
  payload = {room->packet + header.size(), payload_bytes};
  return Attempt::done;
}

void Shm::publish(Link& to) {
  auto& link = static_cast<ShmLink&>(to);
  link.ring.publish(link.reserved);
  note_sent(link, link.reserved.bytes);
}

void Shm::adopt_contacts() {
  own_.visit_contacts(area_.slot_count(), [&](std::uint32_t from) {
    if (ring_of_[from] != kNoRing) return false;
    ring_of_[from] = static_cast<std::uint32_t>(rings_.size());
    rings_.emplace_back(ring_memory(from, area_.own_slot()), depot_of(from));
    return false;
  });
}

Shm::Drained Shm::drain(RingReader<>& ring, int most, Sink& sink) {
  int count = 0;
  bool wants_more = true;
  while (count < most && wants_more) {
    const auto packet = count == 0 ? ring.first() : ring.next_in_batch();
    if (!packet) break;
    wants_more = sink.on_packet(*packet);
    ring.release(*packet);
    ++count;
  }
  ring.end_batch(static_cast<std::uint64_t>(count));
  return {count, wants_more};
}

void Shm::look_for_contacts() {
  // acquire: pairs with the release in announce_contact. The line moves only when a new sender appears.
  std::uint64_t version = own_.contact_version.load(std::memory_order_acquire);
  if (version == contact_version_) [[likely]] return;
  contact_version_ = version;
  adopt_contacts();
}

Result<int> Shm::poll(Sink& sink) {
  look_for_contacts();
  int count = 0;
  bool wants_more = true;
  for (std::size_t visited = 0; visited < rings_.size() && count < kPollBatch && wants_more; ++visited) {
    if (next_ring_ >= rings_.size()) next_ring_ = 0;
    const Drained drained = drain(rings_[next_ring_++], std::min(kRingBatch, kPollBatch - count), sink);
    count += drained.packets;
    wants_more = drained.wants_more;
  }
  counts_.packets_received += static_cast<std::uint64_t>(count);
  return count;
}

Result<int> Shm::poll_link(Link& link, Sink& sink) {
  look_for_contacts();
  const std::uint32_t ring = ring_of_[static_cast<ShmLink&>(link).slot];
  if (ring == kNoRing) return 0;
  const int count = drain(rings_[ring], kRingBatch, sink).packets;
  counts_.packets_received += static_cast<std::uint64_t>(count);
  return count;
}

/// Of a sender whose ring no poll has found yet, nothing.
ConstSpan Shm::front(Link& link) {
  const std::uint32_t ring = ring_of_[static_cast<ShmLink&>(link).slot];
  if (ring == kNoRing) [[unlikely]] return {};
  return rings_[ring].next().value_or(ConstSpan());
}

void Shm::drop_front(Link& link, ConstSpan packet) {
  rings_[ring_of_[static_cast<ShmLink&>(link).slot]].release(packet);
  ++counts_.packets_received;
}

Result<Attempt> Shm::try_read_pieces(Link& from, std::uint64_t remote_address, std::span<const std::span<std::byte>> into) {
  auto& link = static_cast<ShmLink&>(from);
  if (!settings_.single_copy) return Attempt::unsupported;
  if (!area_.is_ready(link.slot))
    return Error(ErrorClass::proc_aborted, "it has left before its message was read");
  SHIM_TRY_ASSIGN(Attempt attempt, link.memory.read(area_.pid(link.slot), *slot_memory(link.slot), remote_address, into, room_));
  if (attempt == Attempt::done)
    for (const std::span<std::byte> piece : into) counts_.bytes_read += piece.size();
  return attempt;
}

Result<Attempt> Shm::try_write(Link& to, std::uint64_t remote_address, ConstSpan bytes) {
  auto& link = static_cast<ShmLink&>(to);
  if (!settings_.single_copy || !area_.is_ready(link.slot)) return Attempt::unsupported;
  return link.memory.write(area_.pid(link.slot), *slot_memory(link.slot), remote_address, bytes, room_);
}

/// A ring that has brought something is backed; so is one that a link was opened for.
CopyBoard* Shm::copy_board_from(Link& link) {
  const std::uint32_t slot = static_cast<ShmLink&>(link).slot;
  return settings_.single_copy && ring_of_[slot] != kNoRing ? &ring_memory(slot, area_.own_slot()).control().copies : nullptr;
}
CopyBoard* Shm::copy_board_to(Link& link) {
  return settings_.single_copy ? &ring_memory(area_.own_slot(), static_cast<ShmLink&>(link).slot).control().copies : nullptr;
}

bool Shm::may_wait_for_descriptors() {
  if (doorbell_ || has_no_doorbell_) return doorbell_.has_value();
  if (auto made = Doorbell::make()) doorbell_ = std::move(*made);
  has_no_doorbell_ = !doorbell_;
  // relaxed: who sleeps there announces it, and the announcement carries this
  if (doorbell_) own_.wake.doorbell.store(doorbell_->name(), std::memory_order_relaxed);
  return doorbell_.has_value();
}

/// Runs outside the owner's lock, beside polls and sends of other threads: touches shared memory and blocked_ only, and the doorbell, which
/// is there for good once somebody was told so.
void Shm::sleep(std::int64_t nanoseconds, const LastLook& last_look, std::span<const int> descriptors) {
  bool blocked = blocked_.load(std::memory_order_relaxed) != 0;
  std::int64_t nap = std::min(nanoseconds, blocked ? kBlockedNapNs : kLongestNapNs);
  const bool at_doorbell = !descriptors.empty();
  std::uint32_t ticket = announce_sleep(own_.wake, at_doorbell ? kAtTheDoorbell : kOnTheWord);
  // No barrier here but announce_sleep's seq_cst operation and has_unread's seq_cst loads, which together are one.
  bool work = own_.visit_contacts(area_.slot_count(), [&](std::uint32_t sender) {
    return has_unread(ring_memory(sender, area_.own_slot()).control());
  });
  if (!work && !last_look()) {
    if (at_doorbell) doorbell_->wait(descriptors, nap);
    else sleep_on(own_.wake, ticket, nap);
  }
  if (at_doorbell) leave_doorbell(own_.wake);
}

}  // namespace

std::size_t shm_slot_bytes(std::uint32_t slot_count) { return SlotMemory::bytes(slot_count); }

std::size_t shm_pair_bytes(const ShmSettings& settings) { return settings.ring_bytes; }

Bytes shm_address(std::uint32_t slot, const ShmSettings& settings) {
  ShmAddress address{ShmAddress::kKind, slot, settings.cookie};
  Bytes bytes(sizeof address);
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

Result<std::unique_ptr<Transport>> make_shm(SharedArea& area, const ShmSettings& settings) {
  if (!std::has_single_bit(settings.ring_bytes) || settings.ring_bytes < kShmLeastRing || settings.ring_bytes > kShmMostRing)
    return Error(ErrorClass::arg, "ring_bytes is " + std::to_string(settings.ring_bytes) +
                                      "; it must be a power of two, " + std::to_string(kShmLeastRing) + " to " + std::to_string(kShmMostRing));
  if (area.slot_bytes() < shm_slot_bytes(area.slot_count()) || area.pair_bytes() < shm_pair_bytes(settings))
    return Error(ErrorClass::size, "the node's shared memory was laid out for other settings; use the same on all processes");
  return std::unique_ptr<Transport>(std::make_unique<Shm>(area, settings));
}

}  // namespace shim::transport
