// SPDX-License-Identifier: BSD-3-Clause
// A board: shared memory in which few processes of one node meet again and again. In each meeting a member may put up a few bytes for
// the others; whoever wants them reads them there, all at the same time, and nobody has to take them away.
//
// It lies in the store of one member, its host. The others are told where.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "shim/base/shared_area.hpp"
#include "shim/transport/shm/belt.hpp"
#include "shim/transport/shm/poster.hpp"
#include "shim/transport/shm/slot.hpp"

namespace shim::transport {

inline constexpr std::size_t kBoardBytes = 1088;  ///< most that a member puts up in a meeting for all to read

constexpr MemberSet member(int rank) { return MemberSet{1} << rank; }
constexpr MemberSet all_members(int size) { return member(size) - 1; }
static_assert(kBoardMembers < 32);

/// Where a board is: what its host tells the other members.
struct BoardPlace {
  std::uint32_t slot, number;
};

/// What one member put up. Its word says in which meeting, and how much; zero is "never".
struct alignas(kLine) BoardNote {
  static constexpr std::size_t kBytes = kLine - sizeof(std::uint64_t);
  static constexpr std::uint64_t kElsewhere = 0xffff;  ///< as a length: this member's data does not come over the board
  static constexpr std::uint64_t kOnBelt = 0xfffe;     ///< likewise: it is laid on a belt, and the bytes are an OnBelt
  static constexpr std::uint64_t kOnPoster = 0xfffd;   ///< it is here, on a poster, and the bytes are an OnPoster
  static constexpr std::uint64_t kByMessages = 0xfffc; ///< it would be here, but there is no poster for it
  static std::uint64_t word_of(std::uint64_t meeting, std::uint64_t length) { return (meeting + 1) << 16 | length; }

  std::atomic<std::uint64_t> word;
  std::array<std::byte, kBytes> bytes;
};
static_assert(sizeof(BoardNote) == kLine);

/// For what is longer than a note, whose word then says how long it is here.
struct alignas(kLine) BoardSheet {
  std::array<std::byte, kBoardBytes> bytes;
};

/// A member's part, which it alone writes. Notes are used in turn, and so are sheets: meeting by meeting, half by half. A half is used
/// again only when all members have gone through the meetings that it was used for, which they say now and then. There are many notes,
/// so that one who gives to others without waiting for them can run ahead; those who give much mostly wait for each other anyway.
struct BoardPart {
  static constexpr std::uint64_t kNotes = 64, kSheets = 16, kMeetingsPerWord = 8;
  static_assert(kNotes / 2 % kMeetingsPerWord == 0 && kSheets / 2 % kMeetingsPerWord == 0);
  alignas(kLine) std::atomic<std::uint64_t> ended;  ///< how many meetings this member has gone through, when last it said so
  std::array<BoardNote, kNotes> notes;
  std::array<BoardSheet, kSheets> sheets;
};

/// Begins each board. All of it zero is a board that nobody has used.
struct BoardHead {
  alignas(kLine) std::uint32_t members;  ///< written and read by the host
  std::array<std::uint32_t, kBoardMembers> slots;         ///< likewise: of the members, by rank
  /// By rank: 1 once the member needs the board no more.
  alignas(kLine) std::array<std::atomic<std::uint32_t>, kBoardMembers> left;
  std::array<BeltWords, kBelts> belts;
};

/// A member's view. One thread at a time. All members go through the same meetings in the same order.
class Board {
 public:
  /// Made by Boards::open. @param memory of the board, in this area, which outlives this  @param wakes how to wake the members, by rank
  Board(base::SharedArea& area, std::byte* memory, std::span<WakeWords* const> wakes, int rank);
  /// Leaves: what this member has put up stays for the others.
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // --- in a meeting, which begins where the last one ends
  /// May this member put up so much? False while this other one may still read what was there.
  bool has_room(std::size_t bytes, int awaited) const { return has_room(ring_for(bytes), awaited); }
  /// The same of all; remembered for the rest of the half.
  bool has_room(std::size_t bytes);
  /// Where to write it.
  std::byte* room(std::size_t bytes) {
    if (bytes <= BoardNote::kBytes) return note().bytes.data();
    return bytes <= kBoardBytes ? sheet_of(rank_).bytes.data() : posters_.next();
  }
  /// Puts up so many bytes of it, and wakes these members.
  void put_up(std::size_t bytes, MemberSet for_whom);
  /// Says that there is something, but not here.
  void put_up_elsewhere() { say(BoardNote::kElsewhere); }
  /// Is there a poster? Asked before what is longer than kBoardBytes is put up: room() is on it then.
  bool has_poster();
  /// Says that there is none, so that messages bring what would be on it.
  void put_up_by_messages() { say(BoardNote::kByMessages); }
  /// Copies to where others read it next.
  void copy_to_poster(std::byte* to, std::span<const std::byte> from) { to_poster_(to, from.data(), from.size(), base::Traffic::both_ways); }
  /// Says that so much is about to be laid on this belt, and wakes all. Nothing, where there is no memory for it.
  bool put_up_on_belt(int which, std::uint64_t bytes);
  Belt& belt(int which) { return belts_[static_cast<std::size_t>(which)].belt; }
  /// Has this member ever laid anything there?
  bool has_belt(int which) const { return belts_[static_cast<std::size_t>(which)].is_backed; }
  /// A piece is there, or is taken.
  void wake_all_members() { wake(all_members(size_)); }
  void wake_member(int rank) { wake(member(rank)); }

