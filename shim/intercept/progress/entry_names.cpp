// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/progress/entry_names.hpp"

#include <algorithm>
#include <span>

// Set by the linker to the ends of the section; weak, because a test may have no entries.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const shim::intercept::EntryName
    __start_intersession_entry_names[];  // NOLINT(bugprone-reserved-identifier)
[[gnu::weak, gnu::visibility("hidden")]] extern const shim::intercept::EntryName
    __stop_intersession_entry_names[];  // NOLINT(bugprone-reserved-identifier)
}

namespace shim::intercept {

std::string_view name_of_entry(const void* start) {
  const std::span rows(__start_intersession_entry_names, __stop_intersession_entry_names);
  const auto found = std::ranges::find(rows, start, &EntryName::start);
  return found != rows.end() ? std::string_view(found->name) : std::string_view();
}

}  // namespace shim::intercept
