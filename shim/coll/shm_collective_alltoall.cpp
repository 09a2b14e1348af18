// SPDX-License-Identifier: BSD-3-Clause
// Collectives in the collective segment in which a member has different data for each receiver.
// In an alltoall all members receive a part; in neighborhood collectives some do.
#include <array>
#include <cstring>

#include "shim/coll/shm_collective.hpp"

namespace shim::coll {
namespace {

/// Write data without the holes of its type.
void write(ShmCollective& shm, const types::ConstBuffer& data, Bytes to) {
  if (data.type->contiguous) [[likely]]
    shm.write_part(to, ConstBytes(static_cast<const std::byte*>(data.address), data.bytes()));
  else
    types::pack(*data.type, data.address, 0, to.first(data.bytes()));
}

/// Return the index of the block for `rank` among the blocks that member `of` published, which omit
/// the block for `of` itself.
int index_among_others(int rank, int of) { return rank < of ? rank : rank - 1; }

/// Wait until the messages are complete. After a failure do not wait, because the members that know
/// of the failure send nothing more.
void finish(ShmCollective& shm, std::optional<InlineCollective>& messages) {
  if (messages && !shm.has_failed()) shm.record_status(messages->finish());
}

/// For two members: exchange blocks and copy the local block.
bool exchange_pair(ShmCollective& shm, const types::ConstBuffer& out, const types::Buffer& in,
                   const types::ConstBuffer& own, const types::Buffer& own_scratch) {
  shm.exchange(out, in);
  if (!shm.has_failed()) shm.copy_local(own, own_scratch);
  return true;
}

/// True if the blocks to send are in the receive buffer (MPI_IN_PLACE). Equal addresses with
/// different types are not in place: the types may select different fields of an array of structs.
bool are_same_blocks(const BlocksOut& out, const BlocksIn& in) {
  return out.address == in.address && out.type == in.type;
}

/// For two members with blocks that do not fit.
bool alltoall_pair(ShmCollective& shm, const BlocksOut& out, const BlocksIn& in) {
  const int rank = shm.call.rank, other = 1 - rank;
  if (!are_same_blocks(out, in))
    return exchange_pair(shm, out.at(other), in.at(other), out.at(rank), in.at(rank));
  shm.exchange(out.at(other), in.at(other), true);
  return true;
}

/// Publish all blocks but the local one, of `block` bytes each. If there is no free scatter buffer,
/// publish that this member sends them by messages, and return false.
bool publish_blocks(ShmCollective& shm, const BlocksOut& out, std::uint64_t block) {
  const int rank = shm.call.rank, size = shm.call.size;
  const std::uint64_t bytes = block * static_cast<std::uint64_t>(size - 1);
  if (!shm.has_space_for_parts(bytes)) [[unlikely]] {
    shm.publish_by_messages();
    return false;
  }
  shm.publish_to_all(bytes, [&](Bytes scratch) {
    for (int to = 0; to < size; ++to)
      if (to != rank)
        write(shm, out.at(to),
              scratch.subspan(static_cast<std::uint64_t>(index_among_others(to, rank)) * block));
  });
  return true;
}

}  // namespace

bool shm_alltoall(ShmCollective& shm, const BlocksOut& out, const BlocksIn& in) {
  const int rank = shm.call.rank, size = shm.call.size;
  const auto others = static_cast<std::uint64_t>(size - 1);
  const std::uint64_t block = out.at(0).bytes(), expected = in.at(0).bytes();
  if (size == 2 && !shm.fits(block)) return alltoall_pair(shm, out, in);
  if (shm.path(block) == SegmentPath::messages || !parts_fit(block * others))
    return shm.fall_back();
  const bool in_place = are_same_blocks(out, in), is_published = publish_blocks(shm, out, block);
  std::optional<InlineCollective> messages;
  const auto by_messages = [&]() -> InlineCollective& {
    return messages ? *messages : messages.emplace(shm.seq);
  };
  if (!in_place) shm.copy_local(out.at(rank), in.at(rank));
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    const auto published = shm.read_blocks(other, expected * others);
    if (shm.has_failed() || (!published && !shm.is_sent_by_messages(other))) continue;
    shm.record_read(other);
    // send only after reading, and not to a member that fell back: its data is longer, and this
    // member would wait for it in vain
    if (!is_published)
      by_messages().post_send(
          out.at(other), other,
          in_place ? InlineCollective::Buffering::copy : InlineCollective::Buffering::nothing);
    if (!published) {
      if (expected == 0)
        by_messages().refuse(other);
      else
        by_messages().post_receive(in.at(other), other);
      continue;
    }
    const std::uint64_t theirs = published->size() / others;
    shm.take(other,
             published->subspan(
                 static_cast<std::uint64_t>(index_among_others(rank, other)) * theirs, theirs),
             in.at(other));
  }
  finish(shm, messages);
  return true;
}