  struct Found {
    bool is_here;  ///< false: elsewhere
    bool is_by_messages = false;  ///< which is elsewhere
    std::span<const std::byte> bytes = {};
    std::optional<OnBelt> on_belt = std::nullopt;  ///< likewise
  };
  /// What this member has put up in this meeting; nothing yet.
  std::optional<Found> find(int rank) const {
    const BoardNote& note = parts_[rank].notes[meeting_ % BoardPart::kNotes];
    // acquire: pairs with the releases in publish and put_up_elsewhere, so that the bytes are there
    const std::uint64_t word = note.word.load(std::memory_order_acquire);
    if (word >> 16 != meeting_ + 1) return std::nullopt;
    const std::uint64_t length = word & 0xffff;
    if (length <= BoardNote::kBytes) [[likely]] return Found{.is_here = true, .bytes = {note.bytes.data(), length}};
    if (length <= kBoardBytes) return Found{.is_here = true, .bytes = {sheet_of(rank).bytes.data(), length}};
    return find_further(rank, length);
  }
  /// What that member has put up in this meeting is there: it has gone through all before.
  void note_heard(int rank) { heard_[static_cast<std::size_t>(rank)] = meeting_; }
  /// This member waits in this meeting for what another puts up.
  void note_listens() { listened_ = meeting_; }
  /// This member is ahead: what it has put up for one of the next meetings comes from its core meanwhile.
  void expect_more(int rank) const { __builtin_prefetch(&parts_[rank].notes[(meeting_ + kMeetingsAhead) % BoardPart::kNotes]); }
  /// Ends the meeting for this member: it needs nothing more of it. True now and then.
  bool end() {
    if (++meeting_ % BoardPart::kMeetingsPerWord != 0) [[likely]] return false;
    say_ended();
    return true;
  }

 private:
  static constexpr std::uint64_t kMeetingsAhead = 3;
  static constexpr std::uint64_t kNotesAhead = 8;  ///< that are taken at once by one who gives without waiting for others
  /// Notes or sheets.
  struct Ring {
    std::uint64_t half;            ///< meetings
    std::uint64_t with_room = 1;   ///< the newest half that is known to be free
  };
  static bool is_on_sheet(std::size_t bytes) { return bytes > BoardNote::kBytes && bytes <= kBoardBytes; }
  Ring& ring_for(std::size_t bytes) { return is_on_sheet(bytes) ? sheets_ : notes_; }
  const Ring& ring_for(std::size_t bytes) const { return is_on_sheet(bytes) ? sheets_ : notes_; }
  bool has_room(const Ring& ring, int awaited) const;
  Found find_further(int rank, std::uint64_t length) const;
  const std::byte* poster(int rank, std::uint32_t number) const;
  void say(std::uint64_t length);
  BoardNote& note() { return parts_[rank_].notes[meeting_ % BoardPart::kNotes]; }
  BoardSheet& sheet_of(int rank) const { return parts_[rank].sheets[meeting_ % BoardPart::kSheets]; }
  void wake(MemberSet members);
  void publish(std::uint64_t length);
  void take_notes();
  void say_ended();

  base::SharedArea& area_;
  std::byte* memory_;
  BoardHead& head_;
  BoardPart* parts_;  ///< by rank
  struct OwnBelt {
    Belt belt;
    bool is_backed = false;  ///< this member knows it to be
  };
  std::array<OwnBelt, kBelts> belts_;
  Posters posters_;
  bool has_posters_ = false;  ///< this member knows its own to be backed
  base::CopyForOtherCore to_poster_;
  std::array<std::uint64_t, kBoardMembers> heard_{};  ///< the last meeting in which this one has noted so
  std::array<WakeWords*, kBoardMembers> wakes_{};
  int rank_, size_;
  std::uint64_t meeting_ = 0;
  std::uint64_t listened_ = 0;  ///< the last meeting in which this member has noted so
  std::uint64_t taken_ = 0;  ///< the notes of meetings before this one have been taken, or had no room
  Ring notes_{BoardPart::kNotes / 2}, sheets_{BoardPart::kSheets / 2};
};

/// A process's boards: those of which it is the host, and the way to others'. Any thread.
class Boards {
 public:
  /// What a store has to have. It is backed with memory as it is used.
  static std::size_t store_bytes();

  /// @param area outlives this
  explicit Boards(base::SharedArea& area) : area_(area) {}
  /// A board that is as good as new, for the processes of these slots by rank; nothing where all are in use or memory is short.
  std::optional<BoardPlace> take(std::span<const std::uint32_t> members);
  /// The view of the member of this rank. @param members as they were given to take
  std::unique_ptr<Board> open(BoardPlace place, std::span<const std::uint32_t> members, int rank) { return open(place, members, rank, area_); }
  /// The same for members that sleep on their slots of another area.
  std::unique_ptr<Board> open(BoardPlace place, std::span<const std::uint32_t> members, int rank, base::SharedArea& where_they_sleep);

 private:
  bool is_free(const BoardHead& head) const;
  base::SharedArea& area_;
  std::mutex mutex_;  ///< guards the heads of the own boards
};

}  // namespace shim::transport
