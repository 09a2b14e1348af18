// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/substrate.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "shim/intercept/abi/families.hpp"
#include "shim/intercept/native/other_family.hpp"

namespace shim::intercept {
namespace {

constexpr const char* kAnyFunction = "PMPI_Initialized";

/// An address of ours is no answer: RTLD_NEXT finds us again when this library is in the program twice (linked and preloaded
/// under two names, or as a part of a test program).
bool is_in_this_library(void* address) noexcept {
  Dl_info found{}, self{};
  return dladdr(address, &found) != 0 && dladdr(reinterpret_cast<void*>(&substrate_symbol), &self) != 0 &&
         found.dli_fbase == self.dli_fbase;
}

void* lookup(void* library, const char* name) noexcept {
  void* address = dlsym(library, name);
  return address != nullptr && !is_in_this_library(address) ? address : nullptr;
}

/// The library by its own name or by the user's setting; null where there is none. Kept loaded for good: the program may
/// close its last reference while slots still point into it.
void* open_library() noexcept {
  for (const char* name : abi::kFamily.sonames)
    if (void* loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return loaded;
  // Read here and not through base::Settings: those exist per Process object, and a world program has none.
  const char* path = std::getenv("INTERSESSION_LIBRARY");
  return path != nullptr && *path != '\0' ? dlopen(path, RTLD_LAZY | RTLD_GLOBAL) : nullptr;
}

/// Found late is found: a Python extension may load the library long after our first look.
void* library() noexcept {
  static constinit std::mutex mutex;
  static constinit void* found = nullptr;
  std::lock_guard lock(mutex);
  if (found == nullptr) found = open_library();
  if (found == nullptr) refuse_other_family(nullptr);
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

/// Asked by every call before MPI_Init, and a look-up takes microseconds. Once there it stays: slots point into it.
bool has_substrate() noexcept {
  static std::atomic<bool> is_there{false};
  if (is_there.load(std::memory_order_relaxed)) return true;  // nothing else is published with it
  const bool found = substrate_symbol(kAnyFunction) != nullptr;
  if (found) is_there.store(true, std::memory_order_relaxed);
  return found;
}

}  // namespace shim::intercept
