// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>

#include "shim/families/families.hpp"
#include "shim/info/info.hpp"

namespace shim::info {
namespace {

using families::Family;

/// Result of a search for an MPI library.
struct FoundLibrary {
  std::string name;  ///< soname or path with which the search ended
  base::Result<base::LoadedLibrary> library;
};

/// Query the sonames of the family in order, and return the first library that loads. Return the
/// error of the first soname if none loads.
FoundLibrary find(const Family& family, const QueryLibrary& ask) {
  FoundLibrary first{family.sonames[0], ask(family.sonames[0])};
  for (std::size_t i = 1; !first.library && i < family.sonames.size(); ++i) {
    if (std::string(family.sonames[i]) == family.sonames[i - 1]) continue;  // repeated name
    auto next = ask(family.sonames[i]);
    if (next) return {family.sonames[i], std::move(next)};
  }
  return first;
}

/// Return the file of Intersession's library for the family; "not found" with `folders` if no
/// folder contains it.
std::string ours_of(const Family& family, const std::vector<std::string>& folders) {
  std::string where;
  for (const std::string& folder : folders) {
    // Not the target of the link: programs preload the library by this name.
    std::error_code error;
    const auto file = std::filesystem::weakly_canonical(folder, error) / family.library;
    if (std::filesystem::exists(file, error)) return file.string();
    where += (where.empty() ? "" : ", ") + folder;
  }
  return std::string("not found: ") + family.library + " is not in " + where;
}

/// Add rows for file and soname of a library that was found.
void add_library(Section& section, const FoundLibrary& found) {
  if (!found.library) return;
  section.add("  library", found.library->file);
  section.add("  ABI", found.name);
}

std::string version_of(const FoundLibrary& found) {
  return found.library ? found.library->version : "not found: " + found.library.error().text();
}

}  // namespace

Section build_section(const std::string& version, const std::string& command) {
  Section section{"Intersession", {}};
  section.add("version", version);
  section.add("command", command);
  return section;
}

Section substrates_section(const QueryLibrary& ask, const std::vector<std::string>& folders,
                           const base::Settings& settings) {
  Section section{"substrates", {}};
  for (const Family* family : families::kFamilies) {
    const FoundLibrary found = find(*family, ask);
    section.add(family->name, version_of(found));
    add_library(section, found);
    section.add("  Intersession", ours_of(*family, folders));
  }
  if (!settings.library.empty()) {
    const FoundLibrary named{settings.library, ask(settings.library)};
    section.add("INTERSESSION_LIBRARY", version_of(named));
    if (named.library) section.add("  library", named.library->file);
  }
  return section;
}

}  // namespace shim::info
