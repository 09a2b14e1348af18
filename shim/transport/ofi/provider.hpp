// SPDX-License-Identifier: BSD-3-Clause
// Which of libfabric's providers to use, and over which interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shim/transport/ofi/library.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::transport {

/// Packets with their frame fit into this, which is what the providers below send in one piece.
inline constexpr std::size_t kFrameBytes = 16 * 1024;
/// Sends in progress at once, and receives posted.
inline constexpr std::size_t kSendDepth = 128;
inline constexpr std::size_t kReceiveDepth = 128;

/// The providers to try, in this order: the one that the user wants, else those that pass the conformance tests, the one to
/// prefer first (measured: docs/measurements.md).
std::vector<std::string> candidates(const std::string& wanted);

/// "eth1 10.1.0.2": where the endpoint described would be; without the address where it is none of the Internet's.
std::string interface_of(const fi_info& info);

/// May packets that this provider has taken be lost when their sender closes its endpoint? Not those of libfabric's shm: they
/// are in the receiver's memory; and a packet to one who has closed ends the process there (libfabric 1.17), so none is sent.
inline bool closing_loses_packets(std::string_view provider) { return provider != "shm"; }

/// The description of an endpoint of exactly this provider over the interface wanted; nothing but the means we need is asked
/// for. Errors: other (with the reason, without the provider's name).
base::Result<InfoList> find_provider(const Library& library, std::string_view provider, const std::string& interface);

}  // namespace shim::transport
