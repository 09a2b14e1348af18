// SPDX-License-Identifier: BSD-3-Clause
// The ring between one sender and one receiver: how bytes lie in the pair block, and the two ends that move them.
//
// Records begin at cache lines. A record is a ready word and the packet; one of up to 56 bytes is a single line, and that line
// is all that moves between the two cores: the receiver looks at the ready word where the next record will begin, the sender
// writes the packet behind it and then the word. Before the sender publishes a record, the ready word behind it is zero, so
// bytes of an earlier lap never look like a record. Records are contiguous; a pad fills the end of the ring where one does
// not fit. Positions count bytes for ever; the place in the ring is the position, from where the first record begins, modulo the capacity.
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

/// The ready word, one 64-bit value: 0 where there is no record yet.
struct RecordWord {
  static constexpr std::uint64_t kReady = 1ull << 63;
  static constexpr std::uint64_t kPad = 1ull << 62;  ///< nothing inside; the next record begins at the start of the ring
  static constexpr std::uint64_t kInDepot = 1ull << 61;  ///< inside is the number of the packet's cell
  static std::uint64_t packet(std::size_t bytes) { return kReady | bytes; }
  static bool is_pad(std::uint64_t word) { return (word & kPad) != 0; }
  static bool is_packet_here(std::uint64_t word) { return (word & (kPad | kInDepot)) == 0; }
  static std::size_t bytes(std::uint64_t word) { return word & 0xffff'ffffu; }
};
inline constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

/// Bytes of the ring itself in a pair block of this size.
constexpr std::size_t ring_capacity(std::size_t pair_bytes) { return pair_bytes - sizeof(RingControl); }
constexpr std::size_t record_bytes(std::size_t packet_bytes) { return (kWordBytes + packet_bytes + kLine - 1) / kLine * kLine; }
/// A quarter: then a record, the pad before it, the line after it, and what the receiver has not published yet always fit.
constexpr std::size_t ring_max_packet(std::size_t capacity) { return capacity / 4 / kLine * kLine - kWordBytes; }

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
  std::byte* at(std::size_t offset) const { return lines_ + offset; }
  /// Is this position beyond the records that come first?
  bool is_beyond_near(std::uint64_t position) const { return position >= kNearBytes; }
  std::uint64_t& word_at(std::size_t offset) const { return *reinterpret_cast<std::uint64_t*>(lines_ + offset); }

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
    std::size_t pad = 0;  ///< in front of it, up to the end of the ring
    std::optional<std::uint32_t> cell;  ///< of the depot, where it is there
  };
  /// Nothing where there is none. It counts until the next write; what it was found for is to be written there, and published.
  std::optional<Room> find_room(std::size_t bytes) {
    if (depot_ == nullptr || !is_for_depot(bytes)) return find_room_in_ring(bytes);
    auto room = find_room_in_ring(kWordBytes);
    if (!room) return room;
    room->cell = depot_->find_empty<Access>(window_);
    if (!room->cell) return find_room_in_ring(bytes);
    room->packet = depot_->memory().cell(*room->cell).packet();
    room->bytes = bytes;
    return room;
  }
  std::optional<Room> find_room_in_ring(std::size_t bytes) {
    const std::size_t record = record_bytes(bytes);
    const std::size_t to_end = memory_.capacity() - offset_;
    const std::size_t pad = to_end < record ? to_end : 0;
    if (!has_room(pad + record + kLine)) return std::nullopt;
    return Room{memory_.at(pad ? 0 : offset_) + kWordBytes, bytes, pad};
  }
  /// Is it as good to make a payload in its place as to have it copied there?
  bool may_be_made_in(const Room& room, std::size_t payload_bytes) { return copy_for(room).may_be_made_there(payload_bytes); }
  /// The packet is there as a whole.
  void publish(const Room& room) {
    const std::size_t record = record_bytes(room.cell ? kWordBytes : room.bytes);
    const std::size_t begin = room.pad ? 0 : offset_;
    const std::uint64_t word = RecordWord::packet(room.bytes) | (room.cell ? RecordWord::kInDepot : 0);
    const std::uint64_t end = tail_ + room.pad + record;
    const std::size_t next = begin + record == memory_.capacity() ? 0 : begin + record;
    // relaxed: the release below carries it, as it carries the packet
    if (zeroed_ < end) Access::store(memory_.word_at(next), 0, std::memory_order_relaxed);
    if (room.cell) {
      depot_->hand_over<Access>(window_, *room.cell);
      Access::store(memory_.word_at(begin + kWordBytes), *room.cell, std::memory_order_relaxed);
    }
    if (room.pad) {
      // The receiver comes to the record only over the pad, so the pad's release carries both.
      Access::store(memory_.word_at(0), word, std::memory_order_relaxed);
      // release: pairs with the acquire in RingReader::next
      Access::store(memory_.word_at(offset_), RecordWord::kReady | RecordWord::kPad, std::memory_order_release);
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
    if (bytes <= kLine - kWordBytes && zeroed_ > tail_) [[likely]] {
      write_line(header, payload);
      return true;
    }
    return write_lines(header, payload);
  }

 private:
  /// Lines that are taken from the receiver at once, which has the last lap's. Stores that wait at the same time wait together; of those of
  /// messages each would wait by itself. (Asking for a line to be written, by prefetchw, does nothing where the other core has it as well.)
  static constexpr std::size_t kLinesAhead = 8;

  /// A packet of one line, with room behind it and the ready word there zero: what most are.
  void write_line(ConstSpan header, ConstSpan payload) {
    const std::size_t begin = offset_, next = line_after(begin, 1);
    const std::uint64_t end = tail_ + kLine;
    std::byte* packet = memory_.at(begin) + kWordBytes;
    Access::copy_in(packet, header);
    Access::copy_in(packet + header.size(), payload);
    // release: pairs with the acquire in RingReader::next
    Access::store(memory_.word_at(begin), RecordWord::packet(header.size() + payload.size()), std::memory_order_release);
    move_on(end, next);
    if (zeroed_ == end) [[unlikely]] zero_ahead(kLinesAhead);
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

  std::size_t line_after(std::size_t offset, std::size_t lines) const {
    const std::size_t later = offset + lines * kLine;
    return later < memory_.capacity() ? later : later - memory_.capacity();
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
  /// If the next packets are small ones, the ready words behind them will be those of the next lines. Zeroing them now, as far as there is
  /// room, takes the lines' transfers off the way of these packets.
  void zero_ahead(std::size_t lines) {
    if (!has_met_pages_ && memory_.is_beyond_near(tail_ + (lines + 1) * kLine)) [[unlikely]] meet_pages();
    const std::size_t free_lines = free_bytes() / kLine;
    if (free_lines < 2) return;
    lines = std::min(lines, free_lines - 1);
    for (std::size_t line = 1; line <= lines; ++line)
      Access::store(memory_.word_at(line_after(offset_, line)), 0, std::memory_order_relaxed);
    zeroed_ = tail_ + lines * kLine;
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
      std::uint64_t word = Access::load(memory_.word_at(offset_), std::memory_order_acquire);
      if (word == 0) [[likely]] return std::nullopt;
      if (RecordWord::is_packet_here(word)) [[likely]] return ConstSpan(memory_.at(offset_) + kWordBytes, RecordWord::bytes(word));
      if (!RecordWord::is_pad(word)) return ConstSpan(packet_in_depot(), RecordWord::bytes(word));
      advance(memory_.capacity() - offset_);
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
    advance(record_bytes(is_in_depot ? kWordBytes : packet.size()));
    if (is_in_depot) depot_.empty_cell_of<Access>(packet.data());  // then another life here does not come to it any more
  }

 private:
  const std::byte* packet_in_depot() {
    const std::uint64_t cell = Access::load(memory_.word_at(offset_ + kWordBytes), std::memory_order_relaxed);
    return depot_.cell(static_cast<std::uint32_t>(cell)).packet();
  }
  void advance(std::size_t bytes) {
    head_ += bytes;
    offset_ += bytes;
    if (offset_ == memory_.capacity()) offset_ = 0;
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
    asked_ = std::max(asked_, head_ + kLine);
    for (const std::uint64_t end = std::min(end_, head_ + kAhead); asked_ < end; asked_ += kLine) {
      const std::size_t later = offset_ + static_cast<std::size_t>(asked_ - head_);
      Access::expect_read(memory_.at(later < memory_.capacity() ? later : later - memory_.capacity()));
    }
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
