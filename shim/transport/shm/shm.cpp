// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/shm/shm.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/base/copy.hpp"
#include "shim/node/doorbell.hpp"
#include "shim/node/slot.hpp"
#include "shim/transport/cooperative_writes.hpp"
#include "shim/transport/remote_reads.hpp"
#include "shim/transport/send_in_place.hpp"
#include "shim/transport/shm/incoming_rings.hpp"
#include "shim/transport/shm/link.hpp"
#include "shim/transport/shm/peer_memory.hpp"
#include "shim/transport/shm/ring.hpp"
#include "shim/transport/sleeper.hpp"
#include "shim/transport/stream_limits.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using node::SharedArea;
static_assert(kMaxDescriptors <= node::Doorbell::kMaxDescriptors);
using base::Status;

/// Cost of a missed wake-up, which is rare: the sender executes no barrier between publication and
/// wake-up (README, "Sleeping").
constexpr std::int64_t kShmMaxSleepNs = 1'000'000;

/// Consecutive refused sends between two reads of the clock, and least time between two checks
/// whether the peer lives.
constexpr std::uint32_t kRefusalsBeforeClock = 64;
constexpr base::Nanoseconds kAliveCheckNs = 20'000'000;

struct ShmAddress {
  static constexpr std::uint32_t kKind = 0x6d687331;  // "1shm"
  std::uint32_t kind;
  std::uint32_t slot;
  std::uint64_t cookie;
};
static_assert(sizeof(ShmAddress) == 16);

class Shm final : public Transport,
                  private SendInPlace,
                  private StreamLimits,
                  private RemoteReads,
                  private CooperativeWrites,
                  private Sleeper {
 public:
  Shm(SharedArea& area, const ShmSettings& settings)
      : area_(area),
        settings_(settings),
        own_(node::slot_memory(area, area.own_slot())),
        probe_(own_),
        links_(area.slot_count()),
        incoming_(area, settings) {}

  std::string_view name() const override { return "shm"; }
  Reach reach() const override { return Reach::node; }
  std::size_t max_packet_bytes() const override { return max_packet_; }
  Bytes address() const override { return shm_address(area_.own_slot(), settings_); }
  Result<Link*> open(ConstSpan address) override;
  Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  Result<int> poll(Sink& sink) override { return incoming_.poll(sink); }
  Result<int> poll_link(Link& link, Sink& sink) override { return incoming_.poll_link(link, sink); }
  bool is_flushed() const override { return true; }  // packets in a ring survive their sender
  const Counts& counts() const override {
    counts_.packets_received = incoming_.packets_received();
    return counts_;
  }
  ReceiveInPlace* receive_in_place() override { return &incoming_; }
  SendInPlace* send_in_place() override { return this; }
  StreamLimits* stream_limits() override { return this; }
  RemoteReads* remote_reads() override { return this; }
  CooperativeWrites* cooperative_writes() override { return this; }
  Sleeper* sleeper() override { return this; }

 private:
  // --- SendInPlace
  Result<Attempt> try_reserve(Link& link, ConstSpan header, std::size_t payload_bytes,
                              std::span<std::byte>& payload) override;
  void publish(Link& link) override;
  // --- StreamLimits
  /// Prefer packets that fit a cell: the cell pool is faster than the ring.
  std::size_t long_packet_bytes(const Link&) const override {
    return pool_.memory().cells() == 0 ? max_packet_ : std::min(max_packet_, kMaxPooledPacket);
  }
  StreamBudget stream_budget() override {
    const std::uint64_t all = pool_.capacity_bytes();
    return {all, all / std::max(area_.slot_count() - 1, 1u)};
  }
  // --- RemoteReads
  Result<Attempt> try_read(Link& link, std::uint64_t remote_address,
                           std::span<std::byte> into) override {
    return try_read_pieces(link, remote_address, {&into, 1});
  }
  Result<Attempt> try_read_pieces(Link& link, std::uint64_t remote_address,
                                  std::span<const std::span<std::byte>> into) override;
  // --- CooperativeWrites
  CooperativeCopy* cooperative_copy_from(Link& link) override;
  CooperativeCopy* cooperative_copy_to(Link& link) override;
  Result<Attempt> try_write(Link& link, std::uint64_t remote_address, ConstSpan bytes) override;
  // --- Sleeper
  void sleep(std::int64_t nanoseconds, const LastCheck&, std::span<const int> descriptors) override;
  bool may_wait_for_descriptors() override;
  int descriptor() const override { return -1; }

  Result<Attempt> unsupported_if_alive(const ShmLink& link, Result<Attempt> attempt) const;
  RingMemory ring_between(std::uint32_t from, std::uint32_t to) {
    return ring_memory(area_, settings_, from, to);
  }
  node::SlotMemory* slot_memory(std::uint32_t slot) { return &node::slot_memory(area_, slot); }
  Status back_ring_to(std::uint32_t slot);
  Status connect(ShmLink& link);
  Result<Attempt> check_send(ShmLink& link, std::size_t bytes);
  void on_sent(ShmLink& link, std::size_t bytes);
  Result<Attempt> refuse(ShmLink& link);

  SharedArea& area_;
  ShmSettings settings_;
  std::size_t max_packet_ = ring_max_packet(ring_capacity(settings_.ring_bytes));
  node::SlotMemory& own_;
  Probe probe_;
  std::vector<std::unique_ptr<ShmLink>> links_;  ///< by slot; null if not opened
  CellPool pool_{area_};
  std::optional<node::Doorbell> doorbell_;
  bool has_no_doorbell_ = false;  ///< creating one failed
  BounceBuffer bounce_;           ///< for indirect reads and writes of all peers
  IncomingRings incoming_;
  mutable Counts counts_;
};

