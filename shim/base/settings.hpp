// SPDX-License-Identifier: BSD-3-Clause
// Settings holds the settings of settings.def, read once per sessions::Process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/allowed_values.hpp"
#include "shim/base/result.hpp"

namespace shim::base {

/// One member for each setting, initialized with its default.
struct Settings {
  // types that settings.def names and C++ lacks
  using text = std::string;
  using bytes = std::uint64_t;

#define SETTING(name, type, default_value, allowed, help) type name = default_value;
#include "shim/base/settings.def"
#undef SETTING
};

/// One member for each setting: the values that it allows.
struct AllowedValues {
#define SETTING(name, type, default_value, allowed, help) static constexpr auto name = allowed;
#include "shim/base/settings.def"
#undef SETTING
};

/// Return the interval in seconds at which waiting creations of communicators report; 0: never.
inline double creation_report_interval(const Settings& settings) {
  constexpr double kDefault = 10;
  return settings.report_after < 0 ? kDefault : settings.report_after;
}
/// Return the number of the signal with this name, which SignalName allows; 0 for an empty name;
/// nothing if it is not allowed.
std::optional<int> signal_named(std::string_view name);
/// Return the number of the signal that report_signal names; 0: none.
int report_signal_of(const Settings& settings);

/// A row of settings.def, for help texts and the documentation.
struct SettingRow {
  std::string variable;  ///< e.g. INTERSESSION_EAGER_SHM
  std::string_view type;
  std::string_view default_text;
  std::string_view help;
};
std::span<const SettingRow> setting_rows();

/// A setting that has a new name. The old variable works for one release.
struct RenamedSetting {
  std::string old_variable;  ///< e.g. INTERSESSION_LANES
  std::string variable;      ///< e.g. INTERSESSION_VCIS
};
std::span<const RenamedSetting> renamed_settings();

/// Function that returns the value of a variable; nothing if it is not set.
using Lookup = std::optional<std::string> (*)(const std::string& variable);
/// The Lookup of getenv(3).
std::optional<std::string> from_environment(const std::string& variable);

/// Read all settings. Errors: arg (the first value that does not parse or is out of range; the text
/// names the variable, the value, and valid values). Sizes take the suffixes k, m and g (powers of
/// 1024).
Result<Settings> read_settings(Lookup lookup = from_environment);

/// A setting as read from the environment.
struct SettingReading {
  const SettingRow* row;
  std::optional<std::string> given;  ///< value of its new or old variable; nothing: default
  std::optional<Error> error;        ///< set if the value is invalid
};

/// All settings, with every error and not only the first, for a report.
struct SettingsReading {
  Settings settings;                 ///< a setting with an invalid value has its default
  std::vector<SettingReading> rows;  ///< in the order of settings.def

  /// True if no setting has an error.
  bool is_right() const;
};
SettingsReading read_each_setting(Lookup lookup = from_environment);

}  // namespace shim::base
