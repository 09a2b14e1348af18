// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/setting_suggestions.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>
#include <utility>

#include "shim/base/settings.hpp"

namespace shim::base {
namespace {

constexpr std::string_view kPrefix = "INTERSESSION_";
/// Length of a setting's name, without the prefix, from which on two letters may differ.
constexpr std::size_t kShortName = 8;

/// Return the number of letters to insert, delete or replace, and of neighbors to exchange, to turn
/// one word into the other (optimal string alignment).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before, above(to.size() + 1), row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t changed = above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({changed, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::string in_capitals(std::string_view text) {
  std::string capitals(text);
  std::transform(text.begin(), text.end(), capitals.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return capitals;
}

/// Return the nearest setting; null if none is near enough.
const SettingRow* nearest_setting(const std::string& variable) {
  const std::string capitals = in_capitals(variable);
  const SettingRow* nearest = nullptr;
  std::size_t least = 0;
  for (const SettingRow& row : setting_rows()) {
    const std::size_t away = distance(capitals, row.variable);
    if (nearest == nullptr || away < least) nearest = &row, least = away;
  }
  const std::size_t allowed = nearest->variable.size() - kPrefix.size() < kShortName ? 1 : 2;
  return least <= allowed ? nearest : nullptr;
}

/// Return the renamed setting with this old variable; null if there is none.
const RenamedSetting* renamed_setting(std::string_view variable) {
  for (const RenamedSetting& renamed : renamed_settings())
    if (renamed.old_variable == variable) return &renamed;
  return nullptr;
}

bool is_setting(std::string_view variable) {
  const auto rows = setting_rows();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const SettingRow& row) { return row.variable == variable; });
}

}  // namespace

std::vector<SettingSuggestion> suggest_settings(const char* const* environment) {
  std::vector<SettingSuggestion> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string variable(entry.substr(0, entry.find('=')));
    if (!in_capitals(variable).starts_with(kPrefix) || is_setting(variable)) continue;
    if (const RenamedSetting* renamed = renamed_setting(variable))
      found.push_back({variable, renamed->variable, true});
    else if (const SettingRow* row = nearest_setting(variable))
      found.push_back({variable, row->variable, false});
  }
  return found;
}

}  // namespace shim::base
