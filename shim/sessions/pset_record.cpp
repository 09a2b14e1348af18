// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/pset_record.hpp"

#include <cstring>

namespace shim::sessions {
namespace {

/// First byte of records about process sets; records on other subjects begin with other bytes.
constexpr std::byte kSubject{'P'};

/// start, count, stride; always in world 0.
struct WireRange {
  std::uint32_t start, count;
  std::int32_t stride;
};
static_assert(sizeof(WireRange) == 12);

template <typename T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const std::size_t end = bytes.size();
  bytes.resize(end + sizeof value);
  std::memcpy(bytes.data() + end, &value, sizeof value);
}

template <typename T>
std::optional<T> take(std::span<const std::byte>& bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

bool is_in_world(const ProcessRange& range, std::uint32_t world_size) {
  return range.count > 0 && range.count <= world_size && range.stride != 0 &&
         range.start < world_size && range.lowest() >= 0 && range.highest() < world_size;
}

/// Null if a process is outside this world, or occurs twice.
GroupPtr group_of(std::span<const std::byte> bytes, std::uint32_t world_size) {
  std::vector<ProcessRange> ranges;
  std::vector<bool> is_member(world_size);
  while (auto read = take<WireRange>(bytes)) {
    const ProcessRange range{0, read->start, read->count, read->stride};
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

std::vector<std::byte> encode(const PsetRecord& record) {
  std::vector<std::byte> bytes = {kSubject, static_cast<std::byte>(record.kind)};
  append(bytes, static_cast<std::uint32_t>(record.name.size()));
  const auto* name = reinterpret_cast<const std::byte*>(record.name.data());
  bytes.insert(bytes.end(), name, name + record.name.size());
  if (!record.group) return bytes;
  for (const ProcessRange& range : record.group->ranges())
    append(bytes, WireRange{range.start, range.count, range.stride});
  return bytes;
}

std::optional<PsetRecord> decode_pset_record(std::span<const std::byte> bytes,
                                             std::uint32_t world_size) {
  using State = PsetRecord::State;
  if (take<std::byte>(bytes) != kSubject) return std::nullopt;
  const auto kind = take<State>(bytes);
  const auto length = take<std::uint32_t>(bytes);
  if (!length || *length == 0 || *length > bytes.size()) return std::nullopt;
  PsetRecord record{*kind, std::string(reinterpret_cast<const char*>(bytes.data()), *length),
                    nullptr};
  bytes = bytes.subspan(*length);
  if (record.kind != State::wanted)
    return bytes.empty() && (record.kind == State::granted || record.kind == State::withdrawn)
               ? std::optional(std::move(record))
               : std::nullopt;
  record.group = group_of(bytes, world_size);
  return record.group ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace shim::sessions
