// SPDX-License-Identifier: BSD-3-Clause
// Encodes a table as runs of consecutive members. Members of a run have equal kind of entry,
// incarnation and address length.
#include <algorithm>

#include "shim/sessions/member_table.hpp"
#include "shim/sessions/wire_bytes.hpp"
#include "shim/transport/net/net.hpp"

namespace shim::sessions {
namespace {

/// Kind of the members' addresses, in a run's first byte; with kOwnBases each member has its own
/// context base.
enum AddressForm : std::uint8_t { kNoAddress, kNodeHasAddress, kAddress };
constexpr std::uint8_t kOwnBases = 0x80;

/// Bounds the memory that a damaged length in a short message can request per member. The node's
/// table may have shorter rows; then each process keeps the address itself.
constexpr std::uint32_t kMaxAddress = transport::kMaxNetAddressBytes;

AddressForm kind_of(const MemberEntry& entry) {
  return entry.node_has_address ? kNodeHasAddress : entry.address.empty() ? kNoAddress : kAddress;
}

/// Rows `begin` to `end` - 1 of the table.
struct RowRun {
  std::size_t begin, end;
};

RowRun run_from(const MemberTable& table, std::size_t begin) {
  const MemberEntry first = table.entry_at(begin);
  auto belongs = [&](std::size_t index) {
    const MemberEntry entry = table.entry_at(index);
    return table.rank_at(index) == table.rank_at(index - 1) + 1 &&
           kind_of(entry) == kind_of(first) && entry.incarnation == first.incarnation &&
           entry.address.size() == first.address.size();
  };
  std::size_t end = begin + 1;
  while (end < table.size() && belongs(end)) ++end;
  return {begin, end};
}

/// Return the offsets at which addresses of the run differ.
std::vector<std::size_t> differing_bytes(const MemberTable& table, RowRun run) {
  const auto first = table.entry_at(run.begin).address;
  std::vector<std::byte> difference(first.size());
  for (std::size_t index = run.begin + 1; index < run.end; ++index) {
    const auto address = table.entry_at(index).address;
    for (std::size_t i = 0; i < address.size(); ++i) difference[i] |= address[i] ^ first[i];
  }
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < difference.size(); ++i)
    if (difference[i] != std::byte{0}) differing.push_back(i);
  return differing;
}

/// Write the first address, the offsets at which others differ, and their bytes there.
void write_addresses(ByteWriter& out, const MemberTable& table, RowRun run) {
  const auto first = table.entry_at(run.begin).address;
  const auto differing = differing_bytes(table, run);
  out.small(static_cast<std::uint32_t>(first.size()));
  out.bytes(first);
  out.small(static_cast<std::uint32_t>(differing.size()));
  for (const std::size_t i : differing) out.small(static_cast<std::uint32_t>(i));
  std::vector<std::byte> others((run.end - run.begin - 1) * differing.size());
  auto* next = others.data();
  for (std::size_t index = run.begin + 1; index < run.end; ++index) {
    const auto address = table.entry_at(index).address;
    for (const std::size_t i : differing) *next++ = address[i];
  }
  out.bytes(others);
}

void write_run(ByteWriter& out, const MemberTable& table, RowRun run) {
  const MemberEntry first = table.entry_at(run.begin);
  bool has_own_bases = false;
  for (std::size_t index = run.begin; index < run.end; ++index)
    has_own_bases |= table.entry_at(index).context_base != first.context_base;
  const AddressForm kind = kind_of(first);
  out.number(static_cast<std::uint8_t>(kind | (has_own_bases ? kOwnBases : 0)));
  out.small(static_cast<std::uint32_t>(run.end - run.begin));
  out.small(first.incarnation);
  const std::size_t with_base = has_own_bases ? run.end : run.begin + 1;
  for (std::size_t index = run.begin; index < with_base; ++index)
    out.small(table.entry_at(index).context_base);
  if (kind == kAddress) write_addresses(out, table, run);
}

/// Common values of a run's members.
struct RunHead {
  std::uint32_t count = 0, incarnation = 0;
  AddressForm kind = kNoAddress;
  std::vector<std::uint32_t> bases;  ///< one, or one per member
  std::uint32_t base_of(std::size_t member) const { return bases[bases.size() > 1 ? member : 0]; }
};

RunHead read_head(ByteReader& in, std::uint32_t most) {
  RunHead head;
  const auto kind = in.number<std::uint8_t>();
  head.kind = static_cast<AddressForm>(kind & ~kOwnBases);
  head.count = in.small();
  head.incarnation = in.small();
  if (head.kind > kAddress || head.count == 0 || head.count > most) in.refuse();
  const std::uint32_t bases = (kind & kOwnBases) != 0 ? head.count : 1;
  for (std::uint32_t i = 0; i < bases && in.ok(); ++i) head.bases.push_back(in.small());
  return head;
}

/// Reads the addresses of a run one by one.
class AddressReader {
 public:
  explicit AddressReader(ByteReader& in) : in_(in) {
    const std::uint32_t length = in.small();
    if (length == 0 || length > kMaxAddress) in.refuse();
    const auto first = in.bytes(in.ok() ? length : 0);
    address_.assign(first.begin(), first.end());
    const std::uint32_t differing = in.small();
    for (std::uint32_t i = 0; i < differing && in.ok(); ++i) add_differing(in.small());
  }
  std::span<const std::byte> first() const { return address_; }
  std::span<const std::byte> next() {
    const auto bytes = in_.bytes(differing_.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) address_[differing_[i]] = bytes[i];
    return address_;
  }

