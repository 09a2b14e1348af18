// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/datatype/predefined_type_records.hpp"

#include <map>
#include <mutex>

namespace shim::intercept {

PredefinedTypeRecord& record_of(const types::Type& predefined) {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: usable during exit
  static auto& records = *new std::map<const types::Type*, PredefinedTypeRecord>;
  std::lock_guard lock(mutex);
  auto [entry, is_new] = records.try_emplace(&predefined);
  if (is_new) entry->second.name = predefined.name;
  return entry->second;
}

}  // namespace shim::intercept
