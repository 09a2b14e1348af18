// SPDX-License-Identifier: BSD-3-Clause
// intersession-info: prints what Intersession finds here, once per job.
#include <array>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "shim/info/info.hpp"
#include "shim/info/mpi_library.hpp"

namespace shim::info {
namespace {

constexpr const char* kUsage =
    "usage: intersession-info [--help | --version]\n"
    "\n"
    "Prints what Intersession finds: MPI libraries, launcher, nodes, process sets, transports, settings.\n"
    "Alone it speaks of a world of one process; under a launcher (mpirun -n 4 intersession-info) of the\n"
    "job, and the process of rank 0 prints. Exit code 1 where a setting is wrong or misspelt or the launcher\n"
    "does not answer; what is missing otherwise is said, and is no error.\n";

constexpr int kFailed = 1, kMisused = 2;

/// Where the libraries are, seen from the command in a build or an installation.
std::vector<std::string> library_folders(const std::filesystem::path& command) {
  std::vector<std::string> folders;
  for (const char* folder : {"../lib", INTERSESSION_LIB_FROM_BIN}) {
    const std::string path = (command.parent_path() / folder).lexically_normal().string();
    if (folders.empty() || folders.back() != path) folders.push_back(path);
  }
  return folders;
}

int print_report() {
  const auto reading = base::read_each_setting();
  const auto misspelt = base::misspelt_settings(environ);
  const base::Settings& settings = reading.settings;
  const auto facts = ask_launcher(settings);
  // The launcher may end the job at the first exit code that is not 0: that is for the process that has printed.
  if (facts && facts->job.rank != 0) return 0;

  std::error_code error;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", error);
  const AskLibrary ask = [&](const std::string& name) { return ask_apart(command.string(), name, settings.ready_timeout); };
  const std::array sections = {
      substrates_section(ask, library_folders(command), settings),
      launcher_section(facts, bootstrap::find_pmix_library()),
      nodes_section(facts),
      sets_section(facts),
      transports_section(transport::explore_ofi({.provider = settings.provider, .interface = settings.interface}), settings),
      settings_section(reading, misspelt),
  };
  std::fputs(text_of(sections).c_str(), stdout);
  return facts && reading.is_right() && misspelt.empty() ? 0 : kFailed;
}

int run_command(std::span<char*> arguments) {
  const std::string_view option = arguments.size() > 1 ? arguments[1] : "";
  if (arguments.size() == 1) return print_report();
  if (arguments.size() == 3 && option == kAskOption) return answer_about(arguments[2]) ? 0 : kFailed;
  if (arguments.size() == 2 && option == "--help") return std::fputs(kUsage, stdout) < 0 ? kFailed : 0;
  if (arguments.size() == 2 && option == "--version") return std::puts("intersession-info " INTERSESSION_VERSION) < 0 ? kFailed : 0;
  std::fputs(kUsage, stderr);
  return kMisused;
}

}  // namespace
}  // namespace shim::info

int main(int count, char** arguments) { return shim::info::run_command({arguments, static_cast<std::size_t>(count)}); }
