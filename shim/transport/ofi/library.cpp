// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/library.hpp"

#include <dlfcn.h>
#include <rdma/fi_errno.h>

#include <cstdlib>

#include "shim/base/descriptor.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Origin;
using base::Result;

namespace {

/// Symbol version that matches fi_info in the headers of the build: libfabric changed the structure
/// in 1.20 and keeps the older functions for callers that name the version, as the linker would.
constexpr const char* kInfoVersion = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION) <
                                             FI_VERSION(1, 20)
                                         ? "FABRIC_1.3"
                                         : nullptr;

template <typename Function>
bool find(void* handle, const char* name, const char* version, Function& function) {
  void* symbol = version ? ::dlvsym(handle, name, version) : ::dlsym(handle, name);
  function = reinterpret_cast<Function>(symbol);
  return symbol != nullptr;
}

}  // namespace

Result<OfiLibrary> OfiLibrary::load() {
  const base::StandardStreamsHeld streams;
  void* handle = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char* reason = ::dlerror();
    return Error(ErrorClass::other, "libfabric cannot be loaded (" +
                                        std::string(reason ? reason : "no reason given") +
                                        "); install libfabric1 on every node");
  }
  OfiLibrary library;
  bool complete = find(handle, "fi_getinfo", kInfoVersion, library.getinfo) &&
                  find(handle, "fi_freeinfo", kInfoVersion, library.freeinfo) &&
                  find(handle, "fi_dupinfo", kInfoVersion, library.dupinfo) &&
                  find(handle, "fi_fabric", nullptr, library.fabric) &&
                  find(handle, "fi_strerror", nullptr, library.strerror) &&
                  find(handle, "fi_version", nullptr, library.version);
  ::dlclose(handle);  // RTLD_NODELETE keeps it loaded
  if (!complete)
    return Error(
        ErrorClass::other,
        "the installed libfabric lacks a required function; install version 1.11 or later");
  return library;
}

Error OfiLibrary::error(int code, const std::string& doing) const {
  int positive = std::abs(code);
  return Error(
      positive == FI_ENOMEM ? ErrorClass::no_mem : ErrorClass::other, Origin::fabric, positive,
      doing + ": " + strerror(positive) + " (libfabric error " + std::to_string(positive) + ")");
}

}  // namespace shim::transport
