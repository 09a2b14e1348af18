// SPDX-License-Identifier: BSD-3-Clause
// A ring carries packets from one sender to one receiver in shared memory.
//
// A record is a ready word and the packet. A packet of up to 28 bytes takes half a cache line, so
// that two records move between the cores as one line; all others take whole lines, up to 56 bytes
// a single one. The receiver polls the ready word at its position; the sender writes the packet and
// then the ready word. Before the sender publishes a record, it zeroes the ready word that follows
// the record, so bytes of an earlier lap never look like a record. Records are contiguous; a pad
// fills the second half of a line, or the end of the ring, if a record does not fit there.
// Positions count bytes and never wrap. RingMemory::offset_of converts a position to an offset in
// the ring, modulo the capacity. The record of a long packet may hold only the number of its cell
// in the sender's cell pool (cell_pool.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/base/copy_between_cores.hpp"
#include "shim/transport/cooperative_copy.hpp"
#include "shim/transport/shm/access.hpp"
#include "shim/transport/shm/cell_pool.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

inline constexpr std::size_t kHalfLine = base::kCacheLine / 2;

/// The first lines of a pair block; zero-initialized.
struct RingControl {
  /// Position of the sender's next record. Written by the sender with every record; read by it when
  /// it re-attaches, and by a receiver that is about to sleep.
  alignas(base::kCacheLine) std::uint64_t tail;
  /// Position of the receiver's next record. Written by the receiver with every record; read by it
  /// when it re-attaches.
  alignas(base::kCacheLine) std::uint64_t head;
  /// The head as published to the sender, only now and then so that this line seldom moves.
  alignas(base::kCacheLine) std::uint64_t consumed;
  /// For long messages of the sender to the receiver.
  alignas(base::kCacheLine) CooperativeCopy copies;
};
static_assert(sizeof(RingControl) == 4 * base::kCacheLine);

/// The ready word; 0 if there is no record yet.
struct RecordWord {
  static constexpr std::uint32_t kReady = 1u << 31;
  /// Empty record; the next one begins this many bytes further.
  static constexpr std::uint32_t kPad = 1u << 30;
  /// The record holds the number of the packet's cell; its size does not depend on the packet's.
  static constexpr std::uint32_t kInCell = 1u << 29;
  static std::uint32_t packet(std::size_t bytes) {
    return kReady | static_cast<std::uint32_t>(bytes);
  }
  static std::uint32_t pad(std::size_t bytes) {
    return kReady | kPad | static_cast<std::uint32_t>(bytes);
  }
  static bool is_pad(std::uint32_t word) { return (word & kPad) != 0; }
  static bool is_packet_here(std::uint32_t word) { return (word & (kPad | kInCell)) == 0; }
  static std::size_t bytes(std::uint32_t word) { return word & (kInCell - 1); }
};
inline constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
inline constexpr std::size_t kCellNumberBytes = sizeof(std::uint32_t);
inline constexpr std::size_t kMaxInHalf = kHalfLine - kWordBytes;
/// In front of a packet in whole lines: the ready word and padding of equal size, so that a header
/// of whole 8-byte words is aligned.
inline constexpr std::size_t kFrontBytes = 2 * kWordBytes;
inline constexpr std::size_t kMaxInLine = base::kCacheLine - kFrontBytes;

/// Return the ring's bytes in a pair block of this size.
constexpr std::size_t ring_capacity(std::size_t pair_bytes) {
  return pair_bytes - sizeof(RingControl);
}
constexpr bool is_for_half(std::size_t packet_bytes) { return packet_bytes <= kMaxInHalf; }
constexpr std::size_t record_bytes(std::size_t packet_bytes) {
  return is_for_half(packet_bytes) ? kHalfLine
                                   : (kFrontBytes + packet_bytes + base::kCacheLine - 1) /
                                         base::kCacheLine * base::kCacheLine;
}
/// Offset of the packet in its record.
constexpr std::size_t packet_offset(std::size_t packet_bytes) {
  return is_for_half(packet_bytes) ? kWordBytes : kFrontBytes;
}
/// A quarter of the ring: then a record, the pad before it, the line after it, and bytes that the
/// receiver has not yet released always fit.
constexpr std::size_t ring_max_packet(std::size_t capacity) {
  return capacity / 4 / base::kCacheLine * base::kCacheLine - kFrontBytes;
}

