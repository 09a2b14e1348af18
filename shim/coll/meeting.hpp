// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives on short data at the board of a communicator (transport/shm/board.hpp): each member puts up what the others
// need, and reads theirs; nobody waits for a message that somebody else waits for. Where processes outnumber cores, each wait costs a
// turn of all of them, and here is one. (Scans go along a chain, and scatters among many have messages of their own lengths, which let
// the first ones run far ahead: they stay with messages.)
//
// All members of a communicator that has a board meet at it in every blocking collective of the kinds below, so that their counts of
// meetings agree whatever they believe about lengths. Who has more than fits says so, and goes on with messages; the meeting ends with
// the collective, so that members that wait for each other at different places find it out.
#pragma once

#include <algorithm>
#include <optional>

#include "shim/coll/along_belt.hpp"
#include "shim/coll/direct.hpp"
#include "shim/coll/immediate.hpp"

namespace shim::coll {

/// One such call.
class Meeting : public Immediate {
 public:
  Meeting(const Turn& turn, transport::Board& board) : Immediate(turn), comm_(*turn.comm), board_(board) {}
  /// This member needs nothing more of the meeting, unless it goes on.
  ~Meeting() noexcept(false);  // makes progress, in which a function of the user may end its thread
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  static bool fits(std::uint64_t bytes) { return bytes <= transport::kBoardBytes; }
  /// Where each of the others reads its part alone, and all give to all. Whether there is a poster each member finds by itself.
  static bool parts_fit(std::uint64_t bytes) { return bytes <= transport::kPosterBytes; }
  bool has_room_for_parts(std::uint64_t bytes) { return fits(bytes) || (parts_fit(bytes) && board_.has_poster()); }

  /// Does the table want so much, which does not fit, to go over a belt?
  bool is_for_belt(const When& when, std::uint64_t bytes) const { return when.is_good(call.size, bytes, Sharing::memory, call.nodes); }

  // Each of these waits where it has to. After a failure they do nothing.
  /// Puts up what fits.
  void say(const types::ConstBuffer& data, int to) { if (write(data)) board_.put_up(data.bytes(), transport::member(to)); }
  void say_to_all(const types::ConstBuffer& data) { if (write(data)) board_.put_up(data.bytes(), transport::all_members(call.size)); }
  /// The same, written by write(bytes) to where it is put up.
  template <typename Write>
  void say_to_all(std::uint64_t bytes, const Write& write_to) { say_to(transport::all_members(call.size), bytes, write_to); }
  template <typename Write>
  void say_to(transport::MemberSet members, std::uint64_t bytes, const Write& write_to) {
    if (!await_room(bytes)) return;
    has_said_ = true;
    write_to(Bytes(board_.room(bytes), bytes));
    board_.put_up(bytes, members);
  }
  void say_elsewhere() { if (await_room(0)) board_.put_up_elsewhere(); }
  /// In place of parts that fit, for want of a poster: messages bring them.
  void say_by_messages() {
    if (!await_room(0)) return;
    has_said_ = true;
    board_.put_up_by_messages();
  }
  /// Copies a part to where it is put up. Where processes share cores some readers find it in this one's cache.
  void write_part(Bytes to, ConstBytes part) {
    if (part.size() < base::CopyForOtherCore::kLeast || !execution_.engine().may_spin()) [[likely]] base::copy_short(to.data(), part.data(), part.size());
    else board_.copy_to_poster(to.data(), part);
  }
  /// Gives all of this to all others, on a belt; false where there is no memory for one, and after a failure nothing is left to be done.
  bool lay_for_all(const types::ConstBuffer& data);
  /// Of two: gives the other this and takes what it gives, whichever way either comes, at the same time.
  /// @param in_place `in` is where `out` is
  void exchange(const Turn& turn, const types::ConstBuffer& out, const types::Buffer& in, bool in_place = false);
  /// The end of collectives to which everybody gives the same: those with more than fits go on with messages.
  bool elsewhere() {
    say_elsewhere();
    return false;
  }

  /// What that member has put up; nothing where it comes by messages, or after a failure.
  std::optional<ConstBytes> hear(int from);
  /// The same, where nobody's data may come by messages or over the belt, because ours, of this length, does not: that is a mismatch.
  std::optional<ConstBytes> hear(int from, std::uint64_t bytes);
  /// Of two, where lengths may differ only if a program is wrong: the same, and where the other's data, which is more, comes by a message,
  /// takes nothing of that.
  std::optional<ConstBytes> hear_or_refuse(const Turn& turn, int from, std::uint64_t bytes);
  /// The same of what may be on a poster, so that messages may bring it instead.
  std::optional<ConstBytes> hear_blocks(const Turn& turn, int from, std::uint64_t bytes);
  /// After nothing was heard: has that member said that messages bring its parts?
  bool comes_by_messages(int from) const;
  /// Parts: that member is in this meeting, so it has read those of all before.
  void note_heard(int from) { board_.note_heard(from); }
  /// Puts what that member has said, or the part of it that is for us, to its place; of another length as much as fits, which is a
  /// mismatch.
  void take(int from, ConstBytes said, const types::Buffer& into);
  /// Hears and takes where all of it is to be here.
  void take(int from, const types::Buffer& into) {
    if (const auto said = hear(from, into.bytes())) take(from, *said, into);
  }

