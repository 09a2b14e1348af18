// SPDX-License-Identifier: BSD-3-Clause
// Sends messages of the creation protocol.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/sessions/creation_wire.hpp"

namespace shim::sessions {

class Process;

/// Send a message. Errors are only logged: the members that wait for an unreachable process find it
/// missing or dead.
void send_creation_message(Process& process, base::ProcessId to, const CreationMessage& message);
/// Send a message that is encoded already.
void send_creation_bytes(Process& process, base::ProcessId to, std::vector<std::byte> bytes);

}  // namespace shim::sessions