/// The control words and the ring in a pair block.
class RingMemory {
 public:
  /// Side of this block that borders on the opposite direction's block. It holds the control words
  /// and the first records, so that two processes that exchange little data use only one page.
  enum class Near : std::uint8_t { beginning, end };

  RingMemory() = default;
  RingMemory(std::byte* block, std::size_t pair_bytes, Near near = Near::beginning)
      : capacity_(ring_capacity(pair_bytes)) {
    const bool at_end = near == Near::end;
    control_ = reinterpret_cast<RingControl*>(at_end ? block + capacity_ : block);
    lines_ = at_end ? block : block + sizeof(RingControl);
  }

  RingControl& control() const { return *control_; }
  std::size_t capacity() const { return capacity_; }
  /// Return the offset in the ring of a position. Position 0 has offset 0; if the control words are
  /// at the block's end, it is kNearBytes before the end of a ring that is longer.
  std::size_t offset_of(std::uint64_t position) const {
    const bool at_end = lines_ < reinterpret_cast<std::byte*>(control_);
    return (position + (at_end && capacity_ > kNearBytes ? capacity_ - kNearBytes : 0)) % capacity_;
  }
  /// Advance an offset by at most one lap, modulo the capacity.
  std::size_t further(std::size_t offset, std::size_t bytes) const {
    const std::size_t later = offset + bytes;
    return later < capacity_ ? later : later - capacity_;
  }
  std::byte* at(std::size_t offset) const { return lines_ + offset; }
  /// True if this position is after the space of the first records.
  bool is_beyond_near(std::uint64_t position) const { return position >= kNearBytes; }
  std::uint32_t& word_at(std::size_t offset) const {
    return *reinterpret_cast<std::uint32_t*>(lines_ + offset);
  }

 private:
  /// Space of the first records: with the control words, half a page.
  static constexpr std::size_t kNearBytes = 2048 - sizeof(RingControl);

  RingControl* control_ = nullptr;
  std::byte* lines_ = nullptr;
  std::size_t capacity_ = 0;
};

/// The sender's end. One per ring and process; the memory must be backed.
template <typename Access = DirectAccess>
class RingWriter {
 public:
  RingWriter() = default;
  /// @param pool the sender's, for long packets; null: all packets go through the ring
  explicit RingWriter(RingMemory memory, CellPool* pool = nullptr)
      : memory_(memory),
        pool_(pool),
        tail_(Access::load(memory.control().tail,
                           // Last stored by this slot.
                           std::memory_order_relaxed)),
        offset_(memory.offset_of(tail_)),
        consumed_(tail_),
        zeroed_(tail_) {  // no ready word after the tail is known to be zero
    refresh();            // loads consumed_
  }

