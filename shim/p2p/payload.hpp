// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a message in the user's memory, by offset in the message. All sends read and all receives write through these
// two, so this is the one place that has to know how a datatype lies in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "shim/transport/transport.hpp"
#include "shim/types/types.hpp"

namespace shim::p2p {

/// A message to be sent. The memory stays the caller's; of items with holes, a copy of the data without them is sent.
class Outgoing {
 public:
  Outgoing() = default;
  explicit Outgoing(const types::ConstBuffer& data)
      : begin_(static_cast<const std::byte*>(data.address)), bytes_(data.bytes()) {
    if (!data.type->contiguous) [[unlikely]] pack(data);
  }
  Outgoing(const std::byte* begin, std::uint64_t bytes) : begin_(begin), bytes_(bytes) {}

  /// Takes the data anew, for the next start of a persistent send.
  void refresh() {
    if (packed_) pack(items_);
  }
  std::uint64_t bytes() const { return bytes_; }
  /// The bytes from offset on, at most `most` of them.
  transport::ConstSpan window(std::uint64_t offset, std::uint64_t most) const {
    return {begin_ + offset, static_cast<std::size_t>(std::min(most, bytes_ - offset))};
  }
  transport::ConstSpan all() const { return {begin_, static_cast<std::size_t>(bytes_)}; }
  /// Where another process can read the whole message in one run.
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(begin_); }

 private:
  void pack(const types::ConstBuffer& items) {
    items_ = items;
    type_ = types::keep(*items.type);
    if (!packed_) packed_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    types::pack(*items.type, items.address, 0, {packed_.get(), static_cast<std::size_t>(bytes_)});
    begin_ = packed_.get();
  }

  const std::byte* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<std::byte[]> packed_;  ///< set where the items have holes
  types::ConstBuffer items_;             ///< what was packed
  types::TypePtr type_;                  ///< keeps its type
};

/// Where a message is received to. The memory stays the caller's. Holes in its items are not written.
class Incoming {
 public:
  Incoming() = default;
  explicit Incoming(const types::Buffer& into)
      : begin_(static_cast<std::byte*>(into.address)), capacity_(into.bytes()),
        holed_(into.type->contiguous ? nullptr : into.type), element_(into.type->base) {
    if (holed_ != nullptr) [[unlikely]] type_ = types::keep(*holed_);
  }

  std::uint64_t capacity() const { return capacity_; }
  /// Of the memory; where the message lands in one run, that of its bytes.
  std::byte* begin() const { return begin_; }
  /// Messages consist of whole elements of so many bytes; 1 where elements differ.
  std::uint64_t element_bytes() const {
    const bool is_of_one_kind = element_ != nullptr && element_->elements == 1 && element_->size != 0;
    return is_of_one_kind ? element_->size : 1;
  }
  /// Does the message land in one run of bytes, so that window() may be used?
  bool is_one_run() const { return holed_ == nullptr; }
  /// Writes what fits.
  void put(std::uint64_t offset, transport::ConstSpan bytes) {
    if (offset >= capacity_ || bytes.empty()) return;
    bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), capacity_ - offset)));
    if (holed_ == nullptr) [[likely]] std::memcpy(begin_ + offset, bytes.data(), bytes.size());
    else types::unpack(*holed_, bytes, offset, begin_);
  }
  /// Memory that stands for the bytes from offset on, at most `most` of them, to be filled from elsewhere.
  std::span<std::byte> window(std::uint64_t offset, std::uint64_t most) {
    return {begin_ + offset, static_cast<std::size_t>(std::min(most, capacity_ - offset))};
  }

 private:
  std::byte* begin_ = nullptr;
  std::uint64_t capacity_ = 0;
  const types::Type* holed_ = nullptr;  ///< the type, where its items have holes
  const types::Type* element_ = nullptr;  ///< predefined; null where elements differ
  types::TypePtr type_;                 ///< keeps the type that has holes
};

}  // namespace shim::p2p
