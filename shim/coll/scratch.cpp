// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/scratch.hpp"

#include "shim/base/copy.hpp"
#include "shim/base/older_compilers.hpp"

namespace shim::coll {

Scratch::Scratch(const Call& call, std::uint64_t bytes) : bytes_(bytes) {
  if (bytes >= ScratchPool::kShortest) {
    pool_ = *call.scratch;
    block_ = pool_->take(bytes);
  } else if (bytes > 0) {
    block_ = {base::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  }
}

Scratch::~Scratch() {
  if (pool_ != nullptr) pool_->give_back(std::move(block_));
}

ItemScratch::FreeRange ItemScratch::range_of(const types::Type& type, std::uint64_t count) {
  if (count == 0) return {0, 0};
  std::int64_t lower = std::min<std::int64_t>(0, type.lower);
  std::int64_t upper = std::max<std::int64_t>(0, type.lower + type.extent);
  if (type.layout != nullptr) {
    lower = std::min(lower, type.layout->lower());
    upper = std::max(upper, type.layout->upper());
  }
  const std::int64_t last = static_cast<std::int64_t>(count - 1) * type.extent;
  return {std::min(lower, lower + last), std::max(upper, upper + last)};
}

ItemScratch::ItemScratch(const Call& call, FreeRange range)
    : before_((-range.lower + 15) / 16 * 16),
      bytes_(call, static_cast<std::uint64_t>(before_ + range.upper)) {}

void copy_across(const types::ConstBuffer& from, const types::Buffer& to) {
  std::uint64_t bytes = std::min(from.bytes(), to.bytes());
  if (bytes == 0) return;
  if (from.type->contiguous && to.type->contiguous) {
    base::copy_short(to.address, from.address, bytes);
  } else if (from.type->contiguous) {
    types::unpack(*to.type, {static_cast<const std::byte*>(from.address), bytes}, 0, to.address);
  } else if (to.type->contiguous) {
    types::pack(*from.type, from.address, 0, {static_cast<std::byte*>(to.address), bytes});
  } else {
    auto between = base::make_unique_for_overwrite<std::byte[]>(bytes);
    types::pack(*from.type, from.address, 0, {between.get(), bytes});
    types::unpack(*to.type, {between.get(), bytes}, 0, to.address);
  }
}

}  // namespace shim::coll
