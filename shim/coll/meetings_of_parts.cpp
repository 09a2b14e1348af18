// SPDX-License-Identifier: BSD-3-Clause
// What happens at a board where each member has a part for each of the others, or for those that it names.
#include <array>
#include <cstring>

#include "shim/coll/meeting.hpp"

namespace shim::coll {
namespace {

/// Without the holes of its type.
void write(Meeting& meeting, const types::ConstBuffer& data, Bytes to) {
  if (data.type->contiguous) [[likely]] meeting.write_part(to, ConstBytes(static_cast<const std::byte*>(data.address), data.bytes()));
  else types::pack(*data.type, data.address, 0, to.first(data.bytes()));
}

/// Where the block for this rank stands among those that this other member has put up, which are all but its own.
int place_among_others(int rank, int of) { return rank < of ? rank : rank - 1; }

/// Waits for those of the parts that go by messages. After a failure nobody waits: those who know of it, too, send nothing more.
void finish(Meeting& meeting, std::optional<Direct>& messages) {
  if (messages && !meeting.has_failed()) meeting.absorb(messages->finish());
}

/// Of two: the block for the other, and the own one.
bool meet_one_other(Meeting& meeting, const Turn& turn, const types::ConstBuffer& out, const types::Buffer& in, const types::ConstBuffer& own,
                    const types::Buffer& own_place) {
  meeting.exchange(turn, out, in);
  if (!meeting.has_failed()) meeting.place(own, own_place);
  return true;
}

/// True if the blocks to send are those of the receive buffer (MPI_IN_PLACE): one address with two types is two fields of one array.
bool are_same_blocks(const BlocksOut& out, const BlocksIn& in) { return out.address == in.address && out.type == in.type; }

/// Of two, more than fits.
bool meet_alltoall_of_two(Meeting& meeting, const Turn& turn, const BlocksOut& out, const BlocksIn& in) {
  const int rank = meeting.call.rank, other = 1 - rank;
  if (!are_same_blocks(out, in)) return meet_one_other(meeting, turn, out.at(other), in.at(other), out.at(rank), in.at(rank));
  meeting.exchange(turn, out.at(other), in.at(other), true);
  return true;
}

/// All blocks but the own one, each of so many bytes; false where messages are to bring them.
bool say_blocks(Meeting& meeting, const BlocksOut& out, std::uint64_t block) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  const std::uint64_t bytes = block * static_cast<std::uint64_t>(size - 1);
  if (!meeting.has_room_for_parts(bytes)) [[unlikely]] {
    meeting.say_by_messages();
    return false;
  }
  meeting.say_to_all(bytes, [&](Bytes room) {
    for (int to = 0; to < size; ++to)
      if (to != rank) write(meeting, out.at(to), room.subspan(static_cast<std::uint64_t>(place_among_others(to, rank)) * block));
  });
  return true;
}

}  // namespace

bool meet_alltoall(Meeting& meeting, const Turn& turn, const BlocksOut& out, const BlocksIn& in) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  const auto others = static_cast<std::uint64_t>(size - 1);
  const std::uint64_t block = out.at(0).bytes(), expected = in.at(0).bytes();
  if (size == 2 && !Meeting::fits(block)) return meet_alltoall_of_two(meeting, turn, out, in);
  if (!Meeting::parts_fit(block * others)) return meeting.elsewhere();
  const bool in_place = are_same_blocks(out, in), is_put_up = say_blocks(meeting, out, block);
  std::optional<Direct> messages;
  const auto by_messages = [&]() -> Direct& { return messages ? *messages : messages.emplace(turn); };
  if (!in_place) meeting.place(out.at(rank), in.at(rank));
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    const auto said = meeting.hear_blocks(turn, other, expected * others);
    if (meeting.has_failed() || (!said && !meeting.comes_by_messages(other))) continue;
    meeting.note_heard(other);
    // not before: a member that has more than fits would leave us waiting
    if (!is_put_up) by_messages().post_send(out.at(other), other, in_place ? Direct::Keeps::copy : Direct::Keeps::nothing);
    if (!said) {
      if (expected == 0) by_messages().refuse(other);
      else by_messages().post_receive(in.at(other), other);
      continue;
    }
    const std::uint64_t theirs = said->size() / others;
    meeting.take(other, said->subspan(static_cast<std::uint64_t>(place_among_others(rank, other)) * theirs, theirs), in.at(other));
  }
  finish(meeting, messages);
  return true;
}

