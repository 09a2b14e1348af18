// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/info.hpp"

namespace shim::info {
namespace {

constexpr std::string_view kFromEnvironment = "environment  ", kFromList = "default      ";

/// The list's text of a default is C++: "modex" with its quotes.
std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

std::string value_text(std::string_view value) { return value.empty() ? "(empty)" : first_line(value); }

std::string reading_text(const base::SettingReading& reading) {
  if (reading.error) return std::string(kFromEnvironment) + "error: " + reading.error->text();
  if (reading.given) return std::string(kFromEnvironment) + value_text(*reading.given);
  return std::string(kFromList) + value_text(unquoted(reading.row->default_text));
}

}  // namespace

Section settings_section(const base::SettingsReading& reading, const std::vector<base::Misspelt>& misspelt) {
  Section section{"settings", {}};
  for (const auto& row : reading.rows) section.add(row.row->variable, reading_text(row));
  for (const auto& name : misspelt) section.add(name.given, std::string(kFromEnvironment) + "error: no setting; meant is " + name.meant);
  return section;
}

}  // namespace shim::info
