// SPDX-License-Identifier: BSD-3-Clause
// IncomingRings reads the rings of the processes that send to this one.
//
// An object of its own, not a base class of the transport: its virtual functions are called for
// each short message, and those of a second base class need an adjustment of `this`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/node/shared_area.hpp"
#include "shim/node/slot.hpp"
#include "shim/transport/receive_in_place.hpp"
#include "shim/transport/shm/link.hpp"
#include "shim/transport/shm/ring.hpp"
#include "shim/transport/shm/shm.hpp"

namespace shim::transport {

/// Return the rings between two processes, of which the first sends to the second.
inline RingMemory ring_memory(node::SharedArea& area, const ShmSettings& settings,
                              std::uint32_t from, std::uint32_t to) {
  return RingMemory(area.pair(from, to), shm_pair_bytes(settings),
                    from > to ? RingMemory::Near::end : RingMemory::Near::beginning);
}

class IncomingRings final : public ReceiveInPlace {
 public:
  IncomingRings(node::SharedArea& area, const ShmSettings& settings)
      : area_(area),
        settings_(settings),
        own_(node::slot_memory(area, area.own_slot())),
        ring_of_(area.slot_count(), kNoRing) {}

  int poll(Sink& sink);
  base::Result<int> poll_link(const Link& link, Sink& sink);
  /// Return the next packet; empty for a sender whose ring no poll has adopted yet.
  ConstSpan front(Link& link) override {
    const std::uint32_t ring = ring_of_[slot_of(link)];
    if (ring == kNoRing) [[unlikely]]
      return {};
    return rings_[ring].next().value_or(ConstSpan());
  }
  void drop_front(Link& link, ConstSpan packet) override {
    rings_[ring_of_[slot_of(link)]].release(packet);
    ++packets_received_;
  }

  /// True if this process has adopted the ring of the process at this slot.
  bool has_ring_of(std::uint32_t slot) const { return ring_of_[slot] != kNoRing; }
  std::uint64_t packets_received() const { return packets_received_; }

 private:
  /// Most packets delivered in one poll: from all senders, and from one sender.
  static constexpr int kPollBatch = 64, kRingBatch = 16;
  static constexpr std::uint32_t kNoRing = ~0u;

  static std::uint32_t slot_of(const Link& link) { return static_cast<const ShmLink&>(link).slot; }
  void check_for_senders();
  void adopt_senders();
  struct DrainResult {
    int packets;
    bool wants_more;  ///< the result of Sink::on_packet
  };
  static DrainResult drain(RingReader<>& ring, int most, Sink& sink);

  node::SharedArea& area_;
  const ShmSettings settings_;
  node::SlotMemory& own_;
  std::vector<RingReader<>> rings_;
  std::vector<std::uint32_t> ring_of_;  ///< by slot: index in rings_
  std::uint64_t sender_version_ = 0;
  std::size_t next_ring_ = 0;  ///< start of the next poll
  std::uint64_t packets_received_ = 0;
};

inline void IncomingRings::adopt_senders() {
  own_.visit_senders(area_.slot_count(), [&](std::uint32_t from) {
    if (has_ring_of(from)) return false;
    ring_of_[from] = static_cast<std::uint32_t>(rings_.size());
    rings_.emplace_back(ring_memory(area_, settings_, from, area_.own_slot()),
                        CellPoolMemory{area_.cell_pool(from), area_.cell_pool_bytes()});
    return false;
  });
}

inline IncomingRings::DrainResult IncomingRings::drain(RingReader<>& ring, int most, Sink& sink) {
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

inline void IncomingRings::check_for_senders() {
  // acquire: pairs with the release in announce_sender. The line moves only when a new sender
  // appears.
  std::uint64_t version = own_.sender_version.load(std::memory_order_acquire);
  if (version == sender_version_) [[likely]]
    return;
  sender_version_ = version;
  adopt_senders();
}

inline int IncomingRings::poll(Sink& sink) {
  check_for_senders();
  int count = 0;
  bool wants_more = true;
  for (std::size_t visited = 0; visited < rings_.size() && count < kPollBatch && wants_more;
       ++visited) {
    if (next_ring_ >= rings_.size()) next_ring_ = 0;
    const DrainResult drained = drain(rings_[next_ring_++],
                                      std::min(kRingBatch, kPollBatch - count), sink);
    count += drained.packets;
    wants_more = drained.wants_more;
  }
  packets_received_ += static_cast<std::uint64_t>(count);
  return count;
}

inline base::Result<int> IncomingRings::poll_link(const Link& link, Sink& sink) {
  check_for_senders();
  const std::uint32_t ring = ring_of_[slot_of(link)];
  if (ring == kNoRing) return 0;
  const int count = drain(rings_[ring], kRingBatch, sink).packets;
  packets_received_ += static_cast<std::uint64_t>(count);
  return count;
}

}  // namespace shim::transport
