// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/info.hpp"

#include <algorithm>

namespace shim::sessions {
namespace {
using base::Error;
using base::ErrorClass;

template <typename Entries>
auto find(Entries& entries, std::string_view key) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto& entry) { return entry.first == key; });
}
}  // namespace

base::Status Info::set(std::string_view key, std::string_view value) {
  if (key.empty()) return Error(ErrorClass::info_key, "an info key must not be empty");
  if (key.size() > kMaxInfoKey)
    return Error(ErrorClass::info_key, "an info key of " + std::to_string(key.size()) +
                                           " characters is too long; the limit is " +
                                           std::to_string(kMaxInfoKey));
  if (value.size() > kMaxInfoValue)
    return Error(ErrorClass::info_value, "a value of " + std::to_string(value.size()) +
                                             " characters for info key \"" + std::string(key) +
                                             "\" is too long; the limit is " +
                                             std::to_string(kMaxInfoValue));
  std::lock_guard guard(mutex_);
  auto entry = find(entries_, key);
  if (entry == entries_.end())
    entries_.emplace_back(key, value);
  else
    entry->second = value;
  return {};
}

std::optional<std::string> Info::get(std::string_view key) const {
  std::lock_guard guard(mutex_);
  auto entry = find(entries_, key);
  if (entry == entries_.end()) return std::nullopt;
  return entry->second;
}

base::Status Info::erase(std::string_view key) {
  std::lock_guard guard(mutex_);
  auto entry = find(entries_, key);
  if (entry == entries_.end())
    return Error(ErrorClass::info_nokey, "info key \"" + std::string(key) + "\" does not exist");
  entries_.erase(entry);
  return {};
}

std::size_t Info::size() const {
  std::lock_guard guard(mutex_);
  return entries_.size();
}

base::Result<std::string> Info::nth_key(int n) const {
  std::lock_guard guard(mutex_);
  if (n < 0 || static_cast<std::size_t>(n) >= entries_.size())
    return Error(ErrorClass::arg, "key number " + std::to_string(n) +
                                      " does not exist; the info object has " +
                                      std::to_string(entries_.size()) + " keys");
  return entries_[static_cast<std::size_t>(n)].first;
}

std::shared_ptr<Info> Info::duplicate() const {
  auto copy = std::make_shared<Info>();
  std::lock_guard guard(mutex_);
  copy->entries_ = entries_;
  return copy;
}

}  // namespace shim::sessions
