// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/meeting.hpp"

#include <string>

namespace shim::coll {
namespace {

// Somewhat longer than it takes another core to answer; where none is free, nobody spins.
constexpr int kSpins = 100;

/// How the host says where the board is.
struct Told {
  std::uint32_t is_there = 0;
  transport::BoardPlace place{};
};

bool may_meet(const Comm& comm) {
  return comm.local() == nullptr && comm.size() > 1 && comm.size() <= transport::kBoardMembers && comm.sharing() != Sharing::nothing;
}

base::Status agree(const Turn& turn) {
  Comm& comm = *turn.comm;
  Told told;
  if (comm.rank() == 0) {
    if (const auto place = comm.locality()->take_board()) told = {1, *place};
  }
  Direct direct(turn);
  bcast_direct(direct, Call::buffer(std::as_writable_bytes(std::span(&told, 1))), 0);
  SHIM_TRY(direct.finish());
  comm.meeting_place().is_agreed_on = true;
  if (told.is_there != 0) comm.meeting_place().board = comm.locality()->open_board(told.place);
  return {};
}

base::Error lengths_differ(int from, const std::string& what) {
  return {base::ErrorClass::truncate, "rank " + std::to_string(from) + " sent " + what};
}

void end(Comm& comm) {
  comm.meeting_place().is_open = false;
  // Who finds all it wants on the board lends no time to messages; they have their turn now and then.
  if (comm.meeting_place().board->end()) static_cast<void>(comm.engine().progress());
}

}  // namespace

base::Result<transport::Board*> board_for(const Turn& turn) {
  Comm& comm = *turn.comm;
  Comm::MeetingPlace& place = comm.meeting_place();
  if (!place.is_agreed_on) [[unlikely]] {
    if (!may_meet(comm)) place.is_agreed_on = true;
    else if (place.collectives_before++ >= kCollectivesBeforeBoard) SHIM_TRY(agree(turn));
  }
  if (place.is_open) [[unlikely]] end(comm);  // of a collective that nobody ran
  return place.board.get();
}

Meeting::~Meeting() {
  if (!comm_.meeting_place().is_open) end(comm_);
}

void Meeting::go_on() { comm_.meeting_place().is_open = true; }

template <typename Ready>
bool Meeting::await(int from, const Ready& ready) {
  if (ready()) return true;
  if (has_failed()) return false;
  for (int i = execution_.engine().may_spin() ? kSpins : 0; i > 0; --i) {
    if (ready()) return true;
  }
  if (auto waited = execution_.engine().wait_for(*call.context, from, ready); !waited) execution_.fail(std::move(waited).error());
  return !has_failed();
}

bool Meeting::await_room(std::size_t bytes) {
  if (board_.has_room(bytes)) [[likely]] return !has_failed();
  for (int rank = 0; rank < call.size; ++rank) {
    if (rank != call.rank && !await(rank, [&] { return board_.has_room(bytes, rank); })) return false;
  }
  return board_.has_room(bytes);  // which remembers it
}

bool Meeting::write(const types::ConstBuffer& data) {
  const std::size_t bytes = data.bytes();
  if (!await_room(bytes)) return false;
  has_said_ = true;
  if (data.type->contiguous) [[likely]] base::copy_short(board_.room(bytes), data.address, bytes);
  else types::pack(*data.type, data.address, 0, Bytes(board_.room(bytes), bytes));
  return true;
}

bool Meeting::lay_for_all(const types::ConstBuffer& data) {
  if (!await_room(0)) return true;  // has failed
  if (!board_.put_up_on_belt(data.bytes())) return false;
  has_said_ = true;
  transport::Belt& belt = board_.belt();
  for (std::uint64_t at = 0; at < data.bytes();) {
    const std::size_t piece = belt.piece_of(data.bytes() - at);
    for (int rank = 0; rank < call.size; ++rank)
      if (rank != call.rank && !await(rank, [&] { return belt.has_room(piece, rank); })) return true;
    types::pack(*data.type, data.address, at, {belt.place(), piece});
    belt.lay(piece);
    board_.wake_all_members();
    at += piece;
  }
  belt.end_laying();
  return true;
}

std::optional<transport::OnBelt> Meeting::laid_by(int from) const {
  const auto found = board_.find(from);
  return found ? found->on_belt : std::nullopt;
}

void Meeting::take_off_belt(int from, const transport::OnBelt& laid, std::uint64_t wanted, const TakePiece& take) {
  note_length(from, laid.length, wanted);
  transport::Belt& belt = board_.belt();
  belt.begin_to_take(laid.begin);
  board_.wake_member(from);
  // all of it, wanted or not: the one who lays waits for us
  for (std::uint64_t at = 0; at < laid.length;) {
    const std::size_t piece = belt.piece_of(laid.length - at);
    if (!await(from, [&] { return belt.has(piece); })) return;
    if (at < wanted) take(at, {belt.place(), static_cast<std::size_t>(std::min<std::uint64_t>(piece, wanted - at))});
    belt.take(piece);
    board_.wake_member(from);
    at += piece;
  }
}

void Meeting::take_off_belt(int from, const transport::OnBelt& laid, const types::Buffer& into) {
  take_off_belt(from, laid, into.bytes(), [&](std::uint64_t first, ConstBytes bytes) { types::unpack(*into.type, bytes, first, into.address); });
}

std::optional<ConstBytes> Meeting::hear(int from) {
  std::optional<transport::Board::Found> found = board_.find(from);
  const auto look = [&] { return (found = board_.find(from)).has_value(); };
  if (found) board_.expect_more(from);
  else if (!await(from, look)) return std::nullopt;
  if (!found->is_here) return std::nullopt;
  return found->bytes;
}

std::optional<ConstBytes> Meeting::hear(int from, std::uint64_t bytes) {
  auto said = hear(from);
  if (said || has_failed()) [[likely]] return said;
  execution_.go_on_after(lengths_differ(from, "more than " + std::to_string(transport::kBoardBytes) + " bytes where " +
                                                  std::to_string(bytes) + " are to be received"));
  if (const auto laid = laid_by(from)) take_off_belt(from, *laid, bytes, [](std::uint64_t, ConstBytes) {});  // it waits until we have
  if (!has_said_) say_to_all(0, [](Bytes) {});  // those who send us messages find us here
  return std::nullopt;
}

void Meeting::take(int from, ConstBytes said, const types::Buffer& into) {
  if (said.size() == into.bytes()) [[likely]] return place(Call::buffer(said), into);
  note_length(from, said.size(), into.bytes());
  copy_across(Call::buffer(said), into);
}

void Meeting::note_length(int from, std::uint64_t bytes, std::uint64_t expected) {
  if (bytes == expected) return;
  execution_.go_on_after(
      lengths_differ(from, std::to_string(bytes) + " bytes where " + std::to_string(expected) + " are to be received"));
}

void Meeting::absorb(base::Status status) {
  if (status) return;
  Requests::Faults faults;
  faults.note(status.error());
  execution_.take(std::move(faults));
}

MeetingGoesOn::~MeetingGoesOn() {
  if (is_open_) end(comm_);
}

base::Status MeetingGoesOn::look_for_disagreement() const {
  const transport::Board& board = *comm_.meeting_place().board;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const auto found = board.find(rank);
    if (found && found->is_here && rank != comm_.rank())
      return base::Error(base::ErrorClass::truncate, "rank " + std::to_string(rank) + " takes part with at most " +
                                                         std::to_string(transport::kBoardBytes) + " bytes and this one with more");
    if (found && found->on_belt && rank != comm_.rank())
      return base::Error(base::ErrorClass::truncate, "rank " + std::to_string(rank) + " takes part with " + std::to_string(found->on_belt->length) +
                                                         " bytes that are for all, and this one waits for messages");
  }
  return {};
}

}  // namespace shim::coll
