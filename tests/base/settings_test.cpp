// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/settings.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

namespace shim::base {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The only variable in the simulated environment.
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

TEST(Settings, HaveTheirDefaultsIfNothingIsSet) {
  const Settings read = settings_with("INTERSESSION_NOTHING", "1"), defaults;
  EXPECT_EQ(read.spin, defaults.spin);
  EXPECT_EQ(read.ring_bytes, defaults.ring_bytes);
  EXPECT_EQ(read.exchange, "modex");
}

TEST(Settings, TextIsTakenVerbatim) {
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

TEST(Settings, NumbersTimesAndBooleansAreParsed) {
  EXPECT_EQ(settings_with("INTERSESSION_SPIN", "7").spin, 7);
  EXPECT_DOUBLE_EQ(settings_with("INTERSESSION_CREATE_TIMEOUT", "2.5").create_timeout, 2.5);
  for (const char* yes : {"1", "true", "yes", "on"})
    EXPECT_TRUE(settings_with("INTERSESSION_SINGLE_COPY", yes).single_copy);
  for (const char* no : {"0", "false", "no", "off"})
    EXPECT_FALSE(settings_with("INTERSESSION_SINGLE_COPY", no).single_copy);
}

TEST(Settings, ReportSignalIsANameOrTheNumberOfARealTimeSignal) {
  EXPECT_EQ(report_signal_of(Settings()), 0);
  for (const char* name : {"USR1", "SIGUSR1"})
    EXPECT_EQ(report_signal_of(settings_with("INTERSESSION_REPORT_SIGNAL", name)), SIGUSR1);
  const std::string real_time = std::to_string(SIGRTMIN + 1);
  EXPECT_EQ(report_signal_of(settings_with("INTERSESSION_REPORT_SIGNAL", real_time)), SIGRTMIN + 1);
  for (const char* other : {"KILL", "9", "usr1", "SIG"})
    EXPECT_FALSE(read_with("INTERSESSION_REPORT_SIGNAL", other)) << other;
}

TEST(Settings, OnlyCreationsReportUnlessTheIntervalIsSet) {
  EXPECT_LT(Settings().report_after, 0);
  for (const SettingRow& row : setting_rows())
    EXPECT_EQ(row.default_text == "not set", row.variable == "INTERSESSION_REPORT_AFTER");
  EXPECT_EQ(creation_report_interval(Settings()), 10);
  EXPECT_EQ(creation_report_interval(settings_with("INTERSESSION_REPORT_AFTER", "0")), 0);
  EXPECT_EQ(creation_report_interval(settings_with("INTERSESSION_REPORT_AFTER", "2")), 2);
}

TEST(Settings, ErrorNamesAVariableWithAnInvalidValue) {
  const Given wrong[] = {
      {"INTERSESSION_SPIN", "-1"},
      {"INTERSESSION_SPIN", "many"},
      {"INTERSESSION_SPIN", "5 "},
      {"INTERSESSION_CREATE_TIMEOUT", "-2"},
      {"INTERSESSION_CREATE_TIMEOUT", "inf"},
      {"INTERSESSION_CREATE_TIMEOUT", "2s"},
      {"INTERSESSION_CREATE_TIMEOUT", " 2"},
      {"INTERSESSION_CREATE_TIMEOUT", "nan"},
      {"INTERSESSION_CREATE_TIMEOUT", "1.1e9"},
      {"INTERSESSION_SINGLE_COPY", "maybe"},
      {"INTERSESSION_EAGER_SHM", "k"},
      {"INTERSESSION_EAGER_SHM", "1025g"},
      {"INTERSESSION_EAGER_SHM", "-4"},
      {"INTERSESSION_RING_BYTES", "65535"},
      {"INTERSESSION_RING_BYTES", "2k"},
      {"INTERSESSION_RING_BYTES", "128m"},
      {"INTERSESSION_EXCHANGE", "Modex"},
      {"INTERSESSION_TRANSPORT", "shm"},
      {"INTERSESSION_LOG", "loud"},
      {"INTERSESSION_INITIAL_ERRHANDLER", "x"},
      {"INTERSESSION_VCIS", "0"},
      {"INTERSESSION_VCIS", "9"},
      {"INTERSESSION_CELL_POOL_BYTES", "64k"},
      {"INTERSESSION_CELL_POOL_BYTES", "3m"},
      {"INTERSESSION_CELL_POOL_BYTES", "2g"},
  };
  for (const Given& each : wrong) {
    auto read = read_with(each.variable, each.value);
    ASSERT_FALSE(read) << each.variable << "=" << each.value;
    EXPECT_EQ(read.error().error_class(), ErrorClass::arg);
    EXPECT_THAT(read.error().text(), HasSubstr(each.variable));
  }
}

TEST(Settings, AnEmptyValueIsNone) {
  EXPECT_EQ(settings_with("INTERSESSION_SPIN", "").spin, Settings().spin);
  EXPECT_EQ(settings_with("INTERSESSION_WORLD", "").world, Settings().world);
}

TEST(Settings, ErrorListsTheAllowedValues) {
  EXPECT_EQ(read_with("INTERSESSION_EXCHANGE", "Modex").error().text(),
            "INTERSESSION_EXCHANGE=\"Modex\": invalid value; use modex, ring, ifence, fence or "
            "world_fence");
  EXPECT_EQ(read_with("INTERSESSION_VCIS", "9").error().text(),
            "INTERSESSION_VCIS=\"9\": invalid value; use a number from 1 to 8");
  EXPECT_EQ(read_with("INTERSESSION_RING_BYTES", "2k").error().text(),
            "INTERSESSION_RING_BYTES=\"2k\": invalid value; use a power of two from 4k to 64m");
  EXPECT_EQ(read_with("INTERSESSION_CELL_POOL_BYTES", "3m").error().text(),
            "INTERSESSION_CELL_POOL_BYTES=\"3m\": invalid value; use 0, or a power of two from "
            "256k to 1g");
}

TEST(AllowedValues, ContainTheirLimitsOnly) {
  constexpr OneOf kWords{"first second"};
  static_assert(kWords.size() == 2 && kWords.contains("first") && kWords.contains("second"));
  static_assert(!kWords.contains("sec") && !kWords.contains("") &&
                !kWords.contains("first second"));
  static_assert(Range{1, 8}.contains(1) && Range{1, 8}.contains(8) && !Range{1, 8}.contains(9));
  constexpr PowerOfTwo kSizes{12, 26};
  static_assert(kSizes.contains(4096) && kSizes.contains(1 << 26) && !kSizes.contains(1 << 27));
  static_assert(!kSizes.contains(0) && PowerOfTwo{12, 26, true}.contains(0));
  for (const SettingRow& row : setting_rows())
    if (row.default_text != "not set") {
      std::string value(row.default_text);
      std::erase(value, '"');
      EXPECT_TRUE(read_with(row.variable, value)) << row.variable;
    }
}

/// Return the row of one variable in a report of the settings.
const SettingReading& row_of(const SettingsReading& reading, const std::string& variable) {
  return *std::find_if(reading.rows.begin(), reading.rows.end(),
                       [&](const auto& row) { return row.row->variable == variable; });
}

SettingsReading read_environment(std::map<std::string, std::string> environment) {
  static std::map<std::string, std::string> held;
  held = std::move(environment);
  return read_each_setting([](const std::string& asked) -> std::optional<std::string> {
    auto found = held.find(asked);
    if (found == held.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Settings, ReportHasTheValuesOfTheEnvironment) {
  const SettingsReading reading = read_environment({{"INTERSESSION_SPIN", "7"}});
  EXPECT_TRUE(reading.is_right());
  EXPECT_EQ(reading.rows.size(), setting_rows().size());
  EXPECT_EQ(row_of(reading, "INTERSESSION_SPIN").given, "7");
  EXPECT_EQ(row_of(reading, "INTERSESSION_YIELD").given, std::nullopt);
  EXPECT_EQ(reading.settings.spin, 7);
}

TEST(Settings, ReportHasEveryErrorAndTheOtherSettingsTakeEffect) {
  const SettingsReading reading = read_environment({{"INTERSESSION_SPIN", "many"},
                                                    {"INTERSESSION_EXCHANGE", "Modex"},
                                                    {"INTERSESSION_YIELD", "5"}});
  EXPECT_FALSE(reading.is_right());
  EXPECT_THAT(row_of(reading, "INTERSESSION_SPIN").error.value().text(), HasSubstr("many"));
  EXPECT_THAT(row_of(reading, "INTERSESSION_EXCHANGE").error.value().text(), HasSubstr("Modex"));
  EXPECT_FALSE(row_of(reading, "INTERSESSION_YIELD").error);
  EXPECT_EQ(reading.settings.spin, Settings().spin);
  EXPECT_EQ(reading.settings.exchange, Settings().exchange);
  EXPECT_EQ(reading.settings.yield, 5);
}

TEST(Settings, OldNamesWorkUnlessTheNewNameIsSet) {
  EXPECT_EQ(settings_with("INTERSESSION_LANES", "2").vcis, 2);
  EXPECT_EQ(settings_with("INTERSESSION_DEPOT_BYTES", "1m").cell_pool_bytes, 1u << 20);
  const SettingsReading both = read_environment(
      {{"INTERSESSION_LANES", "2"}, {"INTERSESSION_VCIS", "3"}});
  EXPECT_EQ(both.settings.vcis, 3);
  const SettingsReading old = read_environment({{"INTERSESSION_LANES", "2"}});
  EXPECT_EQ(old.settings.vcis, 2);
  EXPECT_EQ(row_of(old, "INTERSESSION_VCIS").given, "2");
}

TEST(Settings, WrongValueUnderAnOldNameIsReportedUnderThatName) {
  EXPECT_THAT(read_with("INTERSESSION_LANES", "many").error().text(),
              HasSubstr("INTERSESSION_LANES=\"many\""));
  EXPECT_THAT(read_with("INTERSESSION_LANES", "9").error().text(),
              HasSubstr("INTERSESSION_LANES=\"9\""));
  const SettingsReading reading = read_environment({{"INTERSESSION_LANES", "9"}});
  EXPECT_THAT(row_of(reading, "INTERSESSION_VCIS").error.value().text(),
              HasSubstr("INTERSESSION_LANES=\"9\""));
}

TEST(Settings, EachRenamedSettingIsInTheList) {
  for (const RenamedSetting& renamed : renamed_settings())
    EXPECT_TRUE(std::ranges::any_of(setting_rows(), [&](const SettingRow& row) {
      return row.variable == renamed.variable;
    })) << renamed.variable;
}

TEST(Settings, ListHasEachSettingOnceWithAHelpText) {
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
