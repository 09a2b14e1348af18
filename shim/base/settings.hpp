// SPDX-License-Identifier: BSD-3-Clause
// The settings: one list (settings.def), read once per Process object.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::base {

// The list's words for types that C++ has no keyword for.
using text = std::string;
using bytes = std::uint64_t;

/// Every setting with its default. Reading one is reading a member.
struct Settings {
#define SETTING(name, type, default_value, help) type name = default_value;
#include "shim/base/settings.def"
#undef SETTING
};

/// One row of the list as data, for help texts and the documentation.
struct SettingRow {
  std::string variable;  ///< e.g. INTERSESSION_EAGER_SHM
  std::string_view type;
  std::string_view default_text;
  std::string_view help;
};
std::span<const SettingRow> setting_rows();

/// Looks a variable up; nothing where it is not set.
using Lookup = std::optional<std::string> (*)(const std::string& variable);
std::optional<std::string> from_environment(const std::string& variable);

/// Reads all settings. A value that does not parse or is out of its range is an error (class arg) that names the variable,
/// the value, and what would be right; nothing is guessed. Sizes take the suffixes k, m and g (powers of 1024).
Result<Settings> read_settings(Lookup lookup = from_environment);

/// One setting as it was found.
struct SettingReading {
  const SettingRow* row;
  std::optional<std::string> given;  ///< what the environment says; nothing: the default holds
  std::optional<Error> error;        ///< why what was given cannot be used
};

/// All settings for a report. Where read_settings would fail, those that are wrong have their defaults, and the others hold.
struct SettingsReading {
  Settings settings;
  std::vector<SettingReading> rows;  ///< in the order of the list

  bool is_right() const;
};
SettingsReading read_each_setting(Lookup lookup = from_environment);

}  // namespace shim::base
