// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/misspelt.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>
#include <utility>

#include "shim/base/settings.hpp"

namespace shim::base {
namespace {

constexpr std::string_view kPrefix = "INTERSESSION_";
constexpr std::size_t kShortName = 8;

/// How many letters must be put in, taken out or changed to make one of the other (Levenshtein's distance).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

std::string in_capitals(std::string_view text) {
  std::string capitals(text);
  std::transform(text.begin(), text.end(), capitals.begin(), [](unsigned char c) { return std::toupper(c); });
  return capitals;
}

/// Null where nothing is near enough.
const SettingRow* meant_by(const std::string& variable) {
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

bool is_setting(std::string_view variable) {
  const auto rows = setting_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const SettingRow& row) { return row.variable == variable; });
}

}  // namespace

std::vector<Misspelt> misspelt_settings(const char* const* environment) {
  std::vector<Misspelt> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string variable(entry.substr(0, entry.find('=')));
    if (!in_capitals(variable).starts_with(kPrefix) || is_setting(variable)) continue;
    if (const SettingRow* row = meant_by(variable)) found.push_back({variable, row->variable});
  }
  return found;
}

}  // namespace shim::base