namespace {

/// Published data with parts of different lengths starts with the number of parts and one entry per
/// part: the receiver, and the end of the part as an offset in the data after the entries.
struct PartEntry {
  std::uint16_t rank, end;
};
using PartCount = std::uint16_t;
std::size_t head_of(std::size_t parts) { return sizeof(PartCount) + parts * sizeof(PartEntry); }
constexpr std::size_t kMaxParts = (node::kMediumBufferBytes - sizeof(PartCount)) /
                                  sizeof(PartEntry);

/// Publish the parts out(0) to out(count - 1), except those for this member, and wake only their
/// receivers. If the parts do not fit, publish a fallback and return false.
template <typename Out>
bool publish_parts(ShmCollective& shm, int count, const Out& out) {
  std::array<PartEntry, kMaxParts> entries;
  std::size_t parts = 0;
  std::uint64_t bytes = 0;
  node::MemberSet members = 0;
  for (int i = 0; i < count; ++i) {
    const OutgoingBlock part = out(i);
    if (part.dest == shm.call.rank) continue;
    bytes += part.data.bytes();
    if (parts == kMaxParts || shm.path(part.data.bytes()) != SegmentPath::scatter_buffer ||
        !parts_fit(head_of(parts + 1) + bytes))
      return shm.fall_back();
    entries[parts++] = {static_cast<std::uint16_t>(part.dest), static_cast<std::uint16_t>(bytes)};
    members |= node::member(part.dest);
  }
  if (!shm.has_space_for_parts(head_of(parts) + bytes)) return shm.fall_back();
  shm.publish_to(members, head_of(parts) + bytes, [&](Bytes scratch) {
    const auto number = static_cast<PartCount>(parts);
    std::memcpy(scratch.data(), &number, sizeof number);
    std::memcpy(scratch.data() + sizeof number, entries.data(), parts * sizeof(PartEntry));
    std::size_t begin = 0;
    for (std::size_t part = 0, i = 0; part < parts; ++i) {
      const OutgoingBlock next = out(static_cast<int>(i));
      if (next.dest == shm.call.rank) continue;
      write(shm, next.data, scratch.subspan(head_of(parts) + begin));
      begin = entries[part++].end;
    }
  });
  return true;
}

/// Return the first part for this rank after `entries_read` entries, and advance `entries_read`;
/// nullopt if there is none, because that member has fewer parts for this rank or runs another
/// collective.
std::optional<ConstBytes> next_part(ConstBytes published, int rank, std::uint16_t& entries_read) {
  PartCount parts = 0;
  if (published.size() < sizeof parts) return std::nullopt;
  std::memcpy(&parts, published.data(), sizeof parts);
  const std::size_t head = head_of(parts);
  if (published.size() < head) return std::nullopt;
  const auto entry = [&](std::size_t number) {
    PartEntry found;
    std::memcpy(&found, published.data() + head_of(number), sizeof found);
    return found;
  };
  while (entries_read < parts) {
    const std::size_t number = entries_read++;
    const PartEntry part = entry(number);
    if (part.rank != rank) continue;
    const std::size_t begin = head + (number == 0 ? 0 : entry(number - 1).end),
                      end = head + part.end;
    if (begin > end || end > published.size()) return std::nullopt;
    return published.subspan(begin, end - begin);
  }
  return std::nullopt;
}

/// Exchange parts: out(i) is an OutgoingBlock, in(i) an IncomingBlock. Only sender and receiver
/// know a part's length, so that each part may use the segment or a message.
template <typename Out, typename In>
bool exchange_parts(ShmCollective& shm, int out_count, const Out& out, int in_count, const In& in) {
  const int rank = shm.call.rank;
  std::optional<InlineCollective> messages;
  const auto by_messages = [&]() -> InlineCollective& {
    return messages ? *messages : messages.emplace(shm.seq);
  };
  if (!publish_parts(shm, out_count, out)) {
    for (int i = 0; i < out_count; ++i)
      if (const OutgoingBlock part = out(i); part.dest != rank)
        by_messages().post_send(part.data, part.dest, InlineCollective::Buffering::nothing);
  }
  std::array<std::uint16_t, node::kMaxShmCollMembers> entries_read{};
  int own = 0;  // index after the last part from this member to itself
  for (int i = 0; i < in_count; ++i) {
    const auto [into, from] = in(i);
    if (from == rank) {
      while (own < out_count && out(own).dest != rank) ++own;
      if (own < out_count)
        shm.copy_local(out(own++).data, into);
      else
        shm.check_length(rank, 0, into.bytes());
    } else if (const auto published = shm.read(from)) {
      shm.record_read(from);
      const auto part = next_part(*published, rank, entries_read[static_cast<std::size_t>(from)]);
      if (part)
        shm.take(from, *part, into);
      else
        shm.check_length(from, 0, into.bytes());
    } else if (!shm.has_failed()) {
      by_messages().post_receive(into, from);
    }
  }
  finish(shm, messages);
  return true;
}

}  // namespace

bool shm_alltoallv(ShmCollective& shm, const BlocksOut& out, const BlocksIn& in) {
  const int rank = shm.call.rank, size = shm.call.size;
  if (size == 2)
    return exchange_pair(shm, out.at(1 - rank), in.at(1 - rank), out.at(rank), in.at(rank));
  return exchange_parts(
      shm, size,
      [&](int to) {
        return OutgoingBlock{out.at(to), to};
      },
      size,
      [&](int from) {
        return IncomingBlock{in.at(from), from};
      });
}

bool shm_alltoallw(ShmCollective& shm, std::span<const types::ConstBuffer> out,
                   std::span<const types::Buffer> in) {
  const int size = shm.call.size;
  if (size == 2) {
    const auto own = static_cast<std::size_t>(shm.call.rank), other = 1 - own;
    return exchange_pair(shm, out[other], in[other], out[own], in[own]);
  }
  return exchange_parts(
      shm, size,
      [&](int to) {
        return OutgoingBlock{out[static_cast<std::size_t>(to)], to};
      },
      size,
      [&](int from) {
        return IncomingBlock{in[static_cast<std::size_t>(from)], from};
      });
}

bool shm_exchange(ShmCollective& shm, std::span<const OutgoingBlock> out,
                  std::span<const IncomingBlock> in) {
  return exchange_parts(
      shm, static_cast<int>(out.size()), [&](int i) { return out[static_cast<std::size_t>(i)]; },
      static_cast<int>(in.size()), [&](int i) { return in[static_cast<std::size_t>(i)]; });
}

}  // namespace shim::coll
