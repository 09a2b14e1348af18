// SPDX-License-Identifier: BSD-3-Clause
// intersession-info prints the environment that Intersession finds, once per job.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "shim/base/version.hpp"
#include "shim/info/info.hpp"
#include "shim/info/mpi_library.hpp"

namespace shim::info {
namespace {

constexpr const char* kUsage =
    "usage: intersession-info [--help | --version]\n"
    "\n"
    "Prints what Intersession finds: MPI libraries, launcher, nodes, process sets, transports, "
    "settings.\n"
    "Without a launcher it reports on a world of one process; under a launcher\n"
    "(mpirun -n 4 intersession-info) on the job, and rank 0 prints. The exit code is 1 if a\n"
    "setting is invalid or misspelled, or if the launcher does not respond. Missing software is\n"
    "reported, but is not an error.\n";

constexpr int kFailed = 1, kMisused = 2;

/// Return the folders that may contain Intersession's libraries: `../lib` relative to the command's
/// folder (build folder), and CMake's libdir relative to its bindir (installation).
std::vector<std::string> library_folders(const std::filesystem::path& command) {
  std::vector<std::string> folders;
  for (const char* folder : {"../lib", INTERSESSION_LIB_FROM_BIN}) {
    const std::string path = (command.parent_path() / folder).lexically_normal().string();
    if (folders.empty() || folders.back() != path) folders.push_back(path);
  }
  return folders;
}

/// Collect all data, and print the report if this process is rank 0 or does not know its rank.
/// Return the exit code.
int print_report() {
  const auto reading = base::read_each_setting();
  const auto suggestions = base::suggest_settings(environ);
  const base::Settings& settings = reading.settings;
  const auto facts = query_launcher(settings);
  // The launcher may abort the job at the first nonzero exit code, possibly before rank 0 has
  // printed. Therefore other ranks return 0, whatever their environment is.
  if (facts && facts->job.rank != 0) return 0;

  std::error_code error;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", error);
  const QueryLibrary ask = [&](const std::string& name) {
    return query_in_child(command.string(), name, settings.ready_timeout);
  };
  const std::array sections = {
      build_section(base::version_text(), command.string()),
      substrates_section(ask, library_folders(command), settings),
      launcher_section(facts, bootstrap::find_pmix_library()),
      nodes_section(facts),
      sets_section(facts),
      transports_section(
          transport::explore_ofi({.provider = settings.provider, .interface = settings.interface}),
          settings),
      settings_section(reading, suggestions),
  };
  std::fputs(text_of(sections).c_str(), stdout);
  const bool has_unknown = std::any_of(
      suggestions.begin(), suggestions.end(),
      [](const base::SettingSuggestion& name) { return !name.is_old_name; });
  return facts && reading.is_right() && !has_unknown ? 0 : kFailed;
}

int run_command(std::span<char*> arguments) {
  const std::string_view option = arguments.size() > 1 ? arguments[1] : "";
  if (arguments.size() == 1) return print_report();
  if (arguments.size() == 3 && option == kQueryOption)
    return print_library(arguments[2]) ? 0 : kFailed;
  if (arguments.size() == 2 && option == "--help")
    return std::fputs(kUsage, stdout) < 0 ? kFailed : 0;
  if (arguments.size() == 2 && option == "--version")
    return std::printf("intersession-info %s\n", base::version_text()) < 0 ? kFailed : 0;
  std::fputs(kUsage, stderr);
  return kMisused;
}

}  // namespace
}  // namespace shim::info

int main(int count, char** arguments) {
  return shim::info::run_command({arguments, static_cast<std::size_t>(count)});
}
