// SPDX-License-Identifier: BSD-3-Clause
// How to lend time to the substrate, and how to be lent time while a thread is blocked inside it.
#pragma once

#include "shim/intercept/abi/predefined.hpp"

namespace shim::intercept::abi {

struct SubstrateProgress {
  using Callback = int (*)();                ///< answers how many events it has completed
  void (*poll)() = nullptr;                  ///< one round of the substrate's progress
  /// From here to MPI_Finalize the callback is called now and then by all that wait inside the substrate. There is a function
  /// to take it out again, but in 4.1 it races with threads that are inside poll: a callback that has nothing to do stays.
  int (*add)(Callback callback) = nullptr;
};

/// Members are null where the substrate does not export the function.
SubstrateProgress resolve_progress(SymbolLookup lookup);

}  // namespace shim::intercept::abi
