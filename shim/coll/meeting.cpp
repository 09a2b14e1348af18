// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/meeting.hpp"

#include <algorithm>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/base/copy_between_cores.hpp"
#include "shim/coll/algorithms.hpp"

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

Meeting::~Meeting() noexcept(false) {
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

/// False where there is no memory, or after a failure.
bool Meeting::say_on_belt(int which, std::uint64_t bytes) {
  has_said_ = await_room(0) && board_.put_up_on_belt(which, bytes);
  return has_said_;
}

bool Meeting::lay_for_all(const types::ConstBuffer& data) {
  if (!say_on_belt(0, data.bytes())) return has_failed();
  for (Laying laying(board_, 0, data, base::Traffic::one_way); !laying.is_over(); laying.lay()) {
    for (int rank = 0; rank < call.size; ++rank)
      if (rank != call.rank && !await(rank, [&] { return laying.has_room(rank); })) return true;
  }
  return true;
}

std::optional<transport::OnBelt> Meeting::laid_by(int from) const {
  const auto found = board_.find(from);
  return found ? found->on_belt : std::nullopt;
}

void Meeting::take_off_belt(int from, const transport::OnBelt& laid, std::uint64_t wanted, const Taking::Piece& take) {
  note_length(from, laid.length, wanted);
  for (Taking taking(board_, from, laid, wanted, take); !taking.is_over(); taking.take()) {
    if (!await(from, [&] { return taking.has_next(); })) return;
  }
}

namespace {

/// Small enough that a function takes no memory: the other waits for us already.
Taking::Piece into_place(const types::Buffer& into) {
  return [&into](std::uint64_t first, ConstBytes bytes) {
    if (into.type->contiguous) [[likely]] base::copy_from_other_core(static_cast<std::byte*>(into.address) + first, bytes.data(), bytes.size());
    else types::unpack(*into.type, bytes, first, into.address);
  };
}

}  // namespace

void Meeting::take_off_belt(int from, const transport::OnBelt& laid, const types::Buffer& into) {
  take_off_belt(from, laid, into.bytes(), into_place(into));
}

/// Both at once, as far as the other's pace allows it; in place nothing is written over what is still to be laid.
bool Meeting::cross(std::optional<Laying>& laying, std::optional<Taking>& taking, bool in_place) {
  const auto lays = [&] { return laying && !laying->is_over(); };
  const auto takes = [&] { return taking && !taking->is_over(); };
  const auto can_lay = [&] { return lays() && laying->has_room(1 - call.rank); };
  const auto can_take = [&] { return takes() && taking->has_next() && (!in_place || !lays() || taking->end_of_next() <= laying->laid()); };
  while (lays() || takes()) {
    if (!await(1 - call.rank, [&] { return can_lay() || can_take(); })) return false;
    if (can_lay()) laying->lay();
    if (can_take()) taking->take();
  }
  return true;
}

// Over belts all is copied twice, and without the system; a long message is copied once where it may be read out of the sender's memory.
// Which takes less time is up to the system, to where the cores are, and to who wrote last to what is sent (docs/measurements.md): so both
// are tried. Not in place, where a message would need a copy of all that is sent.
void Meeting::exchange(const Turn& turn, const types::ConstBuffer& out, const types::Buffer& in, bool in_place) {
  constexpr float kWorthMessages = 1.1F;
  const bool may_be_laid = !fits(out.bytes()) && is_for_belt(table().belt.exchange, out.bytes());
  if (in_place || !may_be_laid) {
    exchange_by(turn, out, in, in_place, may_be_laid);
    return;
  }
  const bool is_one_way = fits(in.bytes());
  AgreedWays& ways = comm_.meeting_place().exchange_of(std::max(out.bytes(), in.bytes()), is_one_way);
  const bool leads = call.rank == 0 || is_one_way;
  const AgreedWays::Next next = leads ? ways.lead(kWorthMessages) : ways.follow();
  const base::Nanoseconds began = exchange_by(turn, out, in, false, !next.is_second);
  if (has_failed()) return;
  if (!leads) ways.see(gives_by_messages(1 - call.rank));
  else if (next.is_timed) ways.note(base::now_ns() - began, out.bytes() + in.bytes());
}

/// Nothing where it is short, and was said.
std::optional<bool> Meeting::gives_by_messages(int from) const {
  const auto found = board_.find(from);
  if (!found || found->is_here) return std::nullopt;
  return !found->on_belt;
}

/// Answers when both had come.
base::Nanoseconds Meeting::exchange_by(const Turn& turn, const types::ConstBuffer& out, const types::Buffer& in, bool in_place, bool by_belt) {
  const int other = 1 - call.rank;
  const bool is_said = fits(out.bytes());
  std::optional<Laying> laying;
  std::optional<Taking> taking;
  std::optional<Direct> messages;
  if (is_said) say(out, other);
  else if (by_belt && say_on_belt(call.rank, out.bytes())) laying.emplace(board_, call.rank, out, base::Traffic::both_ways);
  else say_elsewhere();
  const auto said = hear(other);
  const base::Nanoseconds began = is_said ? 0 : base::now_ns();
  if (has_failed()) return began;
  const auto laid = said ? std::nullopt : laid_by(other);
  if (!is_said && !laying) messages.emplace(turn).post_send(out, other, in_place ? Direct::Keeps::copy : Direct::Keeps::nothing);
  if (laid) {
    note_length(other, laid->length, in.bytes());
    taking.emplace(board_, other, *laid, in.bytes(), into_place(in));
  }
  if (!cross(laying, taking, in_place)) return began;
  if (said) {
    take(other, *said, in);
  } else if (!laid) {
    if (!messages) messages.emplace(turn);
    if (in.bytes() == 0) messages->refuse(other);
    else messages->post_receive(in, other);
  }
  if (messages) absorb(messages->finish());
  return began;
}

std::optional<ConstBytes> Meeting::hear(int from) {
  board_.note_listens();
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
  execution_.go_on_after(lengths_differ(from, "more than the " + std::to_string(bytes) + " bytes that are to be received"));
  if (const auto laid = laid_by(from)) take_off_belt(from, *laid, bytes, [](std::uint64_t, ConstBytes) {});  // it waits until we have
  if (!has_said_) say_to_all(0, [](Bytes) {});  // those who send us messages find us here
  return std::nullopt;
}

std::optional<ConstBytes> Meeting::hear_blocks(const Turn& turn, int from, std::uint64_t bytes) {
  auto said = hear(from);
  if (said || has_failed() || comes_by_messages(from)) [[likely]] return said;
  return hear_or_refuse(turn, from, bytes);
}

bool Meeting::comes_by_messages(int from) const {
  const auto found = board_.find(from);
  return found && found->is_by_messages;
}

std::optional<ConstBytes> Meeting::hear_or_refuse(const Turn& turn, int from, std::uint64_t bytes) {
  auto said = hear(from, bytes);
  if (said || has_failed() || call.size != 2 || laid_by(from)) [[likely]] return said;
  Direct messages(turn);
  messages.refuse(from);
  absorb(messages.finish());
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

MeetingGoesOn::~MeetingGoesOn() noexcept(false) {
  if (is_open_) end(comm_);
}

base::Status MeetingGoesOn::look_for_disagreement() const {
  const transport::Board& board = *comm_.meeting_place().board;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const auto found = board.find(rank);
    if (found && (found->is_here || found->is_by_messages) && rank != comm_.rank())
      return base::Error(base::ErrorClass::truncate, "rank " + std::to_string(rank) + " takes part with fewer bytes than this one, at most " +
                                                         std::to_string(transport::kPosterBytes));
    if (found && found->on_belt && rank != comm_.rank())
      return base::Error(base::ErrorClass::truncate, "rank " + std::to_string(rank) + " takes part with " + std::to_string(found->on_belt->length) +
                                                         " bytes that are for all, and this one waits for messages");
  }
  return {};
}

}  // namespace shim::coll