  /// What that member, which was heard to have nothing here, lays on a belt.
  std::optional<transport::OnBelt> laid_by(int from) const;
  std::optional<bool> gives_by_messages(int from) const;
  void take_off_belt(int from, const transport::OnBelt& laid, const types::Buffer& into);
  void take_off_belt(int from, const transport::OnBelt& laid, std::uint64_t wanted, const Taking::Piece& take);

  void note_length(int from, std::uint64_t bytes, std::uint64_t expected);
  /// What became of messages that were a part of it.
  void absorb(base::Status status);
  /// With messages, until coll::run has come to their end.
  void go_on();
  bool has_failed() const { return execution_.has_failed(); }
  base::Status finish() { return execution_.take_result(); }

 private:
  template <typename Ready>
  bool await(int from, const Ready& ready);
  bool await_room(std::size_t bytes);
  bool say_on_belt(int which, std::uint64_t bytes);
  base::Nanoseconds exchange_by(const Turn& turn, const types::ConstBuffer& out, const types::Buffer& in, bool in_place, bool by_belt);
  bool cross(std::optional<Laying>& laying, std::optional<Taking>& taking, bool in_place);
  bool write(const types::ConstBuffer& data);

  Comm& comm_;
  transport::Board& board_;
  bool has_said_ = false;
};

/// For coll::run: ends the meeting of a collective that goes on with messages, if it is one.
class MeetingGoesOn {
 public:
  explicit MeetingGoesOn(Comm& comm) : comm_(comm), is_open_(comm.meeting_place().is_open) {}
  ~MeetingGoesOn() noexcept(false);  // likewise
  MeetingGoesOn(const MeetingGoesOn&) = delete;
  MeetingGoesOn& operator=(const MeetingGoesOn&) = delete;
  bool is_open() const { return is_open_; }
  /// Has somebody put its data up where we wait for its message? Errors: truncate (lengths differ).
  base::Status look_for_disagreement() const;

 private:
  Comm& comm_;
  bool is_open_;
};

/// A communicator that lives for no more than these takes no board.
inline constexpr int kCollectivesBeforeBoard = 3;
/// The board at which the members meet in this turn; null where they do not. Once they agree on it by messages.
base::Result<transport::Board*> board_for(const Turn& turn);

/// Runs body(meeting), which answers whether that was all there is to do; else the collective goes on with messages.
template <typename Body>
std::optional<Task> at_board(const Turn& turn, const Body& body) {
  if (!turn.is_blocking) return std::nullopt;
  base::Result<transport::Board*> board = board_for(turn);
  if (!board) return Task::over(std::move(board).error());
  if (*board == nullptr) return std::nullopt;
  Meeting meeting(turn, **board);
  try {
    if (body(meeting) || meeting.has_failed()) [[likely]] return Task::over(meeting.finish());
    meeting.go_on();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Task::over(no_memory());
  }
}

// What happens there. Each answers whether that was all.
bool meet_barrier(Meeting& meeting);
bool meet_bcast(Meeting& meeting, const types::Buffer& data, int root);
/// own.type null: in place. `all` is for the root alone. `bytes`: of one block.
bool meet_gather(Meeting& meeting, const types::ConstBuffer& own, const BlocksIn& all, std::uint64_t bytes, int root);
/// The same, where only the root knows all lengths: it alone goes on until all is there, however it comes.
bool meet_gatherv(Meeting& meeting, const Turn& turn, const types::ConstBuffer& own, const BlocksIn& all, int root);
/// Of two: for more, messages of their own lengths let the root run further ahead than sheets do. `all` is for the root alone; own.type
/// null: in place.
bool meet_scatter_of_two(Meeting& meeting, const BlocksOut& all, const types::Buffer& own, int root);
/// own.type null: in place. `longest`: bytes of the longest block.
bool meet_allgather(Meeting& meeting, const Turn& turn, const types::ConstBuffer& own, const BlocksIn& all, std::uint64_t longest);
/// Of blocks of one length.
bool meet_alltoall(Meeting& meeting, const Turn& turn, const BlocksOut& out, const BlocksIn& in);
/// The same of blocks whose lengths only the two know, who each puts up where they fit all together: all is done however they come.
bool meet_alltoallv(Meeting& meeting, const Turn& turn, const BlocksOut& out, const BlocksIn& in);
bool meet_alltoallw(Meeting& meeting, const Turn& turn, std::span<const types::ConstBuffer> out, std::span<const types::Buffer> in);
bool meet_exchange(Meeting& meeting, const Turn& turn, std::span<const Outgoing> out, std::span<const Incoming> in);
/// own may be result; result is null elsewhere than at the root.
bool meet_reduce(Meeting& meeting, const Operands& operands, const void* own, void* result, int root);
/// own may be result.
bool meet_allreduce(Meeting& meeting, const Operands& operands, const void* own, void* result);
/// Operands: of the whole; result may be the start of own.
bool meet_reduce_scatter(Meeting& meeting, const Operands& operands, const void* own, void* result, const Integers& counts);

}  // namespace shim::coll
