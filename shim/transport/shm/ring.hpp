// SPDX-License-Identifier: BSD-3-Clause
// The ring between one sender and one receiver: how bytes lie in the pair block, and the two ends that move them.
//
// A record is a ready word and the packet. With a packet of up to 28 bytes it is half a cache line, so that two of them move between
// the two cores as one; all others are whole lines, and of up to 56 bytes a single one. The receiver looks at the ready word where the next
// record will begin, the sender writes the packet behind it and then the word. Before the sender publishes a record, the ready word behind it
// is zero, so bytes of an earlier lap never look like a record. Records are contiguous; a pad fills the second half of a line, and the end of
// the ring, where one does not fit. Positions count bytes for ever; the place in the ring is the position, from where the first record begins, modulo the capacity.
// Of a long packet the record may be but the number of the cell in which it lies in the sender's depot (depot.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/base/copy_between_cores.hpp"
#include "shim/transport/copy_board.hpp"
#include "shim/transport/shm/access.hpp"
#include "shim/transport/shm/depot.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kHalfLine = kLine / 2;

/// The first lines of a pair block. All zero is the state of a ring that nobody has used.
struct RingControl {
  /// Where the sender's next record begins. Written by the sender at every record; read by it when it attaches again, and by a
  /// receiver that is about to sleep.
  alignas(kLine) std::uint64_t tail;
  /// Where the receiver looks next. Written by the receiver at every record; read by it when it attaches again.
  alignas(kLine) std::uint64_t head;
  /// The head as the sender may know it; published now and then, so that this line seldom moves.
  alignas(kLine) std::uint64_t consumed;
  /// For long messages of the sender to the receiver.
  alignas(kLine) CopyBoard copies;
};
static_assert(sizeof(RingControl) == 4 * kLine);

/// The ready word: 0 where there is no record yet.
struct RecordWord {
  static constexpr std::uint32_t kReady = 1u << 31;
  static constexpr std::uint32_t kPad = 1u << 30;  ///< nothing inside; the next record begins so many bytes further
  static constexpr std::uint32_t kInDepot = 1u << 29;  ///< inside is the number of the packet's cell, whatever its length
  static std::uint32_t packet(std::size_t bytes) { return kReady | static_cast<std::uint32_t>(bytes); }
  static std::uint32_t pad(std::size_t bytes) { return kReady | kPad | static_cast<std::uint32_t>(bytes); }
  static bool is_pad(std::uint32_t word) { return (word & kPad) != 0; }
  static bool is_packet_here(std::uint32_t word) { return (word & (kPad | kInDepot)) == 0; }
  static std::size_t bytes(std::uint32_t word) { return word & (kInDepot - 1); }
};
inline constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
inline constexpr std::size_t kCellNumberBytes = sizeof(std::uint32_t);
inline constexpr std::size_t kLongestInHalf = kHalfLine - kWordBytes;
/// In front of a packet in whole lines: the ready word, and as much again, so that a header of whole words lies on words.
inline constexpr std::size_t kFrontBytes = 2 * kWordBytes;
inline constexpr std::size_t kLongestInLine = kLine - kFrontBytes;

/// Bytes of the ring itself in a pair block of this size.
constexpr std::size_t ring_capacity(std::size_t pair_bytes) { return pair_bytes - sizeof(RingControl); }
constexpr bool is_for_half(std::size_t packet_bytes) { return packet_bytes <= kLongestInHalf; }
constexpr std::size_t record_bytes(std::size_t packet_bytes) {
  return is_for_half(packet_bytes) ? kHalfLine : (kFrontBytes + packet_bytes + kLine - 1) / kLine * kLine;
}
/// From the record's beginning.
constexpr std::size_t packet_offset(std::size_t packet_bytes) { return is_for_half(packet_bytes) ? kWordBytes : kFrontBytes; }
/// A quarter: then a record, the pad before it, the line after it, and what the receiver has not published yet always fit.
constexpr std::size_t ring_max_packet(std::size_t capacity) { return capacity / 4 / kLine * kLine - kFrontBytes; }

/// A pair block, seen by one of its ends.
class RingMemory {
 public:
  /// Which of its ends the block has near the block of the other direction. There its control words are, and there its first records
  /// are, so that two processes that have said little to each other share one page.
  enum class Near : std::uint8_t { beginning, end };

  RingMemory() = default;
  RingMemory(std::byte* block, std::size_t pair_bytes, Near near = Near::beginning) : capacity_(ring_capacity(pair_bytes)) {
    const bool at_end = near == Near::end;
    control_ = reinterpret_cast<RingControl*>(at_end ? block + capacity_ : block);
    lines_ = at_end ? block : block + sizeof(RingControl);
  }

