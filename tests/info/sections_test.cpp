// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "shim/families/families.hpp"
#include "shim/info/info.hpp"

namespace shim::info {
namespace {

using base::Error;
using base::ErrorClass;
using base::LoadedLibrary;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Return the text of the first row with this label.
std::string text_at(const Section& section, const std::string& label) {
  for (const ReportRow& row : section.rows)
    if (row.label == label) return row.text;
  ADD_FAILURE() << "no row " << label;
  return {};
}

bool has_row(const Section& section, const std::string& label) {
  return std::any_of(section.rows.begin(), section.rows.end(),
                     [&](const ReportRow& row) { return row.label == label; });
}

base::Result<LoadedLibrary> nothing(const std::string& name) {
  return Error(ErrorClass::other, name + ": no such file");
}

const families::Family& first_family() { return *families::kFamilies.front(); }

/// A folder with one file, removed at the end of the test.
struct Folder {
  explicit Folder(const std::string& file) {
    path = std::filesystem::path(::testing::TempDir()) / ("info." + std::to_string(::getpid()));
    std::filesystem::create_directory(path);
    std::ofstream(path / file) << "x";
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

TEST(Substrates, MissingSubstrateIsReported) {
  const Section section = substrates_section(nothing, {"/nowhere/lib", "/nowhere/lib64"}, {});
  for (const auto* family : families::kFamilies)
    EXPECT_EQ(text_at(section, family->name),
              std::string("not found: ") + family->sonames[0] + ": no such file");
  EXPECT_EQ(text_at(section, "  Intersession"), std::string("not found: ") +
                                                    first_family().library +
                                                    " is not in /nowhere/lib, /nowhere/lib64");
  EXPECT_FALSE(has_row(section, "  ABI"));
}

TEST(Substrates, FindsTheLibraryAndTheIntersessionVersion) {
  const Folder folder(first_family().library);
  const QueryLibrary ask = [](const std::string& name) -> base::Result<LoadedLibrary> {
    if (name != first_family().sonames[0]) return nothing(name);
    return LoadedLibrary{"/lib/mpi.so.1.2", "An MPI 1.2"};
  };
  const Section section = substrates_section(ask, {"/nowhere", folder.path.string()}, {});
  EXPECT_EQ(text_at(section, first_family().name), "An MPI 1.2");
  EXPECT_EQ(text_at(section, "  library"), "/lib/mpi.so.1.2");
  EXPECT_EQ(text_at(section, "  ABI"), first_family().sonames[0]);
  EXPECT_EQ(text_at(section, "  Intersession"), (folder.path / first_family().library).string());
}

TEST(Substrates, LooksUpAllNamesOfAFamily) {
  const auto& family = *families::kFamilies.back();
  std::vector<std::string> asked;
  const QueryLibrary ask = [&](const std::string& name) -> base::Result<LoadedLibrary> {
    asked.push_back(name);
    if (name != family.sonames.back()) return nothing(name);
    return LoadedLibrary{"/lib/x", "second"};
  };
  const Section section = substrates_section(ask, {}, {});
  EXPECT_EQ(text_at(section, family.name), "second");
  EXPECT_EQ(text_at(section, "  ABI"), family.sonames.back());
  EXPECT_EQ(std::count(asked.begin(), asked.end(), first_family().sonames[0]), 1)
      << "a repeated name must be looked up once";
}

TEST(Substrates, LooksUpTheLibraryOfTheUser) {
  base::Settings settings;
  settings.library = "/opt/mpi/libmpi.so";
  const QueryLibrary ask = [](const std::string& name) -> base::Result<LoadedLibrary> {
    return LoadedLibrary{name, "v of " + name};
  };
  EXPECT_EQ(text_at(substrates_section(ask, {}, settings), "INTERSESSION_LIBRARY"),
            "v of /opt/mpi/libmpi.so");
}

JobFacts four_on_two_nodes() {
  return {"pmix",
          {"world", 0, 4},
          {{"node0", "node1"}, {0, 1, 0, 1}},
          {0, 0, 1, 1},
          {{"mpi://WORLD", "0-3"}}};
}

TEST(Job, ShowsTheFactsOfTheJob) {
  const base::Result<JobFacts> facts = four_on_two_nodes();
  const Section launcher = launcher_section(facts, LoadedLibrary{"/lib/libpmix.so", "PMIx 9"});
  EXPECT_THAT(text_at(launcher, "launcher"), HasSubstr("PMIx"));
  EXPECT_EQ(text_at(launcher, "world"), "world");
  EXPECT_EQ(text_at(launcher, "processes"), "4; this is rank 0");
  EXPECT_EQ(text_at(launcher, "applications"), "0: 0-1; 1: 2-3");
  EXPECT_EQ(text_at(launcher, "PMIx library"), "PMIx 9");
  EXPECT_EQ(text_at(nodes_section(facts), "node0:"), "0, 2");
  EXPECT_EQ(text_at(nodes_section(facts), "node1:"), "1, 3");
  EXPECT_EQ(text_at(sets_section(facts), "mpi://WORLD"), "0-3");
}

TEST(Job, UnreachableLauncherIsAnErrorAndOtherFactsAreUnknown) {
  const base::Result<JobFacts> facts = Error(ErrorClass::other, "PMI_FD is dead");
  const Section launcher = launcher_section(facts, nothing("libpmix.so.2"));
  EXPECT_EQ(text_at(launcher, "error"), "PMI_FD is dead");
  EXPECT_EQ(text_at(launcher, "PMIx library"), "not found: libpmix.so.2: no such file");
  EXPECT_THAT(text_at(nodes_section(facts), "error"), StartsWith("unknown"));
  EXPECT_THAT(text_at(sets_section(facts), "error"), StartsWith("unknown"));
}

TEST(Job, SingletonHasAWorldOfOneProcess) {
  ::unsetenv("PMI_FD");
  ::unsetenv("PMI_PORT");
  ::unsetenv("PMIX_NAMESPACE");
  base::Settings settings;
  settings.psets = "mine=0";
  const auto facts = query_launcher(settings);
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_EQ(facts->job.size, 1u);
  EXPECT_THAT(facts->sets, Contains(std::pair<std::string, std::string>("mpi://WORLD", "0")));
  EXPECT_THAT(facts->sets, Contains(std::pair<std::string, std::string>("mine", "0")));
}

TEST(Job, SaysThatTheLauncherIsNotUsable) {
  ::setenv("SLURM_STEP_NUM_TASKS", "3", 1);
  const auto facts = query_launcher(base::Settings());
  ::unsetenv("SLURM_STEP_NUM_TASKS");
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_THAT(text_at(launcher_section(facts, nothing("libpmix.so.2")), "warning"),
              HasSubstr("SLURM_STEP_NUM_TASKS is 3"));
}

TEST(Transports, NamesTheSelectedProvider) {
  transport::ProviderReport offer{{"/lib/libfabric.so", "1.17"}, {}, 1};
  offer.providers.push_back({"first", {}, Error(ErrorClass::other, "not offered")});
  offer.providers.push_back({"second", "eth0 10.0.0.1", std::nullopt});
  offer.providers.push_back({"third", "eth0", std::nullopt});
  base::Settings settings;
  settings.provider = "any";
  offer.providers.back().warning = "may stop";
  const Section section = transports_section(std::move(offer), settings);
  EXPECT_EQ(section.rows.back().text, "may stop");
  EXPECT_EQ(text_at(section, "inside a node"), "shared memory");
  EXPECT_EQ(text_at(section, "libfabric"), "1.17");
  EXPECT_EQ(text_at(section, "1. first"), "not usable: not offered");
  EXPECT_EQ(text_at(section, "2. second"), "available at eth0 10.0.0.1; would be used");
  EXPECT_EQ(text_at(section, "3. third"), "available at eth0");
}

TEST(Transports, ExplainsHowToSelectAProvider) {
  transport::ProviderReport offer{{"/lib/libfabric.so", "1.17"}, {}, 0};
  offer.providers.push_back({"first", "eth0", std::nullopt});
  const Section section = transports_section(std::move(offer), {});
  EXPECT_EQ(text_at(section, "between nodes"), "TCP connections");
  EXPECT_EQ(text_at(section, "1. first"),
            "available at eth0; would be used if INTERSESSION_PROVIDER were any");
}

TEST(Transports, ReportsMissingLibfabric) {
  base::Settings settings;
  settings.transport = "fabric";
  settings.provider = "sockets";
  const Section section = transports_section(Error(ErrorClass::other, "cannot be loaded"),
                                             settings);
  EXPECT_EQ(text_at(section, "inside a node"), "libfabric");
  EXPECT_EQ(text_at(section, "libfabric"), "not found: cannot be loaded");
}

TEST(SettingsSection, ShowsValuesAndTheirSources) {
  const auto reading = base::read_each_setting(
      [](const std::string& asked) -> std::optional<std::string> {
        if (asked == "INTERSESSION_SPIN") return "7";
        if (asked == "INTERSESSION_YIELD") return "often";
        return std::nullopt;
      });
  const Section section = settings_section(reading,
                                           {{"INTERSESSION_SPINN", "INTERSESSION_SPIN"},
                                            {"INTERSESSION_LANES", "INTERSESSION_VCIS", true}});
  EXPECT_EQ(text_at(section, "INTERSESSION_SPIN"), "environment  7");
  EXPECT_THAT(text_at(section, "INTERSESSION_YIELD"),
              StartsWith("environment  error: INTERSESSION_YIELD=\"often\""));
  EXPECT_EQ(text_at(section, "INTERSESSION_EXCHANGE"), "default      modex");
  EXPECT_EQ(text_at(section, "INTERSESSION_PSETS"), "default      (empty)");
  EXPECT_EQ(text_at(section, "INTERSESSION_SPINN"),
            "environment  error: unknown setting; the closest one is INTERSESSION_SPIN");
  EXPECT_EQ(text_at(section, "INTERSESSION_LANES"),
            "environment  warning: old name; use INTERSESSION_VCIS");
  EXPECT_EQ(section.rows.size(), base::setting_rows().size() + 2);
}

}  // namespace
}  // namespace shim::info
