// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/progress.hpp"

namespace shim::intercept::abi {

/// Return no functions, because MPICH does not export its progress engine: a thread blocked in
/// Intersession polls MPICH by probing; a thread blocked in MPICH makes no progress in
/// Intersession.
SubstrateProgress resolve_progress(SymbolLookup) { return {}; }

}  // namespace shim::intercept::abi
