// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/pset_notice.hpp"

#include <cstring>

namespace shim::sessions {
namespace {

/// "This is about a process set"; whatever else notices may be about begins otherwise.
constexpr std::byte kSubject{'P'};

/// start, count, stride; the world is the job's own.
struct WireRange {
  std::uint32_t start, count;
  std::int32_t stride;
};
static_assert(sizeof(WireRange) == 12);

template <typename T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

template <typename T>
std::optional<T> take(std::span<const std::byte>& bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

bool is_in_world(const Range& range, std::uint32_t world_size) {
  return range.count > 0 && range.count <= world_size && range.stride != 0 && range.start < world_size && range.lowest() >= 0 &&
         range.highest() < world_size;
}

/// Null where some process is not of this world, or comes twice.
GroupPtr group_of(std::span<const std::byte> bytes, std::uint32_t world_size) {
  std::vector<Range> ranges;
  std::vector<bool> is_member(world_size);
  while (auto read = take<WireRange>(bytes)) {
    const Range range{0, read->start, read->count, read->stride};
    if (!is_in_world(range, world_size)) return nullptr;
    for (std::int64_t i = 0; i < range.count; ++i) {
      const auto member = static_cast<std::size_t>(range.at(i));
      if (is_member[member]) return nullptr;
      is_member[member] = true;
    }
    ranges.push_back(range);
  }
  return bytes.empty() && !ranges.empty() ? Group::of_ranges(std::move(ranges)) : nullptr;
}

}  // namespace

std::vector<std::byte> encode(const PsetNotice& notice) {
  std::vector<std::byte> bytes = {kSubject, static_cast<std::byte>(notice.kind)};
  append(bytes, static_cast<std::uint32_t>(notice.name.size()));
  const auto* name = reinterpret_cast<const std::byte*>(notice.name.data());
  bytes.insert(bytes.end(), name, name + notice.name.size());
  if (!notice.group) return bytes;
  for (const Range& range : notice.group->ranges()) append(bytes, WireRange{range.start, range.count, range.stride});
  return bytes;
}

std::optional<PsetNotice> decode_pset_notice(std::span<const std::byte> bytes, std::uint32_t world_size) {
  using Kind = PsetNotice::Kind;
  if (take<std::byte>(bytes) != kSubject) return std::nullopt;
  const auto kind = take<Kind>(bytes);
  const auto length = take<std::uint32_t>(bytes);
  if (!length || *length == 0 || *length > bytes.size()) return std::nullopt;
  PsetNotice notice{*kind, std::string(reinterpret_cast<const char*>(bytes.data()), *length), nullptr};
  bytes = bytes.subspan(*length);
  if (notice.kind != Kind::wanted)
    return bytes.empty() && (notice.kind == Kind::granted || notice.kind == Kind::withdrawn) ? std::optional(std::move(notice)) : std::nullopt;
  notice.group = group_of(bytes, world_size);
  return notice.group ? std::optional(std::move(notice)) : std::nullopt;
}

}  // namespace shim::sessions