  /// Space for a packet of at most ring_max_packet bytes.
  struct Reservation {
    std::byte* packet = nullptr;
    std::size_t bytes = 0;
    std::size_t pad = 0;                ///< in front of its record
    std::optional<std::uint32_t> cell;  ///< set if the packet is in the cell pool
  };
  /// Find space for a packet; nullopt if there is none. Valid until the next write; the caller then
  /// writes the packet there and publishes it.
  std::optional<Reservation> reserve(std::size_t bytes) {
    if (pool_ == nullptr || !fits_cell(bytes)) return reserve_in_ring(bytes);
    auto reservation = reserve_in_ring(kCellNumberBytes);
    if (!reservation) return reservation;
    reservation->cell = pool_->acquire<Access>(partition_);
    if (!reservation->cell) return reserve_in_ring(bytes);
    reservation->packet = pool_->memory().cell(*reservation->cell).packet();
    reservation->bytes = bytes;
    return reservation;
  }
  std::optional<Reservation> reserve_in_ring(std::size_t bytes) {
    const std::size_t record = record_bytes(bytes), pad = pad_before(record);
    if (!has_space(pad + record + base::kCacheLine)) return std::nullopt;
    return Reservation{memory_.at(memory_.further(offset_, pad)) + packet_offset(bytes), bytes,
                       pad};
  }
  /// True if producing a payload in place is as fast as copying it there.
  bool may_be_made_in(const Reservation& reservation, std::size_t payload_bytes) {
    return copy_for(reservation).may_produce_in_place(payload_bytes);
  }
  /// Publish a packet that has been written completely: store its ready word, and zero ready words
  /// after it if the writer has used up the zeroed ones.
  void publish(const Reservation& reservation) {
    const std::size_t record = record_bytes(reservation.cell ? kCellNumberBytes
                                                             : reservation.bytes);
    const std::size_t begin = memory_.further(offset_, reservation.pad),
                      next = memory_.further(begin, record);
    const std::uint32_t word = RecordWord::packet(reservation.bytes) |
                               (reservation.cell ? RecordWord::kInCell : 0);
    const std::uint64_t end = tail_ + reservation.pad + record;
    // relaxed: the release below publishes it together with the packet
    if (zeroed_ < end) Access::store(memory_.word_at(next), 0u, std::memory_order_relaxed);
    if (reservation.cell) {
      pool_->publish<Access>(partition_, *reservation.cell);
      Access::store(memory_.word_at(begin + kWordBytes), *reservation.cell,
                    std::memory_order_relaxed);
    }
    if (reservation.pad != 0) {
      // The receiver reaches the record only through the pad, so the pad's release publishes both.
      Access::store(memory_.word_at(begin), word, std::memory_order_relaxed);
      // release: pairs with the acquire in RingReader::next
      Access::store(memory_.word_at(offset_), RecordWord::pad(reservation.pad),
                    std::memory_order_release);
    } else {
      // release: pairs with the acquire in RingReader::next
      Access::store(memory_.word_at(begin), word, std::memory_order_release);
    }
    move_on(end, next);
    // After a record that may use non-temporal stores zero one line only: these stores are faster
    // to lines that have not been touched.
    if (zeroed_ <= end) zero_ahead(record < base::CopyForOtherCore::kMinBytes ? kLinesAhead : 1);
  }

  /// Write one packet of at most ring_max_packet bytes in total; false if there is no space.
  bool write(ConstSpan header, ConstSpan payload) {
    const std::size_t bytes = header.size() + payload.size();
    if (is_for_half(bytes) && zeroed_ > tail_) [[likely]]
      return write_half(header, payload), true;
    if (bytes <= kMaxInLine && zeroed_ > tail_ + kHalfLine && offset_ % base::kCacheLine == 0)
        [[likely]]
      return write_line(header, payload), true;
    return write_lines(header, payload);
  }

 private:
  /// Cache lines that zero_ahead acquires from the receiver's cache at once: the misses of these
  /// stores overlap, while the store of each single message would wait for its own miss.
  /// (prefetchw has no effect on a line that the other core shares.)
  static constexpr std::size_t kLinesAhead = 8;

  // Common case: packets of half a line or one line, followed by free space with a zero ready word.

  void write_half(ConstSpan header, ConstSpan payload) {
    std::byte* packet = memory_.at(offset_) + kWordBytes;
    Access::copy_beside_word(packet, header);
    Access::copy_in(packet + header.size(), payload);
    publish_zeroed(header.size() + payload.size(), kHalfLine);
  }
  void write_line(ConstSpan header, ConstSpan payload) {
    std::byte* packet = memory_.at(offset_) + kFrontBytes;
    Access::copy_in(packet, header);
    Access::copy_in(packet + header.size(), payload);
    publish_zeroed(header.size() + payload.size(), base::kCacheLine);
  }
  void publish_zeroed(std::size_t packet_bytes, std::size_t record) {
    // release: pairs with the acquire in RingReader::next
    Access::store(memory_.word_at(offset_), RecordWord::packet(packet_bytes),
                  std::memory_order_release);
    move_on(tail_ + record, memory_.further(offset_, record));
    if (zeroed_ == tail_) [[unlikely]]
      zero_ahead(kLinesAhead);
  }

