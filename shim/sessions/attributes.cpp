// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/attributes.hpp"

#include <algorithm>
#include <utility>

namespace shim::sessions {

std::optional<Attribute> Attributes::find(const Key& key) const {
  return find_if([&](const Attribute& attribute) { return attribute.key.get() == &key; });
}

std::optional<Attribute> Attributes::find_number(int number) const {
  return find_if([&](const Attribute& attribute) { return attribute.key->number == number; });
}

std::optional<Attribute> Attributes::next_after(std::uint64_t position) const {
  return find_if([&](const Attribute& attribute) { return attribute.position > position; });
}

std::optional<Attribute> Attributes::last() const {
  std::lock_guard guard(mutex_);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (!entry->is_being_deleted) return entry->attribute;
  return std::nullopt;
}

void Attributes::set(const KeyPtr& key, AttributeValue value) {
  std::lock_guard guard(mutex_);
  const std::uint64_t version = ++versions_;
  auto at = std::ranges::find_if(entries_,
                                 [&](const Entry& entry) { return entry.attribute.key == key; });
  if (at == entries_.end())
    entries_.push_back({{key, value, version, version}});
  else
    *at = {{key, value, at->attribute.position, version}};
}

bool Attributes::begin_deletion(const Attribute& attribute) {
  std::lock_guard guard(mutex_);
  Entry* entry = entry_of(attribute);
  return entry != nullptr && !std::exchange(entry->is_being_deleted, true);
}

void Attributes::end_deletion(const Attribute& attribute, bool is_deleted) {
  std::lock_guard guard(mutex_);
  Entry* entry = entry_of(attribute);
  if (entry == nullptr) return;
  if (is_deleted)
    entries_.erase(entries_.begin() + (entry - entries_.data()));
  else
    entry->is_being_deleted = false;
}

Attributes::Entry* Attributes::entry_of(const Attribute& attribute) {
  auto at = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.attribute.version == attribute.version; });
  return at == entries_.end() ? nullptr : &*at;
}

template <typename Wanted>
std::optional<Attribute> Attributes::find_if(const Wanted& wanted) const {
  std::lock_guard guard(mutex_);
  auto at = std::ranges::find_if(entries_, wanted, &Entry::attribute);
  if (at == entries_.end()) return std::nullopt;
  return at->attribute;
}

}  // namespace shim::sessions
