// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/predefined.hpp"

#include <mutex>
#include <string>

#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {

constinit PredefinedHandles predefined;
constinit HandleMap<types::Type, 256> predefined_types;
constinit HandleMap<types::Op, 32> predefined_ops;

base::Status resolve_predefined(SymbolLookup lookup) {
  static constinit std::mutex mutex;
  static constinit std::atomic<bool> resolved{false};
  if (resolved.load(std::memory_order_acquire)) return {};  // pairs with the release below
  std::lock_guard lock(mutex);
  if (resolved.load(std::memory_order_relaxed)) return {};
  if (!has_library(lookup))
    return base::Error(base::ErrorClass::other,
                       "no MPI library with the ABI of " + std::string(kFamily.name) +
                           " is loaded; link with one, or set INTERSESSION_LIBRARY to its file");
  resolve_handles(lookup);
  resolve_types(lookup, [](Bits handle, std::string_view name) {
    if (const types::Type* type = types::find_predefined(name))
      predefined_types.insert(handle, type);
  });
  resolve_ops(lookup, [](Bits handle, types::Operator op) {
    predefined_ops.insert(handle, &types::predefined(op));
  });
  resolved.store(true, std::memory_order_release);
  return {};
}

MPI_Datatype handle_of(const types::Type& type) noexcept {
  MPI_Datatype found = predefined.datatype_null;
  predefined_types.for_each([&](Bits key, const types::Type& value) {
    if (&value == &type) found = from_bits<MPI_Datatype>(key);
  });
  return found;
}

}  // namespace shim::intercept::abi
