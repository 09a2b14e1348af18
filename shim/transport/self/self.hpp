// SPDX-License-Identifier: BSD-3-Clause
// Packets to oneself: a queue.
#pragma once

#include <memory>

#include "shim/transport/transport.hpp"

namespace shim::transport {

inline constexpr std::size_t kSelfMaxPacketBytes = 64 * 1024;
/// Packets that may wait before try_send answers again, so that sending without receiving does not eat the memory.
inline constexpr std::size_t kSelfMaxQueued = 256;

/// Local. Its address opens on this transport alone. try_read copies; sleep is woken by a send of another thread.
std::unique_ptr<Transport> make_self();

}  // namespace shim::transport
