// SPDX-License-Identifier: BSD-3-Clause
// SendBuffer and ReceiveBuffer access a message's bytes in the user's memory, by offset.
// All sends and receives use these two classes; no other code knows the memory layout of a
// datatype.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "shim/base/copy_between_cores.hpp"
#include "shim/base/older_compilers.hpp"
#include "shim/transport/transport.hpp"
#include "shim/types/types.hpp"

namespace shim::p2p {

/// Packs the data of items with holes, one part at a time, when the part is sent.
class PackedStream {
 public:
  explicit PackedStream(const types::ConstBuffer& items)
      : items_(items), type_(types::keep(*items.type)) {}

  void copy_part(std::uint64_t offset, std::span<std::byte> to) const {
    types::pack(*items_.type, items_.address, offset, to);
  }
  /// Return a part; valid until another one is requested.
  transport::ConstSpan part(std::uint64_t offset, std::size_t bytes) {
    if (offset != offset_ || bytes != bytes_) {
      if (bytes > capacity_)
        part_ = base::make_unique_for_overwrite<std::byte[]>(capacity_ = bytes);
      copy_part(offset, {part_.get(), bytes});
      offset_ = offset;
      bytes_ = bytes;
    }
    return {part_.get(), bytes};
  }
  /// Discard the cached part after the items have changed.
  void invalidate() { bytes_ = 0; }

 private:
  types::ConstBuffer items_;
  types::TypePtr type_;  ///< keeps the items' type
  std::unique_ptr<std::byte[]> part_;
  std::size_t capacity_ = 0, bytes_ = 0;
  std::uint64_t offset_ = 0;
};

/// A message to be sent. The memory stays the caller's; items with holes are packed as they leave.
class SendBuffer {
 public:
  SendBuffer() = default;
  explicit SendBuffer(const types::ConstBuffer& data)
      : begin_(static_cast<const std::byte*>(data.address)), bytes_(data.bytes()) {
    if (data.type->contiguous) [[likely]]
      return;
    begin_ = types::find_one_run(*data.type, const_cast<void*>(data.address),
                                 bytes_);  // which only computes an address
    if (begin_ == nullptr) packed_ = std::make_unique<PackedStream>(data);
  }
  SendBuffer(const std::byte* begin, std::uint64_t bytes) : begin_(begin), bytes_(bytes) {}

  /// Read the data again for the next start of a persistent send.
  void refresh() {
    if (packed_) packed_->invalidate();
  }
  std::uint64_t bytes() const { return bytes_; }
  /// Return the bytes from offset on, at most `most`. Valid until the next call.
  transport::ConstSpan window(std::uint64_t offset, std::uint64_t most) {
    const auto length = static_cast<std::size_t>(std::min(most, bytes_ - offset));
    if (packed_) [[unlikely]]
      return packed_->part(offset, length);
    return {begin_ + offset, length};
  }
  transport::ConstSpan all() { return window(0, bytes_); }
  /// Copy the bytes from offset on.
  void copy_part(std::uint64_t offset, std::span<std::byte> to) const {
    if (packed_)
      packed_->copy_part(offset, to);
    else if (!to.empty())
      base::copy_long(to.data(), begin_ + offset, to.size());
  }
  /// True if the message is one run of bytes, which another process can read.
  bool is_one_run() const { return packed_ == nullptr; }
  /// Return the address of that run; 0 if there is none.
  std::uint64_t address() const {
    return is_one_run() ? reinterpret_cast<std::uintptr_t>(begin_) : 0;
  }

 private:
  const std::byte* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<PackedStream> packed_;  ///< set if the items have holes
};

/// The memory that a message is received into. It stays the caller's. Holes are not written.
class ReceiveBuffer {
 public:
  ReceiveBuffer() = default;
  [[gnu::always_inline]] explicit ReceiveBuffer(const types::Buffer& into)
      : begin_(static_cast<std::byte*>(into.address)),
        capacity_(into.bytes()),
        element_(into.type->base) {
    if (!into.type->contiguous) [[unlikely]]
      look_for_holes(*into.type);
  }

  std::uint64_t capacity() const { return capacity_; }
  /// Return the buffer's address, or the run's if the message is received into one run.
  std::byte* begin() const { return begin_; }
  /// Return the size of the elements that messages consist of; 1 if elements differ.
  std::uint64_t element_bytes() const {
    const bool is_of_one_kind = element_ != nullptr && element_->elements == 1 &&
                                element_->size != 0;
    return is_of_one_kind ? element_->size : 1;
  }
  /// True if the message is received into one run of bytes, so that window() may be used.
  bool is_one_run() const { return holed_ == nullptr; }
  /// True if the next runs from offset on are long enough to be named one by one in a read; shorter
  /// runs are faster unpacked.
  bool is_of_long_runs(std::uint64_t offset) const {
    std::array<std::span<std::byte>, kRunsLookedAt> some;
    const types::Pieces pieces = types::find_pieces(*holed_, begin_, offset, capacity_ - offset,
                                                    some);
    return pieces.bytes >= pieces.count * kLongRun;
  }
  /// Find the memory of the bytes from offset on, at most `most`, as many runs as `out` has space
  /// for; for buffers that are not one run.
  types::Pieces pieces(std::uint64_t offset, std::uint64_t most,
                       std::span<std::span<std::byte>> out) {
    return types::find_pieces(*holed_, begin_, offset, std::min(most, capacity_ - offset), out);
  }
  /// Write the bytes that fit.
  void write(std::uint64_t offset, transport::ConstSpan bytes) {
    if (offset >= capacity_ || bytes.empty()) return;
    bytes = bytes.first(
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), capacity_ - offset)));
    if (holed_ == nullptr) [[likely]]
      base::copy_from_other_core(begin_ + offset, bytes.data(), bytes.size());
    else
      types::unpack(*holed_, bytes, offset, begin_);
  }
  /// Return the memory of the bytes from offset on, at most `most`, for the caller to fill.
  std::span<std::byte> window(std::uint64_t offset, std::uint64_t most) {
    return {begin_ + offset, static_cast<std::size_t>(std::min(most, capacity_ - offset))};
  }

 private:
  static constexpr std::size_t kRunsLookedAt = 16, kLongRun = 2048;

  void look_for_holes(const types::Type& type) {
    type_ = types::keep(type);
    if (std::byte* run = types::find_one_run(type, begin_, capacity_))
      begin_ = run;
    else
      holed_ = &type;
  }

  std::byte* begin_ = nullptr;
  std::uint64_t capacity_ = 0;
  const types::Type* holed_ = nullptr;    ///< the type, if its items have holes
  const types::Type* element_ = nullptr;  ///< predefined; null if elements differ
  types::TypePtr type_;                   ///< keeps the type with holes
};

}  // namespace shim::p2p
