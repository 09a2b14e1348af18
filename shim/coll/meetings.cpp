// SPDX-License-Identifier: BSD-3-Clause
// What happens at a board, collective by collective; those in which each gives something else to each are in meetings_of_parts.cpp.
//
// Reductions combine in the order in which the table's algorithms for short data do, so that the same call gives the same
// bits whether there was a board left or not; those that scatter their result, as a tree over the ranks.
#include <array>
#include <bit>
#include <cstring>

#include "shim/base/copy_between_cores.hpp"
#include "shim/coll/algorithms.hpp"
#include "shim/coll/meeting.hpp"
#include "shim/coll/scratch.hpp"

namespace shim::coll {
namespace {

/// The members' values of a reduction, copied from the board to where operations may work on them.
class Values {
 public:
  explicit Values(const Operands& operands) : operands_(operands) {
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = &rooms_[i];
  }
  void* at(int i) { return places_[static_cast<std::size_t>(i)]->data(); }
  void set(int i, const void* value) { base::copy_short(at(i), value, operands_.bytes()); }
  /// What that member has said, of which ours is the part from this byte on; after a mismatch something that can be combined.
  void take(Meeting& meeting, int from, std::optional<ConstBytes> said, std::uint64_t expected, std::uint64_t first, int to) {
    if (said && said->size() == expected) [[likely]] return set(to, said->data() + first);
    std::memset(at(to), 0, operands_.bytes());
    if (said) meeting.note_length(from, said->size(), expected);
  }
  /// The upper of two becomes the lower combined with it, and takes the lower's place.
  void combine(Meeting& meeting, int lower, int upper) {
    meeting.combine(operands_, at(lower), at(upper));
    std::swap(places_[static_cast<std::size_t>(lower)], places_[static_cast<std::size_t>(upper)]);
  }
  void move(int from, int to) { std::swap(places_[static_cast<std::size_t>(from)], places_[static_cast<std::size_t>(to)]); }
  /// All of the first `count`, as a binomial tree does; the result is at 0.
  void combine_tree(Meeting& meeting, int count) {
    for (int distance = 1; distance < count; distance *= 2)
      for (int i = 0; i + distance < count; i += 2 * distance) combine(meeting, i, i + distance);
  }

