// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <locale>
#include <sstream>

#include "shim/base/parsing.hpp"

namespace shim::base {
namespace {

std::string variable_of(std::string_view name) {
  std::string variable = "INTERSESSION_";
  std::transform(name.begin(), name.end(), std::back_inserter(variable),
                 [](unsigned char c) { return std::toupper(c); });
  return variable;
}

Error bad_value(const std::string& variable, const std::string& value, std::string_view expected) {
  return Error(ErrorClass::arg,
               variable + "=\"" + value + "\": invalid value; use " + std::string(expected));
}

/// Return the number that a text consists of. Does not depend on the program's locale, as
/// std::strtod does; std::from_chars of GCC 10 knows whole numbers alone.
std::optional<double> decimal_from(const std::string& value) {
  if (value.empty() || std::isspace(static_cast<unsigned char>(value.front()))) return std::nullopt;
  std::istringstream text(value);
  text.imbue(std::locale::classic());
  double number = 0;
  text >> number;
  if (text.fail() || text.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return number;
}

Status parse(const std::string& variable, const std::string& value, std::string& out) {
  (void)variable;
  out = value;
  return {};
}

Status parse(const std::string& variable, const std::string& value, bool& out) {
  for (std::string_view yes : {"1", "true", "yes", "on"})
    if (value == yes) return out = true, Status{};
  for (std::string_view no : {"0", "false", "no", "off"})
    if (value == no) return out = false, Status{};
  return bad_value(variable, value, "one of 1, 0, true, false, yes, no, on, off");
}

Status parse(const std::string& variable, const std::string& value, int& out) {
  auto number = number_in<int>(value);
  if (!number || *number < 0) return bad_value(variable, value, "a whole number of at least 0");
  out = *number;
  return {};
}

/// Longest time in seconds, about 30 years: nanoseconds since the machine's start fit in 64 bits.
constexpr double kMaxSeconds = 1e9;

Status parse(const std::string& variable, const std::string& value, double& out) {
  const auto seconds = decimal_from(value);
  if (!seconds || !(*seconds >= 0 && *seconds <= kMaxSeconds))
    return bad_value(variable, value, "a number of seconds from 0 to 1e9");
  out = *seconds;
  return {};
}

Status parse(const std::string& variable, const std::string& value, std::uint64_t& out) {
  std::string_view digits = value;
  int shift = 0;
  if (!digits.empty()) {
    constexpr std::string_view suffixes = "kmg";
    auto at = suffixes.find(
        static_cast<char>(std::tolower(static_cast<unsigned char>(digits.back()))));
    if (at != std::string_view::npos) {
      shift = 10 * (static_cast<int>(at) + 1);
      digits.remove_suffix(1);
    }
  }
  auto number = number_in<std::uint64_t>(digits);
  if (!number || *number > (std::uint64_t{1} << 40 >> shift))
    return bad_value(variable, value, "a size in bytes (suffixes k, m, g; at most 1024g)");
  out = *number << shift;
  return {};
}

/// A value and the variable that it was read from: the setting's new or old variable.
struct GivenValue {
  std::string variable;
  std::string value;
};

/// Look up a setting's variable; if it is not set, look up the old variable of a renamed setting.
/// An empty value is no value.
template <typename AnyLookup>
std::optional<GivenValue> value_of(const std::string& variable, const AnyLookup& lookup) {
  const auto given = [&](const std::string& name) -> std::optional<GivenValue> {
    auto value = lookup(name);
    if (!value || value->empty()) return std::nullopt;
    return GivenValue{name, *std::move(value)};
  };
  if (auto found = given(variable)) return found;
  for (const RenamedSetting& renamed : renamed_settings())
    if (renamed.variable == variable)
      if (auto found = given(renamed.old_variable)) return found;
  return std::nullopt;
}

constexpr std::pair<std::string_view, int> kReportSignals[] = {
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"URG", SIGURG}, {"WINCH", SIGWINCH}};

/// Return the default as documents show it. A negative default is no value of the setting.
constexpr std::string_view default_text(std::string_view value) {
  return value.starts_with("-") ? "not set" : value;
}

/// Parse a value and check that the setting allows it.
template <typename Type, typename Allowed>
Status take(const GivenValue& given, const Allowed& allowed, Type& out) {
  SHIM_TRY(parse(given.variable, given.value, out));
  if (!allowed.contains(out)) return bad_value(given.variable, given.value, allowed.text());
  return {};
}

template <typename AnyLookup>
Result<Settings> read(const AnyLookup& lookup) {
  Settings settings;
#define SETTING(name, type, default_value, allowed, help) \
  if (auto given = value_of(variable_of(#name), lookup))  \
    SHIM_TRY(take(*given, AllowedValues::name, settings.name));
#include "shim/base/settings.def"
#undef SETTING
  return settings;
}

}  // namespace

std::span<const SettingRow> setting_rows() {
  static const auto& rows = *new std::array{
  // never destroyed: the program's destructors may open sessions
#define SETTING(name, type, default_value, allowed, help) \
  SettingRow{variable_of(#name), #type, default_text(#default_value), help},
#include "shim/base/settings.def"
#undef SETTING
  };
  return rows;
}

std::span<const RenamedSetting> renamed_settings() {
  static const auto& renamed = *new std::array{
  // never destroyed, as the rows above
#define RENAMED(old_name, name) RenamedSetting{variable_of(#old_name), variable_of(#name)},
#include "shim/base/renamed_settings.def"
#undef RENAMED
  };
  return renamed;
}

std::optional<std::string> from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::optional<int> signal_named(std::string_view name) {
  if (name.empty()) return 0;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const auto& [known, number] : kReportSignals)
    if (name == known) return number;
  const auto number = number_in<int>(name);
  if (number && *number >= SIGRTMIN && *number <= SIGRTMAX) return number;
  return std::nullopt;
}

int report_signal_of(const Settings& settings) {
  return signal_named(settings.report_signal).value_or(0);
}

Result<Settings> read_settings(Lookup lookup) { return read(lookup); }

bool SettingsReading::is_right() const {
  return std::none_of(rows.begin(), rows.end(),
                      [](const SettingReading& reading) { return reading.error.has_value(); });
}

SettingsReading read_each_setting(Lookup lookup) {
  SettingsReading all;
  for (const SettingRow& row : setting_rows()) {
    SettingReading reading{&row, std::nullopt, std::nullopt};
    const auto given = value_of(row.variable, lookup);
    if (given) reading.given = given->value;
    // read each setting alone: no rule involves two settings
    auto alone = read([&](const std::string& asked) {
      return given && asked == given->variable ? reading.given : std::nullopt;
    });
    if (!alone) reading.error = std::move(alone).error();
    all.rows.push_back(std::move(reading));
  }
  auto usable = read([&](const std::string& asked) {
    auto found = std::find_if(all.rows.begin(), all.rows.end(),
                              [&](const auto& reading) { return reading.row->variable == asked; });
    if (found == all.rows.end() || found->error) return std::optional<std::string>();
    return found->given;
  });
  if (usable) all.settings = *std::move(usable);
  return all;
}

}  // namespace shim::base
