// SPDX-License-Identifier: BSD-3-Clause
// Receives bytes of a PMI-1 connection without blocking.
#pragma once

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

enum class Received { something, nothing_yet, end };

/// Receive available bytes from a socket without blocking; with MSG_PEEK in `flags`, leave them
/// there.
Received receive(int descriptor, LineBuffer& buffer, int flags = 0);

}  // namespace shim::bootstrap::pmi1
