// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/info.hpp"

namespace shim::info {
namespace {

/// Origins of values, padded to one length so that the values are aligned.
constexpr std::string_view kFromEnvironment = "environment  ", kFromList = "default      ";

/// Remove the quotes of a default text: settings.def has defaults as C++ literals ("modex").
std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return text;
}

std::string value_text(std::string_view value) {
  return value.empty() ? "(empty)" : first_line(value);
}

/// Return origin and value of a setting, or the error of an invalid value.
std::string reading_text(const base::SettingReading& reading) {
  if (reading.error) return std::string(kFromEnvironment) + "error: " + reading.error->text();
  if (reading.given) return std::string(kFromEnvironment) + value_text(*reading.given);
  return std::string(kFromList) + value_text(unquoted(reading.row->default_text));
}

}  // namespace

Section settings_section(const base::SettingsReading& reading,
                         const std::vector<base::SettingSuggestion>& suggestions) {
  Section section{"settings", {}};
  for (const auto& row : reading.rows) section.add(row.row->variable, reading_text(row));
  for (const auto& name : suggestions)
    section.add(name.variable,
                std::string(kFromEnvironment) +
                    (name.is_old_name ? "warning: old name; use "
                                      : "error: unknown setting; the closest one is ") +
                    name.suggestion);
  return section;
}

}  // namespace shim::info
