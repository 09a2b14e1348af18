// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/settings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace shim::base {
namespace {

std::string variable_of(std::string_view name) {
  std::string variable = "INTERSESSION_";
  std::transform(name.begin(), name.end(), std::back_inserter(variable), [](unsigned char c) { return std::toupper(c); });
  return variable;
}

Error bad_value(const std::string& variable, const std::string& value, std::string_view expected) {
  return Error(ErrorClass::arg, "the setting " + variable + "=\"" + value + "\" is not " + std::string(expected));
}

template <typename Number>
std::optional<Number> whole_number(std::string_view value) {
  Number number{};
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
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
  auto number = whole_number<int>(value);
  if (!number || *number < 0) return bad_value(variable, value, "a whole number from 0 up");
  out = *number;
  return {};
}

Status parse(const std::string& variable, const std::string& value, double& out) {
  char* end = nullptr;
  double seconds = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(seconds) || seconds < 0)
    return bad_value(variable, value, "a number of seconds from 0 up");
  out = seconds;
  return {};
}

Status parse(const std::string& variable, const std::string& value, bytes& out) {
  std::string_view digits = value;
  int shift = 0;
  if (!digits.empty()) {
    constexpr std::string_view suffixes = "kmg";
    auto at = suffixes.find(static_cast<char>(std::tolower(static_cast<unsigned char>(digits.back()))));
    if (at != std::string_view::npos) {
      shift = 10 * (static_cast<int>(at) + 1);
      digits.remove_suffix(1);
    }
  }
  auto number = whole_number<std::uint64_t>(digits);
  if (!number || *number > (std::uint64_t{1} << 40 >> shift))
    return bad_value(variable, value, "a size in bytes (suffixes k, m, g; at most 1024g)");
  out = *number << shift;
  return {};
}

/// Settings with a closed set of words, or with more rules than their type has.
Status check_one_of(std::string_view name, const std::string& value, std::initializer_list<std::string_view> words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return {};
  std::string expected = "one of";
  for (auto word : words) expected += " " + std::string(word);
  return bad_value(variable_of(name), value, expected);
}

Status check(const Settings& s) {
  SHIM_TRY(check_one_of("matching", s.matching, {"own", "provider"}));
  SHIM_TRY(check_one_of("fabric_opens", s.fabric_opens, {"first_message", "creation"}));
  SHIM_TRY(check_one_of("bootstrap", s.bootstrap, {"auto", "pmix"}));
  SHIM_TRY(check_one_of("exchange", s.exchange, {"modex", "ring", "ifence", "fence", "world_fence"}));
  SHIM_TRY(check_one_of("transport", s.transport, {"auto", "fabric"}));
  SHIM_TRY(check_one_of("log", s.log, {"off", "error", "warn", "info", "debug"}));
  SHIM_TRY(check_one_of("initial_errhandler", s.initial_errhandler,
                        {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"}));
  if (!std::has_single_bit(s.ring_bytes) || s.ring_bytes < 4096 || s.ring_bytes > (bytes{1} << 26))
    return bad_value(variable_of("ring_bytes"), std::to_string(s.ring_bytes), "a power of two from 4k to 64m");
  if (s.depot_bytes != 0 && (!std::has_single_bit(s.depot_bytes) || s.depot_bytes < (bytes{1} << 18) || s.depot_bytes > (bytes{1} << 30)))
    return bad_value(variable_of("depot_bytes"), std::to_string(s.depot_bytes), "0, or a power of two from 256k to 1g");
  if (s.lanes < 1 || s.lanes > 8) return bad_value(variable_of("lanes"), std::to_string(s.lanes), "a number from 1 to 8");
  return {};
}

template <typename AnyLookup>
Result<Settings> read(const AnyLookup& lookup) {
  Settings settings;
#define SETTING(name, type, default_value, help) \
  if (auto value = lookup(variable_of(#name))) SHIM_TRY(parse(variable_of(#name), *value, settings.name));
#include "shim/base/settings.def"
#undef SETTING
  SHIM_TRY(check(settings));
  return settings;
}

}  // namespace

std::span<const SettingRow> setting_rows() {
  static const auto& rows = *new std::array{
      // never destroyed: sessions may begin in the destructors of the program
#define SETTING(name, type, default_value, help) SettingRow{variable_of(#name), #type, #default_value, help},
#include "shim/base/settings.def"
#undef SETTING
  };
  return rows;
}

std::optional<std::string> from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Result<Settings> read_settings(Lookup lookup) { return read(lookup); }

bool SettingsReading::is_right() const {
  return std::none_of(rows.begin(), rows.end(), [](const SettingReading& reading) { return reading.error.has_value(); });
}

SettingsReading read_each_setting(Lookup lookup) {
  SettingsReading all;
  for (const SettingRow& row : setting_rows()) {
    SettingReading reading{&row, lookup(row.variable), std::nullopt};
    // As if nothing else were set: no rule of `check` is about two settings.
    auto alone = read([&](const std::string& asked) { return asked == row.variable ? reading.given : std::nullopt; });
    if (!alone) reading.error = std::move(alone).error();
    all.rows.push_back(std::move(reading));
  }
  auto usable = read([&](const std::string& asked) {
    auto found = std::find_if(all.rows.begin(), all.rows.end(), [&](const auto& reading) { return reading.row->variable == asked; });
    return found->error ? std::nullopt : found->given;
  });
  if (usable) all.settings = *std::move(usable);
  return all;
}

}  // namespace shim::base
