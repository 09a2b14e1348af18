// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/packed.hpp"

namespace shim::coll {

PackedBuffer::PackedBuffer(const Call& call, const types::Type& type, void* items,
                           std::uint64_t count)
    : type_(&type), items_(items) {
  std::uint64_t bytes = count * type.size;
  if (!type.contiguous) copy_.emplace(call, bytes);
  bytes_ = copy_ ? copy_->all() : Bytes(static_cast<std::byte*>(items), bytes);
}

void PackedBuffer::load(std::uint64_t first, std::uint64_t count) {
  if (copy_) types::pack(*type_, items_, first, bytes_.subspan(first, count));
}

void PackedBuffer::store() {
  if (copy_) types::unpack(*type_, bytes_, 0, items_);
}

PackedBlocks::PackedBlocks(const Call& call, const types::Type& type, void* items, Blocks blocks)
    : type_(&type), items_(items), blocks_(blocks), parts_(blocks.counts.size()) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    std::uint64_t bytes = static_cast<std::uint64_t>(blocks.counts[i]) * type.size;
    std::int64_t offset = type.contiguous ? blocks.displacements[i] * type.extent
                                          : static_cast<std::int64_t>(total);
    parts_[i] = {offset, bytes};
    total += bytes;
  }
  if (!type.contiguous) copy_.emplace(call, total);
  data_ = copy_ ? copy_->data() : static_cast<std::byte*>(items);
}

std::byte* PackedBlocks::block(int rank) const {
  return static_cast<std::byte*>(items_) +
         blocks_.displacements[static_cast<std::size_t>(rank)] * type_->extent;
}

void PackedBlocks::load(int rank) {
  if (copy_) types::pack(*type_, block(rank), 0, part(rank));
}

void PackedBlocks::load() {
  for (int rank = 0; rank < static_cast<int>(parts_.size()); ++rank) load(rank);
}

void PackedBlocks::store() {
  if (!copy_) return;
  for (int rank = 0; rank < static_cast<int>(parts_.size()); ++rank)
    types::unpack(*type_, part(rank), 0, block(rank));
}

}  // namespace shim::coll
