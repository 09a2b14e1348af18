// SPDX-License-Identifier: BSD-3-Clause
// Transport of a process to itself: a queue.
#pragma once

#include <memory>

#include "shim/transport/transport.hpp"

namespace shim::transport {

inline constexpr std::size_t kSelfMaxPacketBytes = 64 * 1024;
/// Queued packets after which try_send returns again, to bound the memory of a process that sends
/// without receiving.
inline constexpr std::size_t kSelfMaxQueued = 256;

/// Create the transport. Local. Its address opens on this transport only. try_read copies; a send
/// of another thread wakes sleep.
std::unique_ptr<Transport> make_self();

}  // namespace shim::transport
