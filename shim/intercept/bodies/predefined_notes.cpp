// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/predefined_notes.hpp"

#include <map>
#include <mutex>

namespace shim::intercept {

PredefinedNotes& notes_of(const types::Type& predefined) {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: programs may ask while they end
  static auto& notes = *new std::map<const types::Type*, PredefinedNotes>;
  std::lock_guard lock(mutex);
  auto [place, is_new] = notes.try_emplace(&predefined);
  if (is_new) place->second.name = predefined.name;
  return place->second;
}

}  // namespace shim::intercept
