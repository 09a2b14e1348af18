// SPDX-License-Identifier: BSD-3-Clause
// Finds the progress functions of Open MPI. Its library libopen-pal exports a progress engine with
// callbacks since version 1 (opal/runtime/opal_progress.h).
#include "shim/intercept/abi/progress.hpp"

namespace shim::intercept::abi {

SubstrateProgress resolve_progress(SymbolLookup lookup) {
  SubstrateProgress progress;
  progress.poll = reinterpret_cast<void (*)()>(lookup("opal_progress"));
  // _lp: low priority, called every eighth round, so that the substrate's latency hardly changes
  progress.add = reinterpret_cast<int (*)(SubstrateProgress::Callback)>(
      lookup("opal_progress_register_lp"));
  return progress;
}

}  // namespace shim::intercept::abi
