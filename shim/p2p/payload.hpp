// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a message in the user's memory, by offset in the message. All sends read and all receives write through these
// two, so this is the one place that has to know how a datatype lies in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "shim/transport/transport.hpp"
#include "shim/types/types.hpp"

namespace shim::p2p {

/// A message to be sent. The memory stays the caller's.
class Outgoing {
 public:
  Outgoing() = default;
  explicit Outgoing(const types::ConstBuffer& data)
      : begin_(static_cast<const std::byte*>(data.address)), bytes_(data.bytes()) {}
  Outgoing(const std::byte* begin, std::uint64_t bytes) : begin_(begin), bytes_(bytes) {}

  std::uint64_t bytes() const { return bytes_; }
  /// The bytes from offset on, at most `most` of them.
  transport::ConstSpan window(std::uint64_t offset, std::uint64_t most) const {
    return {begin_ + offset, static_cast<std::size_t>(std::min(most, bytes_ - offset))};
  }
  transport::ConstSpan all() const { return {begin_, static_cast<std::size_t>(bytes_)}; }
  /// Where another process can read the whole message in one run; 0 where it lies in pieces.
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(begin_); }

 private:
  const std::byte* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Where a message is received to. The memory stays the caller's.
class Incoming {
 public:
  Incoming() = default;
  explicit Incoming(const types::Buffer& into) : begin_(static_cast<std::byte*>(into.address)), capacity_(into.bytes()) {}

  std::uint64_t capacity() const { return capacity_; }
  /// Writes what fits.
  void put(std::uint64_t offset, transport::ConstSpan bytes) {
    if (offset >= capacity_ || bytes.empty()) return;
    std::memcpy(begin_ + offset, bytes.data(), static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), capacity_ - offset)));
  }
  /// Memory that stands for the bytes from offset on, at most `most` of them, to be filled from elsewhere.
  std::span<std::byte> window(std::uint64_t offset, std::uint64_t most) {
    return {begin_ + offset, static_cast<std::size_t>(std::min(most, capacity_ - offset))};
  }

 private:
  std::byte* begin_ = nullptr;
  std::uint64_t capacity_ = 0;
};

}  // namespace shim::p2p
