// SPDX-License-Identifier: BSD-3-Clause
// Open MPI has a progress engine with callbacks, exported by its library libopen-pal since version 1
// (opal/runtime/opal_progress.h).
#include "shim/intercept/abi/progress.hpp"

namespace shim::intercept::abi {

SubstrateProgress resolve_progress(SymbolLookup lookup) {
  SubstrateProgress progress;
  progress.poll = reinterpret_cast<void (*)()>(lookup("opal_progress"));
  // _lp: low priority, called every eighth round, so that the substrate's own latency hardly sees us
  progress.add = reinterpret_cast<int (*)(SubstrateProgress::Callback)>(lookup("opal_progress_register_lp"));
  return progress;
}

}  // namespace shim::intercept::abi
