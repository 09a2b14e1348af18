// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/shm/board.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shim/base/pages.hpp"

namespace shim::transport {
namespace {

constexpr std::uint32_t kBoards = 8;  // of one host at a time
constexpr std::size_t kPage = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
constexpr std::size_t belt_at(int which) {  // in a board's memory
  return whole_pages(sizeof(BoardHead) + kBoardMembers * sizeof(BoardPart)) + static_cast<std::size_t>(which) * whole_pages(kBeltBytes);
}
constexpr std::size_t posters_at(int rank) { return belt_at(kBelts) + static_cast<std::size_t>(rank) * whole_pages(kBytesOfPosters); }
constexpr std::size_t kMemoryOfBoard = posters_at(kBoardMembers);

std::byte* board_at(base::SharedArea& area, BoardPlace place) {
  return area.store(place.slot) + place.number * kMemoryOfBoard;
}
BoardHead& head_at(std::byte* board) { return *reinterpret_cast<BoardHead*>(board); }
BoardPart* parts_at(std::byte* board) { return reinterpret_cast<BoardPart*>(board + sizeof(BoardHead)); }

// On a note stands where what is longer is: an OnBelt or an OnPoster.
template <typename Place>
void write_note(BoardNote& note, const Place& place) {
  static_assert(sizeof place <= BoardNote::kBytes);
  std::memcpy(note.bytes.data(), &place, sizeof place);
}
template <typename Place>
Place read_note(const BoardNote& note) {
  Place found;
  static_assert(sizeof found <= BoardNote::kBytes);
  std::memcpy(&found, note.bytes.data(), sizeof found);
  return found;
}

// Relaxed: whoever is told of the board later is told by a message.
void make_new(BoardPart& part) {
  part.ended.store(0, std::memory_order_relaxed);
  for (BoardNote& note : part.notes) note.word.store(0, std::memory_order_relaxed);
}

}  // namespace

std::size_t Boards::store_bytes() { return kBoards * kMemoryOfBoard; }

bool Boards::is_free(const BoardHead& head) const {
  for (std::uint32_t i = 0; i < head.members; ++i) {
    // acquire: pairs with the release in ~Board, after which that member reads nothing
    if (head.left[i].load(std::memory_order_acquire) == 0 && area_.is_alive(head.slots[i])) return false;
  }
  return true;
}

std::optional<BoardPlace> Boards::take(std::span<const std::uint32_t> members) {
  std::lock_guard guard(mutex_);
  for (std::uint32_t number = 0; number < kBoards; ++number) {
    const BoardPlace place{area_.own_slot(), number};
    std::byte* board = board_at(area_, place);
    if (!area_.back(board, sizeof(BoardHead) + members.size() * sizeof(BoardPart))) return std::nullopt;
    BoardHead& head = head_at(board);
    if (!is_free(head)) continue;
    head.members = static_cast<std::uint32_t>(members.size());
    std::copy(members.begin(), members.end(), head.slots.begin());
    for (auto& left : head.left) left.store(0, std::memory_order_relaxed);
    for (BeltWords& belt : head.belts) belt.make_new();
    std::for_each_n(parts_at(board), members.size(), make_new);
    return place;
  }
  return std::nullopt;
}

std::unique_ptr<Board> Boards::open(BoardPlace place, std::span<const std::uint32_t> members, int rank, base::SharedArea& where_they_sleep) {
  std::array<WakeWords*, kBoardMembers> wakes{};
  std::transform(members.begin(), members.end(), wakes.begin(),
                 [&](std::uint32_t slot) { return &slot_memory(where_they_sleep, slot).wake; });
  return std::make_unique<Board>(area_, board_at(area_, place), std::span(wakes.data(), members.size()), rank);
}

Board::Board(base::SharedArea& area, std::byte* memory, std::span<WakeWords* const> wakes, int rank)
    : area_(area), memory_(memory), head_(head_at(memory)), parts_(parts_at(memory)),
      belts_{OwnBelt{{head_.belts[0], memory + belt_at(0), rank}}, OwnBelt{{head_.belts[1], memory + belt_at(1), rank}}},
      posters_(memory + posters_at(rank)), rank_(rank), size_(static_cast<int>(wakes.size())) {
  std::copy(wakes.begin(), wakes.end(), wakes_.begin());
}

Board::~Board() {
  head_.left[static_cast<std::size_t>(rank_)].store(1, std::memory_order_release);  // pairs with the acquire in is_free
}

bool Board::has_room(const Ring& ring, int awaited) const {
  const std::uint64_t half = meeting_ / ring.half;
  // acquire: pairs with the release in say_ended: that member reads nothing of the half before the last any more
  return half <= ring.with_room || parts_[awaited].ended.load(std::memory_order_acquire) >= (half - 1) * ring.half;
}

bool Board::has_room(std::size_t bytes) {
  Ring& ring = ring_for(bytes);
  const std::uint64_t half = meeting_ / ring.half;
  if (half <= ring.with_room) [[likely]] return true;
  for (int member = 0; member < size_; ++member)
    if (member != rank_ && !has_room(ring, member)) return false;
  ring.with_room = half;
  notes_.with_room = std::max(notes_.with_room, meeting_ / notes_.half);  // which has no less room than a sheet
  return true;
}

void Board::wake(MemberSet members) {
  for (; members != 0; members &= members - 1) wake_sleepers(*wakes_[static_cast<std::size_t>(std::countr_zero(members))]);
}

void Board::publish(std::uint64_t length) {
  note().word.store(BoardNote::word_of(meeting_, length), std::memory_order_release);  // pairs with the acquire in find
  if (meeting_ + 1 >= taken_) take_notes();
}

/// The next ones, as far as they have room, are taken from their readers' cores meanwhile: by stores, as in the ring (kLinesAhead). Of one who
/// waits for others' in between, many of these stores would be in the way of its next note.
void Board::take_notes() {
  const bool is_ahead = meeting_ > listened_ + kNotesAhead;
  taken_ = std::min(meeting_ + 1 + (is_ahead ? kNotesAhead : 1), (notes_.with_room + 1) * notes_.half);
  for (std::uint64_t next = meeting_ + 1; next < taken_; ++next)
    parts_[rank_].notes[next % BoardPart::kNotes].word.store(0, std::memory_order_relaxed);
}

void Board::put_up(std::size_t bytes, MemberSet for_whom) {
  if (bytes <= kBoardBytes) [[likely]] {
    publish(bytes);
  } else {
    write_note(note(), posters_.put_up(meeting_, bytes, for_whom & ~member(rank_)));
    publish(BoardNote::kOnPoster);
  }
  wake(for_whom);
}

void Board::say(std::uint64_t length) {
  note().word.store(BoardNote::word_of(meeting_, length), std::memory_order_release);  // pairs with the acquire in find
}

bool Board::has_poster() {
  // most communicators never need one
  if (!has_posters_ && !(has_posters_ = area_.back(posters_.memory(), kBytesOfPosters).has_value())) return false;
  return posters_.is_next_free([&](int rank, std::uint64_t meeting) {
    // acquire: pairs with the release in say_ended; a note that was heard has been read by an acquire
    return heard_[static_cast<std::size_t>(rank)] > meeting || parts_[rank].ended.load(std::memory_order_acquire) > meeting;
  });
}

const std::byte* Board::poster(int rank, std::uint32_t number) const { return memory_ + posters_at(rank) + number * kPosterBytes; }

bool Board::put_up_on_belt(int which, std::uint64_t bytes) {
  auto& [belt, is_backed] = belts_[static_cast<std::size_t>(which)];
  // most communicators never need it
  if (!is_backed) {
    if (!area_.back(belt.memory(), kBeltBytes)) return false;
    is_backed = true;
    base::meet_pages(belt.memory(), kBeltBytes);
  }
  write_note(note(), OnBelt{belt.begin_to_lay(), bytes, static_cast<std::uint32_t>(which)});
  publish(BoardNote::kOnBelt);
  wake_all_members();
  return true;
}

/// What is neither on the note nor on a sheet.
Board::Found Board::find_further(int rank, std::uint64_t length) const {
  const BoardNote& note = parts_[rank].notes[meeting_ % BoardPart::kNotes];
  if (length == BoardNote::kOnBelt) return {.is_here = false, .on_belt = read_note<OnBelt>(note)};
  if (length != BoardNote::kOnPoster) return {.is_here = false, .is_by_messages = length == BoardNote::kByMessages};
  const auto put = read_note<OnPoster>(note);
  return {.is_here = true, .bytes = {poster(rank, put.number), put.length}};
}

void Board::say_ended() {
  parts_[rank_].ended.store(meeting_, std::memory_order_release);  // pairs with the acquire in has_room
  wake(all_members(size_));
}

}  // namespace shim::transport
