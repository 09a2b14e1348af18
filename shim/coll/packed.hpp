// SPDX-License-Identifier: BSD-3-Clause
// The user's data as bytes that may be cut and sent anywhere: the memory itself where the type has no holes, else a copy of the
// data without them. load() brings data from the user's memory to the bytes, store() back; both do nothing for the first kind.
#pragma once

#include <optional>

#include "shim/coll/coll.hpp"
#include "shim/coll/scratch.hpp"

namespace shim::coll {

inline bool is_plain(const types::ConstBuffer& buffer) { return buffer.type->contiguous; }
inline bool is_plain(const types::Buffer& buffer) { return buffer.type->contiguous; }
/// Of plain buffers: the user's memory itself.
inline ConstBytes plain(const types::ConstBuffer& buffer) { return {static_cast<const std::byte*>(buffer.address), buffer.bytes()}; }
inline Bytes plain(const types::Buffer& buffer) { return {static_cast<std::byte*>(buffer.address), buffer.bytes()}; }

class Packed {
 public:
  /// No data.
  Packed() = default;
  Packed(const Call& call, const types::Type& type, void* items, std::uint64_t count);
  Packed(const Call& call, types::Buffer buffer) : Packed(call, *buffer.type, buffer.address, buffer.count) {}
  /// For load() only.
  Packed(const Call& call, types::ConstBuffer buffer) : Packed(call, *buffer.type, const_cast<void*>(buffer.address), buffer.count) {}

  Bytes bytes() const { return bytes_; }
  std::byte* data() const { return bytes_.data(); }
  /// `count` bytes from byte `first` on.
  void load(std::uint64_t first, std::uint64_t count);
  void load() { load(0, bytes_.size()); }
  void store();

 private:
  const types::Type* type_ = nullptr;
  void* items_ = nullptr;
  std::optional<Scratch> copy_;
  Bytes bytes_;
};

/// The same for blocks that lie where displacements say, one of each rank.
class PackedBlocks {
 public:
  PackedBlocks() = default;
  PackedBlocks(const Call& call, const types::Type& type, void* items, Blocks blocks);

  /// The parts' offsets count from here.
  std::byte* data() const { return data_; }
  std::span<const Part> parts() const { return parts_; }
  Bytes part(int rank) const { return part_of(data_, parts_[static_cast<std::size_t>(rank)]); }
  void load(int rank);
  void load();
  void store();

 private:
  std::byte* block(int rank) const;

  const types::Type* type_ = nullptr;
  void* items_ = nullptr;
  Blocks blocks_;
  Parts parts_;
  std::optional<Scratch> copy_;
  std::byte* data_ = nullptr;
};

}  // namespace shim::coll
