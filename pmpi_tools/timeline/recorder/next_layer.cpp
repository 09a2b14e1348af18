// SPDX-License-Identifier: BSD-3-Clause
#include "pmpi_tools/timeline/recorder/next_layer.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>

namespace timeline {
namespace {

struct Search {
  const char* name;
  void* found;
};

/// Search one loaded object; callback of dl_iterate_phdr(3).
int look_in(dl_phdr_info* object, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (object->dlpi_name == nullptr || *object->dlpi_name == '\0') return 0;
  void* library = ::dlopen(object->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return 0;
  search->found = ::dlsym(library, search->name);
  ::dlclose(library);
  return search->found != nullptr;
}

}  // namespace

void* find_in_next_layer(const char* name) {
  // The tool defines no PMPI_ functions, so a found function belongs to another library.
  if (void* next = ::dlsym(RTLD_NEXT, name)) return next;
  Search search{name, nullptr};
  ::dl_iterate_phdr(look_in, &search);
  if (search.found != nullptr) return search.found;
  std::fprintf(stderr,
               "intersession-timeline: no library of this program has %s; load Intersession "
               "before the MPI library\n",
               name);
  std::abort();
}

}  // namespace timeline