  bool write_lines(ConstSpan header, ConstSpan payload) {
    const auto reservation = reserve(header.size() + payload.size());
    if (!reservation) return false;
    Access::copy_in(reservation->packet, header);
    Access::copy_in(reservation->packet + header.size(), payload, copy_for(*reservation));
    publish(*reservation);
    return true;
  }

  base::CopyForOtherCore& copy_for(const Reservation& reservation) {
    return reservation.cell ? copy_to_cell_ : copy_;
  }

  void move_on(std::uint64_t tail, std::size_t offset) {
    tail_ = tail;
    offset_ = offset;
    // relaxed: read by this process when it re-attaches, and as a hint by has_unread
    Access::store(memory_.control().tail, tail, std::memory_order_relaxed);
  }

  /// Return the pad in front of a record: records longer than half a line begin with a line.
  std::size_t pad_before(std::size_t record) const {
    const std::size_t to_end = memory_.capacity() - offset_;
    if (to_end < record) return to_end;
    return record > kHalfLine ? to_end % base::kCacheLine : 0;
  }
  bool has_space(std::size_t wanted) {
    if (free_bytes() >= wanted) return true;
    refresh();
    return free_bytes() >= wanted;
  }
  std::size_t free_bytes() const {
    return memory_.capacity() - static_cast<std::size_t>(tail_ - consumed_);
  }
  void refresh() {
    // acquire: pairs with the release in RingReader::advance; packets that were read may be
    // overwritten
    consumed_ = Access::load(memory_.control().consumed, std::memory_order_acquire);
  }
  /// Zero the ready words of both halves of the next lines, as far as space is free. The sends of
  /// the next small packets then wait neither for these stores nor for the transfers of the lines.
  void zero_ahead(std::size_t lines) {
    if (!has_prefaulted_ && memory_.is_beyond_near(tail_ + (lines + 1) * base::kCacheLine))
        [[unlikely]]
      prefault_pages();
    const std::size_t free_halves = free_bytes() / kHalfLine;
    if (free_halves < 2) return;
    const std::size_t zeros = std::min(2 * lines, free_halves - 1) * kHalfLine;
    for (std::size_t at = kHalfLine; at <= zeros; at += kHalfLine)
      Access::store(memory_.word_at(memory_.further(offset_, at)), 0u, std::memory_order_relaxed);
    zeroed_ = tail_ + zeros;
  }

  /// A pair that exchanges little data stays within the page shared by both directions. For busier
  /// pairs, prefault the ring now so that no message takes a page fault.
  void prefault_pages() {
    has_prefaulted_ = true;
    Access::prefault_pages(memory_.at(0), memory_.capacity());
  }

  RingMemory memory_;
  CellPool* pool_ = nullptr;
  CellPartition partition_;  ///< this receiver's
  std::uint64_t tail_ = 0;
  std::size_t offset_ = 0;
  std::uint64_t consumed_ = 0;  ///< as last read
  /// The ready words from the tail to this position, inclusive, are zero, and the space up to it is
  /// free.
  std::uint64_t zeroed_ = 0;
  bool has_prefaulted_ = false;
  base::CopyForOtherCore copy_, copy_to_cell_;
};

/// The receiver's end. One per ring and process; the memory must be backed.
template <typename Access = DirectAccess>
class RingReader {
 public:
  RingReader() = default;
  /// @param pool the sender's
  explicit RingReader(RingMemory memory, CellPoolMemory pool = {})
      : memory_(memory),
        pool_(pool),
        head_(Access::load(memory.control().head,
                           // Last stored by this slot.
                           std::memory_order_relaxed)),
        offset_(memory.offset_of(head_)),
        published_(Access::load(memory.control().consumed, std::memory_order_relaxed)) {}

  /// Return the next packet in place, valid until release; nullopt if none has arrived.
  std::optional<ConstSpan> next() {
    for (;;) {
      // acquire: pairs with the releases in RingWriter::publish and publish_zeroed
      const std::uint32_t word = Access::load(memory_.word_at(offset_), std::memory_order_acquire);
      if (word == 0) [[likely]]
        return std::nullopt;
      if (RecordWord::is_packet_here(word)) [[likely]]
        return packet_here(RecordWord::bytes(word));
      if (!RecordWord::is_pad(word)) return ConstSpan(packet_in_cell(), RecordWord::bytes(word));
      advance(RecordWord::bytes(word));
    }
  }