Result<Link*> Shm::open(ConstSpan address) {
  ShmAddress wanted{};
  if (address.size() == sizeof wanted) std::memcpy(&wanted, address.data(), sizeof wanted);
  if (wanted.kind != ShmAddress::kKind || wanted.slot >= area_.slot_count())
    return Error(ErrorClass::arg, "invalid address of a process in the shared memory of this node");
  if (wanted.cookie != settings_.cookie)
    return Error(ErrorClass::arg, "the shared-memory address belongs to another job");
  auto& link = links_[wanted.slot];  // one writer per ring, however often it is opened
  if (!link) {
    SHIM_TRY(back_ring_to(wanted.slot));
    link = std::make_unique<ShmLink>(wanted.slot);
    ++counts_.links_opened;
  }
  return link.get();
}

/// Allocate the ring when the link is opened, so that any open link can send.
Status Shm::back_ring_to(std::uint32_t slot) {
  auto backed = area_.back_pair_to(slot);
  if (backed) return {};
  return std::move(backed).error().within("cannot allocate memory for messages to slot " +
                                          std::to_string(slot) + " of this node");
}

/// Connect at first contact; the link stays unconnected while the peer is not ready.
Status Shm::connect(ShmLink& link) {
  if (!area_.is_ready(link.slot)) return {};
  link.ring = RingWriter<>(ring_between(area_.own_slot(), link.slot), &pool_);
  link.peer = slot_memory(link.slot);
  link.peer->announce_sender(area_.own_slot());
  link.connected = true;
  ++counts_.links_used;
  return {};
}

/// Return again, because the ring is full or the peer is not ready. Check now and then whether the
/// peer is dead.
Result<Attempt> Shm::refuse(ShmLink& link) {
  ++counts_.sends_again;
  if (link.refusals++ == 0) link.checked_at = base::now_ns();
  if (link.refusals % kRefusalsBeforeClock == 0 &&
      base::now_ns() - link.checked_at > kAliveCheckNs) {
    link.checked_at = base::now_ns();
    if (!area_.is_alive(link.slot))
      return Error(ErrorClass::proc_aborted, "it exited while messages to it were queued");
  }
  return Attempt::again;
}

