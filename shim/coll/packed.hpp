// SPDX-License-Identifier: BSD-3-Clause
// PackedBuffer presents the user's data as contiguous bytes.
// The bytes are the user's memory if the type is contiguous ("plain"), else a packed copy. load()
// packs the user's data into the copy, store() unpacks the copy; both do nothing without a copy.
#pragma once

#include <optional>

#include "shim/coll/coll.hpp"
#include "shim/coll/scratch.hpp"

namespace shim::coll {

inline bool is_plain(const types::ConstBuffer& buffer) { return buffer.type->contiguous; }
inline bool is_plain(const types::Buffer& buffer) { return buffer.type->contiguous; }
/// Return the user's memory of a buffer without holes.
inline ConstBytes plain(const types::ConstBuffer& buffer) {
  return {static_cast<const std::byte*>(buffer.address), buffer.bytes()};
}
inline Bytes plain(const types::Buffer& buffer) {
  return {static_cast<std::byte*>(buffer.address), buffer.bytes()};
}

class PackedBuffer {
 public:
  /// Construct without data.
  PackedBuffer() = default;
  PackedBuffer(const Call& call, const types::Type& type, void* items, std::uint64_t count);
  PackedBuffer(const Call& call, types::Buffer buffer)
      : PackedBuffer(call, *buffer.type, buffer.address, buffer.count) {}
  /// For load() only.
  PackedBuffer(const Call& call, types::ConstBuffer buffer)
      : PackedBuffer(call, *buffer.type, const_cast<void*>(buffer.address), buffer.count) {}

  Bytes bytes() const { return bytes_; }
  std::byte* data() const { return bytes_.data(); }
  /// Load `count` bytes, starting with byte `first` of the packed data.
  void load(std::uint64_t first, std::uint64_t count);
  void load() { load(0, bytes_.size()); }
  void store();

 private:
  const types::Type* type_ = nullptr;
  void* items_ = nullptr;
  std::optional<Scratch> copy_;
  Bytes bytes_;
};

/// Packed data of a v-form: one block per rank, each at a displacement of its own.
class PackedBlocks {
 public:
  PackedBlocks() = default;
  PackedBlocks(const Call& call, const types::Type& type, void* items, Blocks blocks);

  /// Return the address that the parts' offsets count from.
  std::byte* data() const { return data_; }
  std::span<const BlockSpan> parts() const { return parts_; }
  Bytes part(int rank) const { return part_of(data_, parts_[static_cast<std::size_t>(rank)]); }
  void load(int rank);
  void load();
  void store();

 private:
  std::byte* block(int rank) const;

  const types::Type* type_ = nullptr;
  void* items_ = nullptr;
  Blocks blocks_;
  BlockSpans parts_;
  std::optional<Scratch> copy_;
  std::byte* data_ = nullptr;
};

}  // namespace shim::coll
