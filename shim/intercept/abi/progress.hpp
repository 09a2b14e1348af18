// SPDX-License-Identifier: BSD-3-Clause
// SubstrateProgress holds the functions of the substrate for cross-progress in both directions.
#pragma once

#include "shim/intercept/abi/predefined.hpp"

namespace shim::intercept::abi {

struct SubstrateProgress {
  using Callback = int (*)();  ///< returns the number of events that it completed
  void (*poll)() = nullptr;    ///< run one round of the substrate's progress
  /// Register a callback that threads waiting inside the substrate call now and then, until
  /// MPI_Finalize. Never deregistered: in 4.1, deregistration races with threads inside poll. A
  /// callback without work stays registered.
  int (*add)(Callback callback) = nullptr;
};

/// Return the functions; members are null if the substrate does not export them.
SubstrateProgress resolve_progress(SymbolLookup lookup);

}  // namespace shim::intercept::abi