/// Check the packet's length, and connect the link. done: the packet may be sent if the ring has
/// space.
Result<Attempt> Shm::check_send(ShmLink& link, std::size_t bytes) {
  if (bytes > max_packet_)
    return Error(ErrorClass::intern,
                 "a packet is longer than the shared-memory transport's max_packet_bytes");
  SHIM_TRY(connect(link));
  return link.connected ? Attempt::done : refuse(link);
}

[[gnu::always_inline]] inline void Shm::on_sent(ShmLink& link, std::size_t bytes) {
  link.refusals = 0;
  node::wake_sleepers(link.peer->wake);
  ++counts_.packets_sent;
  counts_.bytes_sent += bytes;
}

Result<Attempt> Shm::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<ShmLink&>(to);
  const std::size_t bytes = header.size() + payload.size();
  if (!link.connected || bytes > max_packet_) [[unlikely]] {
    auto may = check_send(link, bytes);
    if (!may || *may != Attempt::done) return may;
  }
  if (!link.ring.write(header, payload)) [[unlikely]]
    return refuse(link);
  on_sent(link, bytes);
  return Attempt::done;
}

Result<Attempt> Shm::try_reserve(Link& to, ConstSpan header, std::size_t payload_bytes,
                                 std::span<std::byte>& payload) {
  auto& link = static_cast<ShmLink&>(to);
  const std::size_t bytes = header.size() + payload_bytes;
  if (!link.connected || bytes > max_packet_) {
    auto may = check_send(link, bytes);
    if (!may || *may != Attempt::done) return may;
  }
  const auto reservation = link.ring.reserve(bytes);
  if (!reservation) return refuse(link);
  if (!link.ring.may_be_made_in(*reservation, payload_bytes))
    return Attempt::unsupported;  // faster copied from this core's cache
  link.reserved = *reservation;
  base::copy_short(reservation->packet, header.data(), header.size());
  payload = {reservation->packet + header.size(), payload_bytes};
  return Attempt::done;
}

void Shm::publish(Link& to) {
  auto& link = static_cast<ShmLink&>(to);
  link.ring.publish(link.reserved);
  on_sent(link, link.reserved.bytes);
}

Result<Attempt> Shm::try_read_pieces(Link& from, std::uint64_t remote_address,
                                     std::span<const std::span<std::byte>> into) {
  auto& link = static_cast<ShmLink&>(from);
  if (!settings_.single_copy) return Attempt::unsupported;
  if (!area_.is_ready(link.slot))
    return Error(ErrorClass::proc_aborted, "it exited or finalized before its message was read");
  auto attempt = unsupported_if_alive(
      link, link.memory.read(area_.pid(link.slot), *slot_memory(link.slot), remote_address, into,
                             bounce_));
  if (attempt && *attempt == Attempt::done)
    for (const std::span<std::byte> piece : into) counts_.bytes_read += piece.size();
  return attempt;
}

/// Return unsupported if the process lives: its memory is inaccessible once its main thread has
/// ended, even if other threads run.
Result<Attempt> Shm::unsupported_if_alive(const ShmLink& link, Result<Attempt> attempt) const {
  const bool seems_dead = !attempt && attempt.error().error_class() == ErrorClass::proc_aborted;
  if (seems_dead && area_.is_alive(link.slot)) return Attempt::unsupported;
  return attempt;
}

Result<Attempt> Shm::try_write(Link& to, std::uint64_t remote_address, ConstSpan bytes) {
  auto& link = static_cast<ShmLink&>(to);
  if (!settings_.single_copy || !area_.is_ready(link.slot)) return Attempt::unsupported;
  return unsupported_if_alive(link, link.memory.write(area_.pid(link.slot), *slot_memory(link.slot),
                                                      remote_address, bytes, bounce_));
}

