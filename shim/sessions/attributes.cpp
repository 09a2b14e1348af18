// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/attributes.hpp"

#include <algorithm>

namespace shim::sessions {

std::optional<Attribute> Attributes::find(const Key& key) const {
  std::lock_guard guard(mutex_);
  auto at = std::ranges::find_if(attributes_, [&](const Attribute& attribute) { return attribute.key.get() == &key; });
  if (at == attributes_.end()) return std::nullopt;
  return *at;
}

std::optional<Attribute> Attributes::find_number(int number) const {
  std::lock_guard guard(mutex_);
  auto at = std::ranges::find_if(attributes_, [&](const Attribute& attribute) { return attribute.key->number == number; });
  if (at == attributes_.end()) return std::nullopt;
  return *at;
}

void Attributes::set(const KeyPtr& key, void* value) {
  std::lock_guard guard(mutex_);
  auto at = std::ranges::find_if(attributes_, [&](const Attribute& attribute) { return attribute.key == key; });
  if (at != attributes_.end()) at->value = value;
  else attributes_.push_back({key, value});
}

void Attributes::erase(const Key& key) {
  std::lock_guard guard(mutex_);
  std::erase_if(attributes_, [&](const Attribute& attribute) { return attribute.key.get() == &key; });
}

std::vector<Attribute> Attributes::all() const {
  std::lock_guard guard(mutex_);
  return attributes_;
}

}  // namespace shim::sessions
