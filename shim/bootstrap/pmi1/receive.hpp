// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

enum class Received { something, nothing_yet, end };

/// Takes what a socket holds, without waiting; with MSG_PEEK among the flags it only looks.
Received receive(int descriptor, LineBuffer& buffer, int flags = 0);

}  // namespace shim::bootstrap::pmi1