namespace {

/// A note of parts of different lengths begins with their number, then says of each whose it is, and where it ends after all this.
struct PartEntry {
  std::uint16_t rank, end;
};
using PartCount = std::uint16_t;
std::size_t head_of(std::size_t parts) { return sizeof(PartCount) + parts * sizeof(PartEntry); }
constexpr std::size_t kMostParts = (transport::kBoardBytes - sizeof(PartCount)) / sizeof(PartEntry);

/// Puts up a part for each that is named but this member itself; false where that does not fit and is elsewhere.
template <typename Out>
bool say_parts(Meeting& meeting, int count, const Out& out) {
  std::array<PartEntry, kMostParts> entries;
  std::size_t parts = 0;
  std::uint64_t bytes = 0;
  transport::MemberSet members = 0;
  for (int i = 0; i < count; ++i) {
    const Outgoing part = out(i);
    if (part.dest == meeting.call.rank) continue;
    bytes += part.data.bytes();
    if (parts == kMostParts || !Meeting::parts_fit(head_of(parts + 1) + bytes)) return meeting.elsewhere();
    entries[parts++] = {static_cast<std::uint16_t>(part.dest), static_cast<std::uint16_t>(bytes)};
    members |= transport::member(part.dest);
  }
  if (!meeting.has_room_for_parts(head_of(parts) + bytes)) return meeting.elsewhere();
  meeting.say_to(members, head_of(parts) + bytes, [&](Bytes room) {
    const auto number = static_cast<PartCount>(parts);
    std::memcpy(room.data(), &number, sizeof number);
    std::memcpy(room.data() + sizeof number, entries.data(), parts * sizeof(PartEntry));
    std::size_t begin = 0;
    for (std::size_t part = 0, i = 0; part < parts; ++i) {
      const Outgoing next = out(static_cast<int>(i));
      if (next.dest == meeting.call.rank) continue;
      write(meeting, next.data, room.subspan(head_of(parts) + begin));
      begin = entries[part++].end;
    }
  });
  return true;
}

/// The next part for this rank, after so many entries, which grow; nothing where there is none, because that member has named fewer or
/// is in another collective.
std::optional<ConstBytes> next_part(ConstBytes said, int rank, std::uint16_t& entries_read) {
  PartCount parts = 0;
  if (said.size() < sizeof parts) return std::nullopt;
  std::memcpy(&parts, said.data(), sizeof parts);
  const std::size_t head = head_of(parts);
  if (said.size() < head) return std::nullopt;
  const auto entry = [&](std::size_t number) {
    PartEntry found;
    std::memcpy(&found, said.data() + head_of(number), sizeof found);
    return found;
  };
  while (entries_read < parts) {
    const std::size_t number = entries_read++;
    const PartEntry part = entry(number);
    if (part.rank != rank) continue;
    const std::size_t begin = head + (number == 0 ? 0 : entry(number - 1).end), end = head + part.end;
    if (begin > end || end > said.size()) return std::nullopt;
    return said.subspan(begin, end - begin);
  }
  return std::nullopt;
}

/// out(i) is an Outgoing, in(i) an Incoming. Only sender and receiver know how long a part is, so all is done however it comes.
template <typename Out, typename In>
bool meet_each_other(Meeting& meeting, const Turn& turn, int out_count, const Out& out, int in_count, const In& in) {
  const int rank = meeting.call.rank;
  std::optional<Direct> messages;
  const auto by_messages = [&]() -> Direct& { return messages ? *messages : messages.emplace(turn); };
  if (!say_parts(meeting, out_count, out)) {
    for (int i = 0; i < out_count; ++i)
      if (const Outgoing part = out(i); part.dest != rank) by_messages().post_send(part.data, part.dest, Direct::Keeps::nothing);
  }
  std::array<std::uint16_t, transport::kBoardMembers> entries_read{};
  int own = 0;  // after the last one from this member to itself
  for (int i = 0; i < in_count; ++i) {
    const auto [into, from] = in(i);
    if (from == rank) {
      while (own < out_count && out(own).dest != rank) ++own;
      if (own < out_count) meeting.place(out(own++).data, into);
      else meeting.note_length(rank, 0, into.bytes());
    } else if (const auto said = meeting.hear(from)) {
      meeting.note_heard(from);
      const auto part = next_part(*said, rank, entries_read[static_cast<std::size_t>(from)]);
      if (part) meeting.take(from, *part, into);
      else meeting.note_length(from, 0, into.bytes());
    } else if (!meeting.has_failed()) {
      by_messages().post_receive(into, from);
    }
  }
  finish(meeting, messages);
  return true;
}

}  // namespace

bool meet_alltoallv(Meeting& meeting, const Turn& turn, const BlocksOut& out, const BlocksIn& in) {
  const auto& [rank, size] = std::pair(meeting.call.rank, meeting.call.size);
  if (size == 2) return meet_one_other(meeting, turn, out.at(1 - rank), in.at(1 - rank), out.at(rank), in.at(rank));
  return meet_each_other(meeting, turn, size, [&](int to) { return Outgoing{out.at(to), to}; },
                         size, [&](int from) { return Incoming{in.at(from), from}; });
}

bool meet_alltoallw(Meeting& meeting, const Turn& turn, std::span<const types::ConstBuffer> out, std::span<const types::Buffer> in) {
  const int size = meeting.call.size;
  if (size == 2) {
    const auto own = static_cast<std::size_t>(meeting.call.rank), other = 1 - own;
    return meet_one_other(meeting, turn, out[other], in[other], out[own], in[own]);
  }
  return meet_each_other(meeting, turn, size, [&](int to) { return Outgoing{out[static_cast<std::size_t>(to)], to}; },
                         size, [&](int from) { return Incoming{in[static_cast<std::size_t>(from)], from}; });
}

bool meet_exchange(Meeting& meeting, const Turn& turn, std::span<const Outgoing> out, std::span<const Incoming> in) {
  return meet_each_other(meeting, turn, static_cast<int>(out.size()), [&](int i) { return out[static_cast<std::size_t>(i)]; },
                         static_cast<int>(in.size()), [&](int i) { return in[static_cast<std::size_t>(i)]; });
}

}  // namespace shim::coll
