// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/substrate.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/native/other_family.hpp"

namespace shim::intercept {
namespace {

constexpr const char* kAnyFunction = "PMPI_Initialized";

/// True if the address is in this library. A lookup with RTLD_NEXT can return this library's own
/// function if the library is in the lookup order twice (linked and preloaded under two names, or
/// part of a test program).
bool is_in_this_library(void* address) noexcept {
  Dl_info found{}, self{};
  return dladdr(address, &found) != 0 &&
         dladdr(reinterpret_cast<void*>(&substrate_symbol), &self) != 0 &&
         found.dli_fbase == self.dli_fbase;
}

void* lookup(void* library, const char* name) noexcept {
  void* address = dlsym(library, name);
  return address != nullptr && !is_in_this_library(address) ? address : nullptr;
}

/// Return the value of INTERSESSION_LIBRARY; null if it is empty or not set. Read here instead of
/// through base::Settings, which exist per Process object: a world program has none.
const char* named_library() noexcept {
  const char* path = std::getenv("INTERSESSION_LIBRARY");
  return path != nullptr && *path != '\0' ? path : nullptr;
}

/// Return the loaded library of one of these sonames; null if there is none. Never closed: the
/// program may close its last reference while slots still point into it.
void* loaded_library(const std::array<const char*, 2>& sonames) noexcept {
  for (const char* name : sonames)
    if (void* loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return loaded;
  return nullptr;
}

/// Open the library by its soname or by the user's setting; null if there is none. Never closed.
void* open_library() noexcept {
  if (void* loaded = loaded_library(abi::kFamily.sonames)) return loaded;
  const char* path = named_library();
  return path != nullptr ? dlopen(path, RTLD_LAZY | RTLD_GLOBAL) : nullptr;
}

/// Return the library; retry after a failure, because a Python extension may load it later.
void* library() noexcept {
  static constinit std::mutex mutex;
  static constinit void* found = nullptr;
  std::lock_guard lock(mutex);
  if (found == nullptr) found = open_library();
  if (found == nullptr) refuse_other_family(nullptr);
  return found;
}

/// Return the Fortran library; retry after a failure, because a plugin may load it later.
void* fortran_library() noexcept {
  static constinit std::mutex mutex;
  static constinit void* found = nullptr;
  std::lock_guard lock(mutex);
  if (found == nullptr) found = loaded_library(abi::kFamily.fortran_sonames);
  return found;
}

}  // namespace

void* substrate_symbol(const char* name) noexcept {
  if (void* next = lookup(RTLD_NEXT, name)) {
    static const bool is_checked = (refuse_other_family(RTLD_NEXT), true);
    static_cast<void>(is_checked);
    return next;
  }
  void* opened = library();
  return opened != nullptr ? lookup(opened, name) : nullptr;
}

void* fortran_symbol(const char* name) noexcept {
  if (void* found = substrate_symbol(name)) return found;
  void* library = fortran_library();
  return library != nullptr ? lookup(library, name) : nullptr;
}

void* data_symbol(const char* name) {
  if (void* seen = dlsym(RTLD_DEFAULT, name)) return seen;
  // Libraries loaded with RTLD_LOCAL. The Fortran library may replace objects of the native
  // library.
  if (void* library = fortran_library())
    if (void* found = lookup(library, name)) return found;
  return substrate_symbol(name);
}

base::Status require_substrate() {
  auto resolved = abi::resolve_predefined(data_symbol);
  if (resolved) return {};
  const std::string reason = reason_against_named_library();
  if (reason.empty()) return resolved;
  return base::Error(resolved.error().error_class(), resolved.error().text() + " (" + reason + ")");
}

/// Cache the result, because every call before MPI_Init asks and a lookup takes microseconds. Once
/// found it stays valid: slots point into the library.
bool has_substrate() noexcept {
  static std::atomic<bool> is_there{false};
  if (is_there.load(std::memory_order_relaxed)) return true;  // publishes no other data
  const bool found = substrate_symbol(kAnyFunction) != nullptr;
  if (found) is_there.store(true, std::memory_order_relaxed);
  return found;
}

std::string reason_against_named_library() {
  const char* path = named_library();
  if (path == nullptr) return {};
  const std::string setting = "INTERSESSION_LIBRARY=" + std::string(path);
  void* const opened = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* reason = dlerror();
    return setting + " cannot be loaded: " + (reason != nullptr ? reason : "unknown reason");
  }
  const bool is_mpi = lookup(opened, kAnyFunction) != nullptr;
  dlclose(opened);
  return is_mpi ? std::string() : setting + " has no " + kAnyFunction;
}

}  // namespace shim::intercept
