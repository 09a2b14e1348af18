// SPDX-License-Identifier: BSD-3-Clause
// Finds environment variables that look like misspelled settings.
#pragma once

#include <string>
#include <vector>

namespace shim::base {

struct SettingSuggestion {
  std::string variable;      ///< e.g. INTERSESSION_SPINN
  std::string suggestion;    ///< the most similar setting, or the new name
  bool is_old_name = false;  ///< true if `variable` still works, because its setting was renamed
};

/// Return the variables INTERSESSION_… that are the old name of a setting or a misspelled setting:
/// ignoring case, they differ from one by at most two letters (one letter if its name is short).
/// Other unknown variables are not returned: sites have variables of their own, such as
/// INTERSESSION_ROOT.
/// @param environment as environ(7), a list that ends with null
std::vector<SettingSuggestion> suggest_settings(const char* const* environment);

}  // namespace shim::base
