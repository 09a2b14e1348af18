// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_wire.hpp"

#include <cstring>
#include <type_traits>

namespace shim::sessions {
namespace {

/// In place of an address's length.
constexpr std::uint8_t kIsInTable = 0xff;

/// A number that no well-formed message reaches, so that a damaged length does not ask for all memory.
constexpr std::uint32_t kMostItems = 1u << 26;

class Writer {
 public:
  template <typename Number>
  void number(Number value) {
    static_assert(std::is_arithmetic_v<Number> || std::is_enum_v<Number>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof value);
  }
  void run(const void* data, std::size_t size) {
    number(static_cast<std::uint32_t>(size));
    const auto* bytes = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), bytes, bytes + size);
  }
  void text(const std::string& value) { run(value.data(), value.size()); }
  void key(const CreationKey& key) {
    text(key.scope);
    text(key.tag);
    ranges(key.ranges);
  }
  void ranges(const std::vector<Range>& ranges) {
    number(static_cast<std::uint32_t>(ranges.size()));
    for (const Range& range : ranges) {
      number(range.world);
      number(range.start);
      number(range.count);
      number(range.stride);
    }
  }
  void entries(const Entries& entries) {
    number(static_cast<std::uint32_t>(entries.size()));
    for (const auto& [rank, entry] : entries) {
      number(rank);
      number(entry.context_base);
      address(entry);
    }
  }
  void address(const Entry& entry) {
    const auto& [life, bytes] = entry.address;
    number(entry.is_in_table ? kIsInTable : static_cast<std::uint8_t>(bytes.size()));
    if (!entry.is_in_table) out_.insert(out_.end(), bytes.begin(), bytes.end());
    if (entry.is_in_table || !bytes.empty()) number(life);
  }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

/// Reads what Writer wrote. After the first thing that does not fit, everything read is zero and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }

  template <typename Number>
  Number number() {
    Number value{};
    if (auto bytes = take(sizeof value); ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> run() { return take(number<std::uint32_t>()); }
  std::string text() {
    auto bytes = run();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::uint32_t count() {
    auto value = number<std::uint32_t>();
    if (value > kMostItems) ok_ = false;
    return ok_ ? value : 0;
  }
  CreationKey key() { return {text(), text(), ranges()}; }
  std::vector<Range> ranges() {
    std::vector<Range> ranges;
    for (std::uint32_t left = count(); left > 0 && ok_; --left) {
      Range range;
      range.world = number<std::uint32_t>();
      range.start = number<std::uint32_t>();
      range.count = number<std::uint32_t>();
      range.stride = number<std::int32_t>();
      // a range that leaves the ranks there are would make arithmetic on it undefined
      const std::int64_t last = range.start + (std::int64_t{range.count} - 1) * range.stride;
      if (range.count == 0 || last < 0 || last > INT32_MAX || range.start > INT32_MAX) ok_ = false;
      ranges.push_back(range);
    }
    return ranges;
  }
  Entries entries() {
    Entries entries;
    for (std::uint32_t left = count(); left > 0 && ok_; --left) {
      int rank = number<int>();
      Entry entry{.context_base = number<std::uint32_t>()};
      address(entry);
      entries.emplace(rank, std::move(entry));
    }
    return entries;
  }

  void address(Entry& entry) {
    const auto length = number<std::uint8_t>();
    entry.is_in_table = length == kIsInTable;
    const auto bytes = take(entry.is_in_table ? 0 : length);
    entry.address.bytes.assign(bytes.begin(), bytes.end());
    if (length != 0) entry.address.life = number<std::uint32_t>();
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (!ok_ || size > left_.size()) {
      ok_ = false;
      return {};
    }
    auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::span<const std::byte> left_;
  bool ok_ = true;
};

void write(Writer& out, const Contribution& message) {
  out.key(message.key);
  out.entries(message.entries);
}
void write(Writer& out, const Outcome& message) {
  out.key(message.key);
  out.number(message.id.leader);
  out.number(message.id.counter);
  out.entries(message.entries);
}
void write(Writer& out, const Failure& message) {
  out.key(message.key);
  out.number(message.call);
  out.number(message.error_class);
  out.text(message.text);
  out.ranges(message.elsewhere);
}
void write(Writer& out, const Question& message) {
  out.key(message.key);
  out.number(message.call);
  out.number(message.waited_ms);
}
void write(Writer& out, const Answer& message) {
  out.key(message.asked);
  out.number(std::uint8_t{message.several_threads});
  out.number(static_cast<std::uint32_t>(message.waiting.size()));
  for (const CreationKey& key : message.waiting) out.key(key);
  out.text(message.missing);
}
void write(Writer& out, const Returned& message) {
  out.key(message.key);
  out.number(message.call);
  out.number(message.life);
}

void read(Reader& in, Contribution& message) {
  message.key = in.key();
  message.entries = in.entries();
}
void read(Reader& in, Outcome& message) {
  message.key = in.key();
  message.id.leader = in.number<std::uint64_t>();
  message.id.counter = in.number<std::uint64_t>();
  message.entries = in.entries();
}
void read(Reader& in, Failure& message) {
  message.key = in.key();
  message.call = in.number<std::uint32_t>();
  message.error_class = in.number<base::ErrorClass>();
  if (message.error_class <= base::ErrorClass::success || message.error_class > base::ErrorClass::errhandler)
    message.error_class = base::ErrorClass::intern;
  message.text = in.text();
  message.elsewhere = in.ranges();
}
void read(Reader& in, Question& message) {
  message.key = in.key();
  message.call = in.number<std::uint32_t>();
  message.waited_ms = in.number<std::uint32_t>();
}
void read(Reader& in, Answer& message) {
  message.asked = in.key();
  message.several_threads = in.number<std::uint8_t>() != 0;
  for (std::uint32_t left = in.count(); left > 0 && in.ok(); --left) message.waiting.push_back(in.key());
  message.missing = in.text();
}
void read(Reader& in, Returned& message) {
  message.key = in.key();
  message.call = in.number<std::uint32_t>();
  message.life = in.number<std::uint32_t>();
}

/// Reads the alternative with this index.
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

std::string CreationKey::bytes() const {
  Writer out;
  out.key(*this);
  auto bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> encode(const CreationMessage& message) {
  Writer out;
  out.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& alternative) { write(out, alternative); }, message);
  return out.take();
}

std::optional<CreationMessage> decode(std::span<const std::byte> bytes) {
  Reader in(bytes);
  auto index = in.number<std::uint8_t>();
  return read_alternative(index, in);
}

}  // namespace shim::sessions
