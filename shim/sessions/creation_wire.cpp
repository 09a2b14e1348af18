// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_wire.hpp"

#include <functional>
#include <string_view>
#include <type_traits>

#include "shim/sessions/wire_bytes.hpp"

namespace shim::sessions {
namespace {

/// Exceeds every well-formed count, so that a damaged length cannot exhaust memory.
constexpr std::uint32_t kMaxItems = 1u << 26;

class Writer : public ByteWriter {
 public:
  void key(const CreationKey& key) {
    text(key.scope);
    text(key.tag);
    ranges(key.ranges);
    text(key.topology);
  }
  void ranges(const std::vector<ProcessRange>& ranges) {
    number(static_cast<std::uint32_t>(ranges.size()));
    for (const ProcessRange& range : ranges) {
      number(range.world);
      number(range.start);
      number(range.count);
      number(range.stride);
    }
  }
  void address(const NetworkAddress& address) {
    number(address.incarnation);
    small(static_cast<std::uint32_t>(address.bytes.size()));
    bytes(address.bytes);
  }
};

class Reader : public ByteReader {
 public:
  Reader(std::span<const std::byte> bytes, std::uint32_t processes)
      : ByteReader(bytes), processes_(processes) {}
  std::uint32_t count() {
    auto value = number<std::uint32_t>();
    if (value > kMaxItems) refuse();
    return ok() ? value : 0;
  }
  CreationKey key() { return {text(), text(), ranges(), text()}; }  // in this order
  std::vector<ProcessRange> ranges() {
    std::vector<ProcessRange> ranges;
    for (std::uint32_t left = count(); left > 0 && ok(); --left) {
      ProcessRange range;
      range.world = number<std::uint32_t>();
      range.start = number<std::uint32_t>();
      range.count = number<std::uint32_t>();
      range.stride = number<std::int32_t>();
      // ranks beyond this range would make its arithmetic undefined
      const std::int64_t last = range.start + (std::int64_t{range.count} - 1) * range.stride;
      if (range.count == 0 || last < 0 || last > INT32_MAX || range.start > INT32_MAX) refuse();
      ranges.push_back(range);
    }
    return ranges;
  }
  NetworkAddress address() {
    const auto incarnation = number<std::uint32_t>();
    const auto taken = bytes(small());
    return {incarnation, {taken.begin(), taken.end()}};
  }
  MemberTable entries() { return read_table(*this, processes_); }

 private:
  std::uint32_t processes_;
};

void write(Writer& out, const ContributionMessage& message) {
  out.key(message.key);
  write_table(out, message.entries);
}
void write(Writer& out, const OutcomeMessage& message) {
  out.key(message.key);
  out.number(message.id.root);
  out.number(message.id.counter);
  out.number(message.vci);
  write_table(out, message.entries);
}
void write(Writer& out, const FailureMessage& message) {
  out.key(message.key);
  out.number(message.call_id);
  out.number(message.error_class);
  out.text(message.text);
  out.ranges(message.excluded.elsewhere);
  out.ranges(message.excluded.dead);
}
void write(Writer& out, const StatusRequest& message) {
  out.key(message.key);
  out.number(message.call_id);
  out.number(message.waited_ms);
  out.address(message.requester);
}
void write(Writer& out, const StatusReply& message) {
  out.key(message.asked);
  out.number(std::uint8_t{message.several_threads});
  out.number(static_cast<std::uint32_t>(message.waiting.size()));
  for (const CreationKey& key : message.waiting) out.key(key);
  out.text(message.missing);
  out.number(message.quiet_ms);
}
void write(Writer& out, const ReturnedContribution& message) {
  out.key(message.key);
  out.number(message.call_id);
  out.number(message.incarnation);
}

void read(Reader& in, ContributionMessage& message) {
  message.key = in.key();
  message.entries = in.entries();
}
void read(Reader& in, OutcomeMessage& message) {
  message.key = in.key();
  message.id.root = in.number<std::uint64_t>();
  message.id.counter = in.number<std::uint64_t>();
  message.vci = in.number<std::uint8_t>();
  message.entries = in.entries();
}
void read(Reader& in, FailureMessage& message) {
  message.key = in.key();
  message.call_id = in.number<std::uint32_t>();
  message.error_class = in.number<base::ErrorClass>();
  if (message.error_class <= base::ErrorClass::success ||
      message.error_class > base::kLastErrorClass)
    message.error_class = base::ErrorClass::intern;
  message.text = in.text();
  message.excluded = {in.ranges(), in.ranges()};  // in this order
}
void read(Reader& in, StatusRequest& message) {
  message.key = in.key();
  message.call_id = in.number<std::uint32_t>();
  message.waited_ms = in.number<std::uint32_t>();
  message.requester = in.address();
}
void read(Reader& in, StatusReply& message) {
  message.asked = in.key();
  message.several_threads = in.number<std::uint8_t>() != 0;
  for (std::uint32_t left = in.count(); left > 0 && in.ok(); --left)
    message.waiting.push_back(in.key());
  message.missing = in.text();
  message.quiet_ms = in.number<std::uint32_t>();
}
void read(Reader& in, ReturnedContribution& message) {
  message.key = in.key();
  message.call_id = in.number<std::uint32_t>();
  message.incarnation = in.number<std::uint32_t>();
}

/// Read the alternative with this index.
template <std::size_t Index = 0>
std::optional<CreationMessage> read_alternative(std::size_t index, Reader& in) {
  if constexpr (Index == std::variant_size_v<CreationMessage>) {
    return std::nullopt;
  } else {
    if (index != Index) return read_alternative<Index + 1>(index, in);
    std::variant_alternative_t<Index, CreationMessage> message;
    read(in, message);
    if (!in.at_end()) return std::nullopt;
    return message;
  }
}

}  // namespace

std::size_t CreationKeyHash::operator()(const CreationKey& key) const {
  static_assert(std::has_unique_object_representations_v<ProcessRange>, "its bytes are its value");
  const std::string_view ranges(reinterpret_cast<const char*>(key.ranges.data()),
                                key.ranges.size() * sizeof(ProcessRange));
  std::size_t hash = 0;
  for (std::string_view part : {std::string_view(key.scope), std::string_view(key.tag), ranges,
                                std::string_view(key.topology)})
    hash = hash * 31 + std::hash<std::string_view>()(part);
  return hash;
}

std::vector<std::byte> bytes_of(const CreationKey& key) {
  Writer writer;
  writer.key(key);
  return writer.take();
}

std::vector<std::byte> encode(const CreationMessage& message) {
  Writer out;
  out.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& alternative) { write(out, alternative); }, message);
  return out.take();
}

std::optional<CreationMessage> decode(std::span<const std::byte> bytes, std::uint32_t processes) {
  Reader in(bytes, processes);
  auto index = in.number<std::uint8_t>();
  return read_alternative(index, in);
}

}  // namespace shim::sessions
