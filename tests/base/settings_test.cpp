// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/settings.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

namespace shim::base {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Settings from "variable=value", as if nothing else were in the environment.
struct Given {
  std::string variable, value;
};
Given given;  // a Lookup is a plain function

Result<Settings> read_with(const std::string& variable, const std::string& value) {
  given = {variable, value};
  return read_settings([](const std::string& asked) -> std::optional<std::string> {
    if (asked == given.variable) return given.value;
    return std::nullopt;
  });
}

Settings settings_with(const std::string& variable, const std::string& value) {
  auto read = read_with(variable, value);
  EXPECT_TRUE(read) << read.error().text();
  return read ? *read : Settings();
}

TEST(Settings, AreTheDefaultsWhereNothingIsSet) {
  const Settings read = settings_with("INTERSESSION_NOTHING", "1"), defaults;
  EXPECT_EQ(read.spin, defaults.spin);
  EXPECT_EQ(read.ring_bytes, defaults.ring_bytes);
  EXPECT_EQ(read.exchange, "modex");
}

TEST(Settings, TextIsTakenAsItIs) {
  EXPECT_EQ(settings_with("INTERSESSION_PSETS", " ocean=0-3;x").psets, " ocean=0-3;x");
  EXPECT_EQ(settings_with("INTERSESSION_PROVIDER", "").provider, "");
}

TEST(Settings, SizesTakeSuffixes) {
  EXPECT_EQ(settings_with("INTERSESSION_EAGER_SHM", "0").eager_shm, 0u);
  EXPECT_EQ(settings_with("INTERSESSION_EAGER_SHM", "17").eager_shm, 17u);
  EXPECT_EQ(settings_with("INTERSESSION_EAGER_SHM", "2k").eager_shm, 2048u);
  EXPECT_EQ(settings_with("INTERSESSION_EAGER_SHM", "3M").eager_shm, 3u << 20);
  EXPECT_EQ(settings_with("INTERSESSION_EAGER_SHM", "1024g").eager_shm, std::uint64_t{1} << 40);
}

TEST(Settings, NumbersAndWords) {
  EXPECT_EQ(settings_with("INTERSESSION_SPIN", "7").spin, 7);
  EXPECT_DOUBLE_EQ(settings_with("INTERSESSION_CREATE_TIMEOUT", "2.5").create_timeout, 2.5);
  for (const char* yes : {"1", "true", "yes", "on"}) EXPECT_TRUE(settings_with("INTERSESSION_SINGLE_COPY", yes).single_copy);
  for (const char* no : {"0", "false", "no", "off"}) EXPECT_FALSE(settings_with("INTERSESSION_SINGLE_COPY", no).single_copy);
}

TEST(Settings, WhatDoesNotParseIsNamedWithItsValue) {
  const Given wrong[] = {
      {"INTERSESSION_SPIN", "-1"},           {"INTERSESSION_SPIN", "many"},        {"INTERSESSION_SPIN", ""},
      {"INTERSESSION_SPIN", "5 "},           {"INTERSESSION_CREATE_TIMEOUT", "-2"}, {"INTERSESSION_CREATE_TIMEOUT", "inf"},
      {"INTERSESSION_CREATE_TIMEOUT", "2s"}, {"INTERSESSION_SINGLE_COPY", "maybe"}, {"INTERSESSION_EAGER_SHM", "k"},
      {"INTERSESSION_EAGER_SHM", "1025g"},   {"INTERSESSION_EAGER_SHM", "-4"},      {"INTERSESSION_RING_BYTES", "65535"},
      {"INTERSESSION_RING_BYTES", "2k"},     {"INTERSESSION_RING_BYTES", "128m"},   {"INTERSESSION_EXCHANGE", "Modex"},
      {"INTERSESSION_TRANSPORT", "shm"},     {"INTERSESSION_LOG", "loud"},          {"INTERSESSION_INITIAL_ERRHANDLER", "x"},
      {"INTERSESSION_LANES", "0"},           {"INTERSESSION_LANES", "9"},            {"INTERSESSION_DEPOT_BYTES", "64k"},
      {"INTERSESSION_DEPOT_BYTES", "3m"},    {"INTERSESSION_DEPOT_BYTES", "2g"},
  };
  for (const Given& each : wrong) {
    auto read = read_with(each.variable, each.value);
    ASSERT_FALSE(read) << each.variable << "=" << each.value;
    EXPECT_EQ(read.error().error_class(), ErrorClass::arg);
    EXPECT_THAT(read.error().text(), HasSubstr(each.variable));
  }
}

/// The row of one variable in a report of the settings.
const SettingReading& row_of(const SettingsReading& reading, const std::string& variable) {
  return *std::find_if(reading.rows.begin(), reading.rows.end(), [&](const auto& row) { return row.row->variable == variable; });
}

SettingsReading each_with(std::map<std::string, std::string> environment) {
  static std::map<std::string, std::string> held;
  held = std::move(environment);
  return read_each_setting([](const std::string& asked) -> std::optional<std::string> {
    auto found = held.find(asked);
    if (found == held.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Settings, AReportTellsWhatTheEnvironmentSays) {
  const SettingsReading reading = each_with({{"INTERSESSION_SPIN", "7"}});
  EXPECT_TRUE(reading.is_right());
  EXPECT_EQ(reading.rows.size(), setting_rows().size());
  EXPECT_EQ(row_of(reading, "INTERSESSION_SPIN").given, "7");
  EXPECT_EQ(row_of(reading, "INTERSESSION_YIELD").given, std::nullopt);
  EXPECT_EQ(reading.settings.spin, 7);
}

TEST(Settings, AReportNamesEveryWrongOneAndTheOthersHold) {
  const SettingsReading reading =
      each_with({{"INTERSESSION_SPIN", "many"}, {"INTERSESSION_EXCHANGE", "Modex"}, {"INTERSESSION_YIELD", "5"}});
  EXPECT_FALSE(reading.is_right());
  EXPECT_THAT(row_of(reading, "INTERSESSION_SPIN").error.value().text(), HasSubstr("many"));
  EXPECT_THAT(row_of(reading, "INTERSESSION_EXCHANGE").error.value().text(), HasSubstr("Modex"));
  EXPECT_FALSE(row_of(reading, "INTERSESSION_YIELD").error);
  EXPECT_EQ(reading.settings.spin, Settings().spin);
  EXPECT_EQ(reading.settings.exchange, Settings().exchange);
  EXPECT_EQ(reading.settings.yield, 5);
}

TEST(Settings, TheListNamesEachOnceAndExplainsIt) {
  std::set<std::string> names;
  for (const SettingRow& row : setting_rows()) {
    EXPECT_TRUE(names.insert(row.variable).second) << row.variable;
    EXPECT_THAT(row.variable, ::testing::StartsWith("INTERSESSION_"));
    EXPECT_FALSE(row.help.empty()) << row.variable;
  }
  EXPECT_TRUE(names.contains("INTERSESSION_EAGER_SHM"));
}

}  // namespace
}  // namespace shim::base
