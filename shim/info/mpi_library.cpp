// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/mpi_library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <vector>

#include "shim/info/child.hpp"
#include "shim/info/report.hpp"

namespace shim::info {
namespace {

using base::Error;
using base::ErrorClass;

/// Larger than MPI_MAX_LIBRARY_VERSION_STRING of any MPI library.
constexpr std::size_t kVersionBytes = 64 * 1024;

Error loader_error(const std::string& name) {
  const char* reason = ::dlerror();
  return Error(ErrorClass::other,
               reason == nullptr ? name + ": the dynamic linker gives no reason" : reason);
}

}  // namespace

base::Result<base::LoadedLibrary> load_and_query(const std::string& name) {
  void* library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return loader_error(name);
  auto* get_version = reinterpret_cast<int (*)(char*, int*)>(
      ::dlsym(library, "MPI_Get_library_version"));
  if (get_version == nullptr) return loader_error(name);
  std::vector<char> version(kVersionBytes, '\0');
  int length = 0;
  if (get_version(version.data(), &length) != 0)
    return Error(ErrorClass::other, name + ": MPI_Get_library_version failed");
  return base::LoadedLibrary{base::file_of(reinterpret_cast<const void*>(get_version)),
                             first_line(version.data())};
}

bool print_library(const std::string& name) {
  const auto library = load_and_query(name);
  if (library)
    std::printf("%s\n%s\n", library->file.c_str(), library->version.c_str());
  else
    std::printf("%s\n", first_line(library.error().text()).c_str());
  return library.has_value();
}

base::Result<base::LoadedLibrary> query_in_child(const std::string& command,
                                                 const std::string& name, double seconds) {
  SHIM_TRY_ASSIGN(const ChildResult outcome, run({command, kQueryOption, name}, seconds));
  const std::string first = first_line(outcome.output);
  if (outcome.exit_code != 0) return Error(ErrorClass::other, first);
  if (first.size() == outcome.output.size())  // for example, the library calls exit(0)
    return Error(ErrorClass::other,
                 "the query process ended with no report (output \"" + first + "\")");
  return base::LoadedLibrary{first,
                             first_line(std::string_view(outcome.output).substr(first.size() + 1))};
}

}  // namespace shim::info