  RingControl& control() const { return *control_; }
  std::size_t capacity() const { return capacity_; }
  /// Where in the ring a position is.
  std::size_t offset_of(std::uint64_t position) const {
    const bool at_end = lines_ < reinterpret_cast<std::byte*>(control_);
    return (position + (at_end && capacity_ > kNearBytes ? capacity_ - kNearBytes : 0)) % capacity_;
  }
  /// So many bytes after an offset, round the end of the ring. At most a lap.
  std::size_t further(std::size_t offset, std::size_t bytes) const {
    const std::size_t later = offset + bytes;
    return later < capacity_ ? later : later - capacity_;
  }
  std::byte* at(std::size_t offset) const { return lines_ + offset; }
  /// Is this position beyond the records that come first?
  bool is_beyond_near(std::uint64_t position) const { return position >= kNearBytes; }
  std::uint32_t& word_at(std::size_t offset) const { return *reinterpret_cast<std::uint32_t*>(lines_ + offset); }

 private:
  /// Of the records that come first: with the control words, half a page.
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
  /// @param depot the sender's, for long packets; none: they all go through the ring
  explicit RingWriter(RingMemory memory, Depot* depot = nullptr)
      : memory_(memory),
        depot_(depot),
        tail_(Access::load(memory.control().tail, std::memory_order_relaxed)),  // what this very slot stored last
        offset_(memory.offset_of(tail_)),
        consumed_(tail_),  // unknown: with nothing published behind the tail the first write asks
        zeroed_(tail_) {
    refresh();
  }

  /// Where a packet can be written, of at most ring_max_packet bytes.
  struct Room {
    std::byte* packet = nullptr;
    std::size_t bytes = 0;
    std::size_t pad = 0;  ///< in front of its record
    std::optional<std::uint32_t> cell;  ///< of the depot, where it is there
  };
  /// Nothing where there is none. It counts until the next write; what it was found for is to be written there, and published.
  std::optional<Room> find_room(std::size_t bytes) {
    if (depot_ == nullptr || !is_for_depot(bytes)) return find_room_in_ring(bytes);
    auto room = find_room_in_ring(kCellNumberBytes);
    if (!room) return room;
    room->cell = depot_->find_empty<Access>(window_);
    if (!room->cell) return find_room_in_ring(bytes);
    room->packet = depot_->memory().cell(*room->cell).packet();
    room->bytes = bytes;
    return room;
  }
  std::optional<Room> find_room_in_ring(std::size_t bytes) {
    const std::size_t record = record_bytes(bytes), pad = pad_before(record);
    if (!has_room(pad + record + kLine)) return std::nullopt;
    return Room{memory_.at(memory_.further(offset_, pad)) + packet_offset(bytes), bytes, pad};
  }
  /// Is it as good to make a payload in its place as to have it copied there?
  bool may_be_made_in(const Room& room, std::size_t payload_bytes) { return copy_for(room).may_be_made_there(payload_bytes); }
  /// The packet is there as a whole.
  void publish(const Room& room) {
    const std::size_t record = record_bytes(room.cell ? kCellNumberBytes : room.bytes);
    const std::size_t begin = memory_.further(offset_, room.pad), next = memory_.further(begin, record);
    const std::uint32_t word = RecordWord::packet(room.bytes) | (room.cell ? RecordWord::kInDepot : 0);
    const std::uint64_t end = tail_ + room.pad + record;
    // relaxed: the release below carries it, as it carries the packet
    if (zeroed_ < end) Access::store(memory_.word_at(next), 0u, std::memory_order_relaxed);
    if (room.cell) {
      depot_->hand_over<Access>(window_, *room.cell);
      Access::store(memory_.word_at(begin + kWordBytes), *room.cell, std::memory_order_relaxed);
    }
    if (room.pad != 0) {
      // The receiver comes to the record only over the pad, so the pad's release carries both.
      Access::store(memory_.word_at(begin), word, std::memory_order_relaxed);
      // release: pairs with the acquire in RingReader::next
      Access::store(memory_.word_at(offset_), RecordWord::pad(room.pad), std::memory_order_release);
    } else {
      // release: pairs with the acquire in RingReader::next
      Access::store(memory_.word_at(begin), word, std::memory_order_release);
    }
    move_on(end, next);
    // what may be stored past the caches finds its lines better left where they are
    if (zeroed_ <= end) zero_ahead(record < base::CopyForOtherCore::kLeast ? kLinesAhead : 1);
  }

