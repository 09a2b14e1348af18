// SPDX-License-Identifier: BSD-3-Clause
// Warnings for users about provider hazards that Intersession cannot fix.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shim::transport {

/// Return the initial receive memory of this process's TCP connections in bytes (tcp(7), second
/// value of tcp_rmem). Local. Nullopt if unknown.
std::optional<std::size_t> tcp_receive_memory();

/// Return the hazard and its remedy for the user; empty if none is known. receive_memory: from
/// tcp_receive_memory.
///
/// sockets (libfabric 1.17) peeks for the 24 bytes of a header. The kernel keeps a whole buffer of
/// up to 128 KiB while one of its bytes is unread; if that is all of the connection's memory, the
/// kernel accepts no more, and the rest of the header never arrives
/// (docs/decisions/0025-libfabric-provider-workarounds.md).
std::string provider_warning(std::string_view provider, std::optional<std::size_t> receive_memory);

}  // namespace shim::transport
