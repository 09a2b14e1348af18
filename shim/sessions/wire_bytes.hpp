// SPDX-License-Identifier: BSD-3-Clause
// ByteWriter and ByteReader encode and decode numbers and byte sequences. Both ends run one library
// build on one architecture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shim::sessions {

class ByteWriter {
 public:
  template <typename Number>
  void number(Number value) {
    static_assert(std::is_arithmetic_v<Number> || std::is_enum_v<Number>);
    const std::size_t at = out_.size();
    out_.resize(at + sizeof value);
    std::memcpy(out_.data() + at, &value, sizeof value);
  }
  /// Write a number in as few bytes as needed: seven bits per byte, lowest first; bit 7 is set in
  /// all but the last byte.
  void small(std::uint32_t value) {
    for (; value > 0x7f; value >>= 7) byte(std::byte(0x80 | (value & 0x7f)));
    byte(std::byte(value));
  }
  void byte(std::byte value) { out_.push_back(value); }
  void bytes(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes(std::as_bytes(std::span(value)));
  }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

/// Reads the output of ByteWriter. After the first mismatch, all reads return zero and ok() is
/// false.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }
  /// Mark the input as malformed, for errors that only the caller detects.
  void refuse() { ok_ = false; }

  template <typename Number>
  Number number() {
    Number value{};
    if (auto taken = bytes(sizeof value); ok_) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  std::uint32_t small() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const auto next = number<std::uint8_t>();
      value |= std::uint64_t{next & 0x7fu} << shift;
      if ((next & 0x80) == 0)
        return value <= UINT32_MAX ? static_cast<std::uint32_t>(value) : (refuse(), 0);
    }
    refuse();
    return 0;
  }
  std::span<const std::byte> bytes(std::size_t size) {
    if (!ok_ || size > left_.size()) {
      ok_ = false;
      return {};
    }
    auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::string text() {
    auto taken = bytes(number<std::uint32_t>());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace shim::sessions