  /// Writes one packet; false where there is no room. Header and payload together at most ring_max_packet.
  bool write(ConstSpan header, ConstSpan payload) {
    const std::size_t bytes = header.size() + payload.size();
    if (is_for_half(bytes) && zeroed_ > tail_) [[likely]] return write_half(header, payload), true;
    if (bytes <= kLongestInLine && zeroed_ > tail_ + kHalfLine && offset_ % kLine == 0) [[likely]] return write_line(header, payload), true;
    return write_lines(header, payload);
  }

 private:
  /// Lines that are taken from the receiver at once, which has the last lap's. Stores that wait at the same time wait together; of those of
  /// messages each would wait by itself. (Asking for a line to be written, by prefetchw, does nothing where the other core has it as well.)
  static constexpr std::size_t kLinesAhead = 8;

  // Packets of half a line and of one, with room behind them and the ready word there zero: what most are.

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
    publish_zeroed(header.size() + payload.size(), kLine);
  }
  void publish_zeroed(std::size_t packet_bytes, std::size_t record) {
    // release: pairs with the acquire in RingReader::next
    Access::store(memory_.word_at(offset_), RecordWord::packet(packet_bytes), std::memory_order_release);
    move_on(tail_ + record, memory_.further(offset_, record));
    if (zeroed_ == tail_) [[unlikely]] zero_ahead(kLinesAhead);
  }

  bool write_lines(ConstSpan header, ConstSpan payload) {
    const auto room = find_room(header.size() + payload.size());
    if (!room) return false;
    Access::copy_in(room->packet, header);
    Access::copy_in(room->packet + header.size(), payload, copy_for(*room));
    publish(*room);
    return true;
  }

  base::CopyForOtherCore& copy_for(const Room& room) { return room.cell ? copy_to_depot_ : copy_; }

  void move_on(std::uint64_t tail, std::size_t offset) {
    tail_ = tail;
    offset_ = offset;
    // relaxed: read by this process when it attaches again, and as a hint by has_unread
    Access::store(memory_.control().tail, tail, std::memory_order_relaxed);
  }

  /// What is longer than half a line begins with a line.
  std::size_t pad_before(std::size_t record) const {
    const std::size_t to_end = memory_.capacity() - offset_;
    if (to_end < record) return to_end;
    return record > kHalfLine ? to_end % kLine : 0;
  }
  bool has_room(std::size_t wanted) {
    if (free_bytes() >= wanted) return true;
    refresh();
    return free_bytes() >= wanted;
  }
  std::size_t free_bytes() const { return memory_.capacity() - static_cast<std::size_t>(tail_ - consumed_); }
  void refresh() {
    // acquire: pairs with the release in RingReader::release; what the receiver has read may be overwritten
    consumed_ = Access::load(memory_.control().consumed, std::memory_order_acquire);
  }
  /// If the next packets are small ones, the ready words behind them will be in the next lines, in either half. Zeroing them now, as far as there is
  /// room, takes the lines' transfers off the way of these packets.
  void zero_ahead(std::size_t lines) {
    if (!has_met_pages_ && memory_.is_beyond_near(tail_ + (lines + 1) * kLine)) [[unlikely]] meet_pages();
    const std::size_t free_halves = free_bytes() / kHalfLine;
    if (free_halves < 2) return;
    const std::size_t zeros = std::min(2 * lines, free_halves - 1) * kHalfLine;
    for (std::size_t at = kHalfLine; at <= zeros; at += kHalfLine)
      Access::store(memory_.word_at(memory_.further(offset_, at)), 0u, std::memory_order_relaxed);
    zeroed_ = tail_ + zeros;
  }

  /// Who says little stays in the page that both directions share. Of who says more, each page would be met in the midst of messages.
  void meet_pages() {
    has_met_pages_ = true;
    Access::meet_pages(memory_.at(0), memory_.capacity());
  }

  RingMemory memory_;
  Depot* depot_ = nullptr;
  DepotWindow window_;  ///< of it
  std::uint64_t tail_ = 0;
  std::size_t offset_ = 0;
  std::uint64_t consumed_ = 0;  ///< as last seen
  std::uint64_t zeroed_ = 0;    ///< ready words from the tail up to this position are zero already, and there is room up to it
  bool has_met_pages_ = false;
  base::CopyForOtherCore copy_, copy_to_depot_;
};

