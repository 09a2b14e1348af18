// SPDX-License-Identifier: BSD-3-Clause
// What may go wrong over a provider on this system, by no fault that can be mended here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shim::transport {

/// The bytes of memory with which a TCP connection of this process begins to receive (tcp(7), the second value of tcp_rmem). Local.
/// Nothing where the system does not say.
std::optional<std::size_t> tcp_receive_memory();

/// For the user: what may go wrong, and what helps; empty where nothing is known. receive_memory: as tcp_receive_memory answers.
///
/// sockets (libfabric 1.17) looks for the 24 bytes of a header without taking those that are there. The system keeps a whole
/// buffer, of up to 128 KiB, as long as one of its bytes has not been taken, and where that is all the memory of the connection it takes
/// in no more: the rest of the header never comes (docs/measurements.md, "Of libfabric").
std::string caution_about(std::string_view provider, std::optional<std::size_t> receive_memory);

}  // namespace shim::transport