 private:
  struct alignas(std::max_align_t) Room : std::array<std::byte, transport::kBoardBytes> {};
  Operands operands_;
  std::array<Room, transport::kBoardMembers> rooms_;
  std::array<Room*, transport::kBoardMembers> places_;
};

/// Hears a value as long as ours.
void hear_value(Meeting& meeting, const Operands& operands, Values& values, int from, int to) {
  values.take(meeting, from, meeting.hear(from, operands.bytes()), operands.bytes(), 0, to);
}

/// Is all that each member says of it short, and is it without holes?
bool is_for_board(const Operands& operands) { return operands.type->contiguous && Meeting::fits(operands.bytes()); }

}  // namespace

bool meet_barrier(Meeting& meeting) {
  meeting.say_to_all(Call::buffer(ConstBytes()));
  for (int rank = 0; rank < meeting.call.size; ++rank)
    if (rank != meeting.call.rank) meeting.hear(rank);
  return true;
}

bool meet_bcast(Meeting& meeting, const types::Buffer& data, int root) {
  if (meeting.call.rank == root) {
    const types::ConstBuffer given{data.address, data.count, data.type};
    if (Meeting::fits(data.bytes())) meeting.say_to_all(given);
    else if (!meeting.is_for_belt(table().belt.bcast, data.bytes()) || !meeting.lay_for_all(given)) return meeting.elsewhere();
    return true;
  }
  if (const auto said = meeting.hear(root)) {
    meeting.take(root, *said, data);
    return true;
  }
  const auto laid = meeting.laid_by(root);
  if (laid) meeting.take_off_belt(root, *laid, data);
  return laid.has_value();
}

bool meet_gather(Meeting& meeting, const types::ConstBuffer& own, const BlocksIn& all, std::uint64_t bytes, int root) {
  const bool is_root = meeting.call.rank == root;
  if (!Meeting::fits(bytes)) return is_root ? false : meeting.elsewhere();
  if (!is_root) {
    meeting.say(own, root);
    return true;
  }
  if (!is_in_place(own)) meeting.place(own, all.at(root));
  for (int rank = 0; rank < meeting.call.size; ++rank)
    if (rank != root) meeting.take(rank, all.at(rank));
  return true;
}

bool meet_gatherv(Meeting& meeting, const Turn& turn, const types::ConstBuffer& own, const BlocksIn& all, int root) {
  if (meeting.call.rank != root) {
    if (Meeting::fits(own.bytes())) {
      meeting.say(own, root);
      return true;
    }
    meeting.say_elsewhere();
    if (meeting.has_failed()) return true;
    Direct messages(turn);
    messages.send(own, root);
    meeting.absorb(messages.finish());
    return true;
  }
  std::optional<Direct> messages;
  if (!is_in_place(own)) meeting.place(own, all.at(root));
  for (int rank = 0; rank < meeting.call.size; ++rank) {
    if (rank == root) continue;
    if (const auto said = meeting.hear(rank)) meeting.take(rank, *said, all.at(rank));
    else if (!meeting.has_failed()) (messages ? *messages : messages.emplace(turn)).post_receive(all.at(rank), rank);
  }
  if (messages) meeting.absorb(messages->finish());
  return true;
}

bool meet_scatter_of_two(Meeting& meeting, const BlocksOut& all, const types::Buffer& own, int root) {
  if (meeting.call.rank != root) {
    const auto said = meeting.hear(root);
    if (said) meeting.take(root, *said, own);
    return said.has_value();
  }
  const types::ConstBuffer theirs = all.at(1 - root);
  if (!Meeting::fits(theirs.bytes())) return meeting.elsewhere();
  meeting.say(theirs, 1 - root);
  if (own.type != nullptr) meeting.place(all.at(root), own);
  return true;
}

bool meet_allgather(Meeting& meeting, const Turn& turn, const types::ConstBuffer& own, const BlocksIn& all, std::uint64_t longest) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  const types::Buffer mine = all.at(rank);
  if (!Meeting::fits(longest)) {
    if (size != 2) return meeting.elsewhere();
    meeting.exchange(turn, is_in_place(own) ? types::ConstBuffer{mine.address, mine.count, mine.type} : own, all.at(1 - rank));
    if (!is_in_place(own) && !meeting.has_failed()) meeting.place(own, mine);
    return true;
  }
  if (is_in_place(own)) {
    meeting.say_to_all({mine.address, mine.count, mine.type});
  } else {
    if (!Meeting::fits(own.bytes())) return meeting.elsewhere();
    meeting.say_to_all(own);
    meeting.place(own, mine);
  }
  for (int from = 0; from < size; ++from) {
    if (from == rank) continue;
    if (const auto said = meeting.hear_or_refuse(turn, from, all.at(from).bytes())) meeting.take(from, *said, all.at(from));
  }
  return true;
}

namespace {

/// Own data and what the other lays, where the operation commutes. Each piece is combined while it is in the root's cache, as far as it holds whole items.
class Combined {
 public:
  Combined(const Meeting& meeting, const Operands& operands, const void* own, void* result)
      : operands_(operands), own_(own), result_(result), room_(meeting.call, *operands.type, own == result ? operands.count : 0) {}
  void take(std::uint64_t first, ConstBytes bytes) {
    base::copy_from_other_core(static_cast<std::byte*>(theirs()) + first, bytes.data(), bytes.size());
    const std::uint64_t items = (first + bytes.size()) / operands_.type->size - done_;
    status_ = types::reduce(*operands_.op, *operands_.type, operands_.at(own_, done_), operands_.at(theirs(), done_), items);
    if (own_ == result_) base::copy_long(operands_.at(result_, done_), operands_.at(theirs(), done_), items * operands_.type->size);
    done_ += items;
  }
  base::Status& status() { return status_; }

 private:
  void* theirs() const { return own_ == result_ ? room_.data() : result_; }