/// The receiver's end. One per ring and process; the memory must be backed.
template <typename Access = DirectAccess>
class RingReader {
 public:
  RingReader() = default;
  /// @param depot the sender's
  explicit RingReader(RingMemory memory, DepotMemory depot = {})
      : memory_(memory),
        depot_(depot),
        head_(Access::load(memory.control().head, std::memory_order_relaxed)),  // what this very slot stored last
        offset_(memory.offset_of(head_)),
        published_(Access::load(memory.control().consumed, std::memory_order_relaxed)) {}

  /// The next packet, where it lies; valid until release. Nothing where none has come.
  std::optional<ConstSpan> next() {
    for (;;) {
      // acquire: pairs with the releases in RingWriter::write
      const std::uint32_t word = Access::load(memory_.word_at(offset_), std::memory_order_acquire);
      if (word == 0) [[likely]] return std::nullopt;
      if (RecordWord::is_packet_here(word)) [[likely]] return packet_here(RecordWord::bytes(word));
      if (!RecordWord::is_pad(word)) return ConstSpan(packet_in_depot(), RecordWord::bytes(word));
      advance(RecordWord::bytes(word));
    }
  }

  // Packets taken one after the other are a batch. Once one has brought several, the sender's tail is read at the beginning of each: the
  // lines up to it are asked for ahead, and the batch ends there. Who looks for a packet just when it is written takes its line from the
  // writer, and who takes each line when it needs it waits for each (docs/measurements.md).

  /// The next packet, as the first of a batch.
  std::optional<ConstSpan> first() {
    const auto packet = next();
    if (packet && is_stream()) {
      // relaxed: a hint. It may be older than the packet, which then is the only one of its batch.
      end_ = Access::load(memory_.control().tail, std::memory_order_relaxed);
      asked_ = head_;
      ask_ahead();
    }
    return packet;
  }
  /// The next one of the same batch. Nothing where that has ended, or none has come.
  std::optional<ConstSpan> next_in_batch() {
    if (!is_stream()) return next();
    if (head_ >= end_) return std::nullopt;
    ask_ahead();
    return next();
  }
  void end_batch(std::uint64_t packets) { most_ = packets == 0 ? 0 : std::max(most_, packets); }

  /// Done with the packet that next() gave.
  void release(ConstSpan packet) {
    const bool is_in_depot = is_for_depot(packet.size()) && depot_.holds(packet.data());
    advance(record_bytes(is_in_depot ? kCellNumberBytes : packet.size()));
    if (is_in_depot) depot_.empty_cell_of<Access>(packet.data());  // then another life here does not come to it any more
  }

 private:
  ConstSpan packet_here(std::size_t bytes) const { return {memory_.at(offset_) + packet_offset(bytes), bytes}; }
  const std::byte* packet_in_depot() {
    return depot_.cell(Access::load(memory_.word_at(offset_ + kWordBytes), std::memory_order_relaxed)).packet();
  }
  void advance(std::size_t bytes) {
    head_ += bytes;
    offset_ = memory_.further(offset_, bytes);
    // relaxed: read by this process when it attaches again, and as a hint by has_unread
    Access::store(memory_.control().head, head_, std::memory_order_relaxed);
    if (head_ - published_ < memory_.capacity() / 4) return;
    published_ = head_;
    // release: pairs with the acquire in RingWriter::refresh; our reads of the packets are over
    Access::store(memory_.control().consumed, head_, std::memory_order_release);
  }

  /// Lines that are on their way at a time: as many as a core waits for another one's line, in messages.
  static constexpr std::uint64_t kAhead = 8 * kLine;

  bool is_stream() const { return most_ > 1; }
  void ask_ahead() {
    asked_ = std::max(asked_, head_ / kLine * kLine + kLine);
    for (const std::uint64_t end = std::min(end_, head_ + kAhead); asked_ < end; asked_ += kLine)
      Access::expect_read(memory_.at(memory_.further(offset_, static_cast<std::size_t>(asked_ - head_))));
  }

  RingMemory memory_;
  DepotMemory depot_;
  std::uint64_t head_ = 0;
  std::size_t offset_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t most_ = 0;   ///< packets that a batch has brought since one brought none
  std::uint64_t end_ = 0;    ///< of the batch, in a stream
  std::uint64_t asked_ = 0;  ///< lines up to here are on their way
};

/// For one who has just announced that it sleeps, from any thread of the receiver: has the sender written what the receiver has
/// not read?
inline bool has_unread(RingControl& control) {
  // seq_cst: not before the announcement (see announce_sleep)
  return DirectAccess::load(control.tail, std::memory_order_seq_cst) !=
         DirectAccess::load(control.head, std::memory_order_seq_cst);
}

}  // namespace shim::transport