/// Return null without single_copy, and until this process has adopted the sender's ring, whose
/// memory is allocated by then.
CooperativeCopy* Shm::cooperative_copy_from(Link& link) {
  const std::uint32_t slot = static_cast<ShmLink&>(link).slot;
  return settings_.single_copy && incoming_.has_ring_of(slot)
             ? &ring_between(slot, area_.own_slot()).control().copies
             : nullptr;
}
/// The ring to the peer has memory since open().
CooperativeCopy* Shm::cooperative_copy_to(Link& link) {
  return settings_.single_copy
             ? &ring_between(area_.own_slot(), static_cast<ShmLink&>(link).slot).control().copies
             : nullptr;
}

bool Shm::may_wait_for_descriptors() {
  if (doorbell_ || has_no_doorbell_) return doorbell_.has_value();
  if (auto made = node::Doorbell::make()) doorbell_ = std::move(*made);
  has_no_doorbell_ = !doorbell_;
  // relaxed: a doorbell sleeper announces itself, and the announcement publishes this
  if (doorbell_) own_.wake.doorbell.store(doorbell_->name(), std::memory_order_relaxed);
  return doorbell_.has_value();
}

/// Runs outside the owner's lock, concurrently with polls and sends of other threads. Uses only
/// shared memory, and the doorbell, which is permanent once it has been returned. No process wakes
/// a sender that waits for space in a full ring: the owner, which has queued the packet, sleeps for
/// short times.
void Shm::sleep(std::int64_t nanoseconds, const LastCheck& last_check,
                std::span<const int> descriptors) {
  const std::int64_t timeout = std::min(nanoseconds, kShmMaxSleepNs);
  const bool at_doorbell = !descriptors.empty();
  std::uint32_t ticket = node::announce_sleep(own_.wake,
                                              at_doorbell ? node::kAtDoorbell : node::kOnFutex);
  // node::announce_sleep's seq_cst operation and has_unread's seq_cst loads together form the full
  // barrier.
  bool work = own_.visit_senders(area_.slot_count(), [&](std::uint32_t sender) {
    return has_unread(ring_between(sender, area_.own_slot()).control());
  });
  if (!work && !last_check()) {
    if (at_doorbell)
      doorbell_->wait(descriptors, timeout);
    else
      node::sleep_on(own_.wake, ticket, timeout);
  }
  if (at_doorbell) node::leave_doorbell(own_.wake);
}

}  // namespace

std::size_t shm_slot_bytes(std::uint32_t slot_count) { return node::SlotMemory::bytes(slot_count); }

std::size_t shm_pair_bytes(const ShmSettings& settings) { return settings.ring_bytes; }

Bytes shm_address(std::uint32_t slot, const ShmSettings& settings) {
  ShmAddress address{ShmAddress::kKind, slot, settings.cookie};
  Bytes bytes(sizeof address);
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

Result<std::unique_ptr<Transport>> make_shm(SharedArea& area, const ShmSettings& settings) {
  if (!std::has_single_bit(settings.ring_bytes) || settings.ring_bytes < kMinShmRing ||
      settings.ring_bytes > kMaxShmRing)
    return Error(ErrorClass::arg, "ring_bytes is " + std::to_string(settings.ring_bytes) +
                                      "; it must be a power of two, " +
                                      std::to_string(kMinShmRing) + " to " +
                                      std::to_string(kMaxShmRing));
  if (area.slot_bytes() < shm_slot_bytes(area.slot_count()) ||
      area.pair_bytes() < shm_pair_bytes(settings))
    return Error(ErrorClass::size,
                 "the shared memory of this node was created with other settings; use the same "
                 "settings on all processes");
  return std::unique_ptr<Transport>(std::make_unique<Shm>(area, settings));
}

}  // namespace shim::transport