  Operands operands_;
  const void* own_;
  void* result_;
  ItemRoom room_;
  std::uint64_t done_ = 0;  ///< items
  base::Status status_;
};

bool meet_reduce_of_two(Meeting& meeting, const Operands& operands, const void* own, void* result, int root) {
  if (meeting.call.rank != root) {
    const bool is_laid = meeting.is_for_belt(table().belt.reduce, operands.bytes()) && meeting.lay_for_all(operands.all(own));
    return is_laid || meeting.elsewhere();
  }
  if (const auto said = meeting.hear(1 - root)) {
    meeting.note_length(1 - root, said->size(), operands.bytes());
    return true;
  }
  const auto laid = meeting.laid_by(1 - root);
  if (!laid) return false;
  Combined combined(meeting, operands, own, result);
  meeting.take_off_belt(1 - root, *laid, operands.bytes(), [&](std::uint64_t first, ConstBytes bytes) {
    if (combined.status()) combined.take(first, bytes);
  });
  meeting.absorb(std::move(combined.status()));
  return true;
}

}  // namespace

bool meet_reduce(Meeting& meeting, const Operands& operands, const void* own, void* result, int root) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  if (!is_for_board(operands)) {
    if (size == 2 && operands.type->contiguous && operands.op->commutative) return meet_reduce_of_two(meeting, operands, own, result, root);
    return rank == root ? false : meeting.elsewhere();
  }
  if (rank != root) {
    meeting.say(operands.all(own), root);
    return true;
  }
  const int first = operands.op->commutative ? root : 0;  // of the tree
  Values values(operands);
  for (int number = 0; number < size; ++number) {
    const int from = (first + number) % size;
    if (from == root) values.set(number, own);
    else hear_value(meeting, operands, values, from, number);
  }
  values.combine_tree(meeting, size);
  if (!meeting.has_failed()) base::copy_short(result, values.at(0), operands.bytes());
  return true;
}

// In the order of recursive doubling: where the members are no power of two, the first ones are paired off.
bool meet_allreduce(Meeting& meeting, const Operands& operands, const void* own, void* result) {
  if (!is_for_board(operands)) return meeting.elsewhere();
  const int size = meeting.call.size;
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size))), pairs = size - power;
  meeting.say_to_all(operands.all(own));
  Values values(operands);
  for (int from = 0; from < size; ++from) {
    if (from == meeting.call.rank) values.set(from, own);
    else hear_value(meeting, operands, values, from, from);
  }
  for (int i = 0; i < pairs; ++i) values.combine(meeting, 2 * i, 2 * i + 1);
  for (int i = 1; i < power; ++i) values.move(i < pairs ? 2 * i : i + pairs, i);
  values.combine_tree(meeting, power);
  if (!meeting.has_failed()) base::copy_short(result, values.at(0), operands.bytes());
  return true;
}

bool meet_reduce_scatter(Meeting& meeting, const Operands& operands, const void* own, void* result, const Integers& counts) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  const auto bytes_of = [&](int of) { return static_cast<std::uint64_t>(counts[static_cast<std::size_t>(of)]) * operands.type->size; };
  std::uint64_t first = 0, least = UINT64_MAX, most = 0;
  for (int of = 0; of < size; ++of) {
    if (of < rank) first += bytes_of(of);
    least = std::min(least, bytes_of(of));
    most = std::max(most, bytes_of(of));
  }
  // a note is all but the part of who puts it up; all have to come to the same answer
  if (!operands.type->contiguous || !Meeting::fits(operands.bytes() - least) || !Meeting::fits(most)) return meeting.elsewhere();
  const auto* bytes = static_cast<const std::byte*>(own);
  const Operands mine{operands.type, operands.op, static_cast<std::uint64_t>(counts[static_cast<std::size_t>(rank)])};
  meeting.say_to_all(operands.bytes() - mine.bytes(), [&](Bytes room) {
    base::copy_short(room.data(), bytes, first);
    base::copy_short(room.data() + first, bytes + first + mine.bytes(), operands.bytes() - mine.bytes() - first);
  });
  Values values(mine);
  for (int from = 0; from < size; ++from) {
    const std::uint64_t expected = operands.bytes() - bytes_of(from);
    if (from == rank) values.set(from, bytes + first);
    else values.take(meeting, from, meeting.hear(from, expected), expected, from < rank ? first - bytes_of(from) : first, from);
  }
  if (mine.count == 0) return true;
  values.combine_tree(meeting, size);
  if (!meeting.has_failed()) base::copy_short(result, values.at(0), mine.bytes());
  return true;
}

}  // namespace shim::coll
