// SPDX-License-Identifier: BSD-3-Clause
// What happens at a board, collective by collective.
//
// Reductions combine in the order in which the table's algorithms for short data do, so that the same call gives the same
// bits whether there was a board left or not; those that scatter their result, as a tree over the ranks.
#include <array>
#include <bit>
#include <cstring>

#include "shim/coll/meeting.hpp"

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

/// The end of collectives to which everybody gives the same: those with more than fits go on with messages.
bool elsewhere(Meeting& meeting) {
  meeting.say_elsewhere();
  return false;
}

/// Without the holes of its type.
void write(const types::ConstBuffer& data, Bytes to) {
  if (data.type->contiguous) [[likely]] base::copy_short(to.data(), data.address, data.bytes());
  else types::pack(*data.type, data.address, 0, to.first(data.bytes()));
}

// A note of several parts begins with where each of them ends.
using PartEnds = std::array<std::uint16_t, transport::kBoardMembers>;
std::size_t head_of(int size) { return sizeof(std::uint16_t) * static_cast<std::size_t>(size); }

/// Puts up a part for each of the others; false where that does not fit and is elsewhere.
bool say_parts(Meeting& meeting, const BlocksOut& parts, int own_rank) {
  const int size = meeting.call.size;
  const std::size_t head = head_of(size);
  PartEnds ends;
  std::uint64_t bytes = 0;
  for (int to = 0; to < size; ++to) {
    if (to != own_rank) bytes += parts.at(to).bytes();
    if (!Meeting::fits(head + bytes)) return elsewhere(meeting);
    ends[static_cast<std::size_t>(to)] = static_cast<std::uint16_t>(bytes);
  }
  meeting.say_to_all(head + bytes, [&](Bytes room) {
    std::memcpy(room.data(), ends.data(), head);
    std::size_t begin = head;
    for (int to = 0; to < size; ++to) {
      if (to != own_rank) write(parts.at(to), room.subspan(begin));
      begin = head + ends[static_cast<std::size_t>(to)];
    }
  });
  return true;
}

/// All of it where it is no note of parts, because that member is in another collective.
ConstBytes part_of_said(ConstBytes said, int rank, int size) {
  const std::size_t head = head_of(size);
  PartEnds ends;
  if (said.size() < head) return said;
  std::memcpy(ends.data(), said.data(), head);
  const std::size_t begin = head + (rank == 0 ? 0 : ends[static_cast<std::size_t>(rank) - 1]);
  const std::size_t end = head + ends[static_cast<std::size_t>(rank)];
  return begin <= end && end <= said.size() ? said.subspan(begin, end - begin) : said;
}

}  // namespace

bool meet_barrier(Meeting& meeting) {
  meeting.say_to_all(Call::buffer(ConstBytes()));
  for (int rank = 0; rank < meeting.call.size; ++rank)
    if (rank != meeting.call.rank) meeting.hear(rank);
  return true;
}

bool meet_bcast(Meeting& meeting, const types::Buffer& data, int root) {
  if (meeting.call.rank == root) {
    if (!Meeting::fits(data.bytes())) return elsewhere(meeting);
    meeting.say_to_all({data.address, data.count, data.type});
    return true;
  }
  const auto said = meeting.hear(root);
  if (said) meeting.take(root, *said, data);
  return said.has_value();
}

bool meet_gather(Meeting& meeting, const types::ConstBuffer& own, const BlocksIn& all, std::uint64_t bytes, int root) {
  const bool is_root = meeting.call.rank == root;
  if (!Meeting::fits(bytes)) return is_root ? false : elsewhere(meeting);
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
  if (!Meeting::fits(theirs.bytes())) return elsewhere(meeting);
  meeting.say(theirs, 1 - root);
  if (own.type != nullptr) meeting.place(all.at(root), own);
  return true;
}

bool meet_allgather(Meeting& meeting, const types::ConstBuffer& own, const BlocksIn& all, std::uint64_t longest) {
  if (!Meeting::fits(longest)) return elsewhere(meeting);
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  const types::Buffer mine = all.at(rank);
  if (is_in_place(own)) {
    meeting.say_to_all({mine.address, mine.count, mine.type});
  } else {
    if (!Meeting::fits(own.bytes())) return elsewhere(meeting);
    meeting.say_to_all(own);
    meeting.place(own, mine);
  }
  for (int from = 0; from < size; ++from)
    if (from != rank) meeting.take(from, all.at(from));
  return true;
}

namespace {

/// Where the block for this rank stands among those that this other member has put up, which are all but its own.
int place_among_others(int rank, int of) { return rank < of ? rank : rank - 1; }

}  // namespace

bool meet_alltoall(Meeting& meeting, const BlocksOut& out, const BlocksIn& in) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  const auto others = static_cast<std::uint64_t>(size - 1);
  const std::uint64_t block = out.at(0).bytes(), expected = in.at(0).bytes();
  if (!Meeting::fits(block * others)) return elsewhere(meeting);
  meeting.say_to_all(block * others, [&](Bytes room) {
    for (int to = 0; to < size; ++to)
      if (to != rank) write(out.at(to), room.subspan(static_cast<std::uint64_t>(place_among_others(to, rank)) * block));
  });
  if (out.address != in.address) meeting.place(out.at(rank), in.at(rank));
  for (int from = 0; from < size; ++from) {
    if (from == rank) continue;
    const auto said = meeting.hear(from, expected * others);
    if (!said) continue;
    const std::uint64_t theirs = said->size() / others;
    meeting.take(from, said->subspan(static_cast<std::uint64_t>(place_among_others(rank, from)) * theirs, theirs), in.at(from));
  }
  return true;
}

bool meet_alltoallv(Meeting& meeting, const Turn& turn, const BlocksOut& out, const BlocksIn& in) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  std::optional<Direct> messages;
  const auto by_messages = [&]() -> Direct& { return messages ? *messages : messages.emplace(turn); };
  if (!say_parts(meeting, out, rank)) {
    for (int to = 0; to < size; ++to)
      if (to != rank) by_messages().post_send(out.at(to), to, Direct::Keeps::nothing);
  }
  meeting.place(out.at(rank), in.at(rank));
  for (int from = 0; from < size; ++from) {
    if (from == rank) continue;
    if (const auto said = meeting.hear(from)) meeting.take(from, part_of_said(*said, rank, size), in.at(from));
    else if (!meeting.has_failed()) by_messages().post_receive(in.at(from), from);
  }
  if (messages) meeting.absorb(messages->finish());
  return true;
}

bool meet_reduce(Meeting& meeting, const Operands& operands, const void* own, void* result, int root) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  if (!is_for_board(operands)) return rank == root ? false : elsewhere(meeting);
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
  if (!is_for_board(operands)) return elsewhere(meeting);
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
  if (!operands.type->contiguous || !Meeting::fits(operands.bytes() - least) || !Meeting::fits(most)) return elsewhere(meeting);
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
