// SPDX-License-Identifier: BSD-3-Clause
// Answers which operations of a communicator can no longer succeed, and why.
#pragma once

#include <cstdint>
#include <string>

#include "shim/base/error.hpp"
#include "shim/base/ids.hpp"
#include "shim/p2p/context.hpp"

namespace shim::p2p {

base::Error revoked_error();
base::Error died_error(base::ProcessId process);
/// Return the name of a process in error texts.
std::string text_of(base::ProcessId process);

/// Operations of a communicator to end: its collectives', or all.
enum class Scope : std::uint8_t { collectives, all };
bool is_in(Scope scope, const MessageAddress& address, const Context& context);

/// Return why no message from this source can arrive any more; null if one can.
const base::Error* failure_of(const Context& context, int source);
/// Return why a receive from there cannot succeed any more; null if it can.
const base::Error* failure_of(const MessageAddress& from);

}  // namespace shim::p2p
