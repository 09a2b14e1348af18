// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/group_cache.hpp"

#include <algorithm>

namespace shim::sessions {
namespace {

std::size_t hash_of(const Group& group) {
  std::size_t hash = 0;
  for (const ProcessRange& range : group.ranges())
    for (std::size_t part : {std::size_t{range.world}, std::size_t{range.start},
                             std::size_t{range.count}, static_cast<std::size_t>(range.stride)})
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

}  // namespace

void GroupCache::remove_expired() {
  if (by_hash_.size() < cleanup_size_) return;
  std::erase_if(by_hash_, [](const auto& entry) { return entry.second.expired(); });
  cleanup_size_ = std::max<std::size_t>(16, 2 * by_hash_.size());
}

GroupPtr GroupCache::intern(GroupPtr group) {
  const std::size_t hash = hash_of(*group);
  std::lock_guard guard(mutex_);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (GroupPtr known = at->second.lock(); known && *known == *group) return known;
  remove_expired();
  by_hash_.emplace(hash, group);
  return group;
}

}  // namespace shim::sessions
