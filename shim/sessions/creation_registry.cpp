// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_registry.hpp"

#include <utility>

#include "shim/sessions/process.hpp"

namespace shim::sessions {

CreationPtr CreationRegistry::find(const CreationKey& key) const {
  const auto at = creations_.find(key);
  return at == creations_.end() ? nullptr : at->second;
}

CreationPtr CreationRegistry::find_or_begin(const CreationKey& key) {
  CreationPtr& creation = creations_[key];
  if (creation) return creation;
  const GroupPtr group = Group::of_ranges(key.ranges);
  creation = std::make_shared<Creation>(
      key, group, roles_in(*group, process_.self(), process_.creation_context()));
  return creation;
}

CreationPtr CreationRegistry::find_or_begin(const CreationKey& key, base::ProcessId from) {
  if (CreationPtr known = find(key))
    return known->group()->rank_of(from) == kUndefined ? nullptr : known;
  return is_plausible(key, from) ? find_or_begin(key) : nullptr;
}

void CreationRegistry::forget(const Creation& creation) {
  const auto at = creations_.find(creation.key());
  if (at != creations_.end() && at->second.get() == &creation) creations_.erase(at);
}

void CreationRegistry::record_notified(const CreationPtr& creation, int rank) {
  creation->record_notified(rank);
  if (creation->all_are_notified()) forget(*creation);
}

std::vector<CreationPtr> CreationRegistry::take_all() {
  std::vector<CreationPtr> all;
  for (auto& [key, creation] : creations_) all.push_back(std::move(creation));
  creations_.clear();
  return all;
}

bool CreationRegistry::is_plausible(const CreationKey& key, base::ProcessId from,
                                    bool with_us) const {
  const std::int64_t world_size = process_.bootstrap().job().size;
  std::int64_t members = 0;
  for (const ProcessRange& range : key.ranges) {
    members += range.count;
    if (range.world != 0 || range.stride == 0 || range.lowest() < 0 ||
        range.highest() >= world_size || members > world_size)
      return false;
  }
  const GroupPtr group = Group::of_ranges(key.ranges);
  return (!with_us || group->rank_of(process_.self()) != kUndefined) &&
         group->rank_of(from) != kUndefined;
}

bool CreationRegistry::is_waiting_in(const CreationKey& key) const {
  const CreationPtr known = find(key);
  return known && known->is_waiting();
}

std::vector<CreationPtr> CreationRegistry::in_state(CreationState state) const {
  std::vector<CreationPtr> found;
  for (const auto& [key, creation] : creations_)
    if (creation->state() == state) found.push_back(creation);
  return found;
}

std::vector<CreationKey> CreationRegistry::keys_of_waiting() const {
  std::vector<CreationKey> keys;
  for (const auto& [key, creation] : creations_)
    if (creation->is_waiting()) keys.push_back(key);
  return keys;
}

}  // namespace shim::sessions
