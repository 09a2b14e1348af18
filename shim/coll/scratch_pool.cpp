// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/scratch_pool.hpp"

#include <algorithm>
#include <bit>

#include "shim/base/older_compilers.hpp"

namespace shim::coll {

ScratchPool::Block ScratchPool::take(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    auto fits = [&](const Block& block) { return block.bytes >= bytes; };
    auto found = std::find_if(kept_.begin(), kept_.end(), fits);
    if (found != kept_.end()) {
      Block block = std::move(*found);
      kept_.erase(found);
      kept_bytes_ -= block.bytes;
      return block;
    }
  }
  // calls of similar length share blocks; pages that are never touched cost nothing
  const std::uint64_t length = std::bit_ceil(bytes);
  return {base::make_unique_for_overwrite<std::byte[]>(length), length};
}

void ScratchPool::give_back(Block block) {
  std::lock_guard lock(mutex_);
  if (kept_bytes_ + block.bytes > kMost) return;
  kept_bytes_ += block.bytes;
  auto longer = [&](const Block& other) { return other.bytes >= block.bytes; };
  // ascending, so that take() finds the shortest block that fits
  kept_.insert(std::find_if(kept_.begin(), kept_.end(), longer), std::move(block));
}

}  // namespace shim::coll