  // Packets read one after the other form a batch. Once a batch has had several, each batch begins
  // by reading the sender's tail: the reader prefetches the lines up to it, and the batch ends
  // there. A reader that polls a line while the sender writes it takes the line from the sender,
  // and a reader that loads each line on demand waits for each
  // (docs/decisions/0042-ring-records.md).

  /// Return the next packet as the first of a batch.
  std::optional<ConstSpan> first() {
    const auto packet = next();
    if (packet && is_stream()) {
      // relaxed: a hint. It may be older than the packet, which then is the only one of its batch.
      end_ = Access::load(memory_.control().tail, std::memory_order_relaxed);
      prefetched_ = head_;
      prefetch_ahead();
    }
    return packet;
  }
  /// Return the next packet of this batch; nullopt if the batch has ended or no packet has arrived.
  std::optional<ConstSpan> next_in_batch() {
    if (!is_stream()) return next();
    if (head_ >= end_) return std::nullopt;
    prefetch_ahead();
    return next();
  }
  void end_batch(std::uint64_t packets) {
    max_batch_ = packets == 0 ? 0 : std::max(max_batch_, packets);
  }

  /// Release the packet returned by next().
  void release(ConstSpan packet) {
    const bool is_in_cell = fits_cell(packet.size()) && pool_.contains(packet.data());
    advance(record_bytes(is_in_cell ? kCellNumberBytes : packet.size()));
    // After the advance, so that a later incarnation in this slot does not read the cell again.
    if (is_in_cell) pool_.release_cell_of<Access>(packet.data());
  }

 private:
  ConstSpan packet_here(std::size_t bytes) const {
    return {memory_.at(offset_) + packet_offset(bytes), bytes};
  }
  const std::byte* packet_in_cell() {
    return pool_
        .cell(Access::load(memory_.word_at(offset_ + kWordBytes), std::memory_order_relaxed))
        .packet();
  }
  void advance(std::size_t bytes) {
    head_ += bytes;
    offset_ = memory_.further(offset_, bytes);
    // relaxed: read by this process when it re-attaches, and as a hint by has_unread
    Access::store(memory_.control().head, head_, std::memory_order_relaxed);
    if (head_ - published_ < memory_.capacity() / 4) return;
    published_ = head_;
    // release: pairs with the acquire in RingWriter::refresh; this process has finished reading
    Access::store(memory_.control().consumed, head_, std::memory_order_release);
  }

  /// Prefetch distance in bytes: 8 lines, about as many as a core can fetch from another core at a
  /// time.
  static constexpr std::uint64_t kPrefetchBytes = 8 * base::kCacheLine;

  bool is_stream() const { return max_batch_ > 1; }
  void prefetch_ahead() {
    prefetched_ = std::max(prefetched_,
                           head_ / base::kCacheLine * base::kCacheLine + base::kCacheLine);
    for (const std::uint64_t end = std::min(end_, head_ + kPrefetchBytes); prefetched_ < end;
         prefetched_ += base::kCacheLine)
      Access::expect_read(
          memory_.at(memory_.further(offset_, static_cast<std::size_t>(prefetched_ - head_))));
  }

  RingMemory memory_;
  CellPoolMemory pool_;
  std::uint64_t head_ = 0;
  std::size_t offset_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t max_batch_ = 0;   ///< most packets of a batch since an empty one
  std::uint64_t end_ = 0;         ///< of the batch, if is_stream()
  std::uint64_t prefetched_ = 0;  ///< lines up to here are prefetched
};

/// True if the sender has written records that the receiver has not read. Called by a thread of the
/// receiver that has just announced its sleep.
inline bool has_unread(RingControl& control) {
  // seq_cst: not before the announcement (see node::announce_sleep)
  return DirectAccess::load(control.tail, std::memory_order_seq_cst) !=
         DirectAccess::load(control.head, std::memory_order_seq_cst);
}

}  // namespace shim::transport