 private:
  /// Offsets ascend, so there are at most as many as address bytes.
  void add_differing(std::uint32_t at) {
    if (at >= address_.size() || (!differing_.empty() && at <= differing_.back()))
      return in_.refuse();
    differing_.push_back(at);
  }

  ByteReader& in_;
  std::vector<std::byte> address_;
  std::vector<std::uint32_t> differing_;
};

void read_run(ByteReader& in, MemberTable& into, std::uint32_t rank, const RunHead& head) {
  MemberEntry entry{.context_base = 0,
                    .incarnation = head.incarnation,
                    .address = {},
                    .node_has_address = head.kind == kNodeHasAddress};
  auto add = [&](std::uint32_t member) {
    entry.context_base = head.base_of(member);
    into.set(static_cast<int>(rank + member), entry);
  };
  if (head.kind != kAddress) {
    into.reserve(head.count, 0);
    for (std::uint32_t member = 0; member < head.count; ++member) add(member);
    return;
  }
  AddressReader addresses(in);
  if (!in.ok()) return;
  into.reserve(head.count, head.count * addresses.first().size());
  for (std::uint32_t member = 0; member < head.count && in.ok(); ++member) {
    entry.address = member == 0 ? addresses.first() : addresses.next();
    if (in.ok()) add(member);
  }
}

}  // namespace

void write_table(ByteWriter& out, const MemberTable& table) {
  out.small(static_cast<std::uint32_t>(table.size()));
  std::uint32_t next_rank = 0;
  for (std::size_t index = 0; index < table.size();) {
    const RowRun run = run_from(table, index);
    out.small(static_cast<std::uint32_t>(table.rank_at(run.begin)) - next_rank);
    write_run(out, table, run);
    next_rank = static_cast<std::uint32_t>(table.rank_at(run.end - 1)) + 1;
    index = run.end;
  }
}

MemberTable read_table(ByteReader& in, std::uint32_t members) {
  MemberTable table;
  std::uint32_t rank = 0;
  for (std::uint32_t left = in.small(); left > 0 && in.ok();) {
    const std::uint32_t skipped = in.small();
    if (left > members - rank || skipped > members - rank - left) in.refuse();
    if (!in.ok()) break;
    rank += skipped;
    const RunHead head = read_head(in, left);
    if (!in.ok()) break;
    read_run(in, table, rank, head);
    rank += head.count;
    left -= head.count;
  }
  return table;
}

}  // namespace shim::sessions
