// SPDX-License-Identifier: BSD-3-Clause
// IpAddress and TcpAddress: addresses at which a process accepts connections.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shim/transport/transport.hpp"

namespace shim::transport {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  ///< network byte order; IPv4 uses the first four
  bool is_v6 = false;
  bool operator==(const IpAddress&) const = default;

  std::string text() const;
  /// Fill in the argument of connect(2); return its length.
  socklen_t to_socket_address(std::uint16_t port, sockaddr_storage& into) const;
};

/// Serialized: 12 bytes, and 5 for each IPv4 or 17 for each IPv6 address.
struct TcpAddress {
  /// Random number of that process: a peer that does not know it is not authenticated.
  std::uint64_t cookie = 0;
  std::uint16_t port = 0;
  std::vector<IpAddress> addresses;  ///< tried in this order

  std::string text() const;
  Bytes to_bytes() const;
  static std::optional<TcpAddress> from_bytes(ConstSpan bytes);
};

/// Most addresses that a process publishes.
inline constexpr std::size_t kMaxAddresses = 4;

/// Check that the text is empty, the name of an interface with addresses, or the beginning of an
/// address of this machine. Local. Errors: other (the text lists what there is).
base::Status check_interface(const std::string& interface);
/// Return this machine's addresses that others may reach, the most likely first: IPv4, IPv6,
/// link-local; loopback only if there is no other. If `interface` names an interface with
/// addresses, or is the beginning of an address, return only the matching ones. Local. Empty if the
/// machine has no network.
std::vector<IpAddress> local_addresses(const std::string& interface);
/// True if a connection to this address stays on this machine; its failure then says nothing of
/// another machine with an equal address. Local.
bool is_local_address(const IpAddress& address);

}  // namespace shim::transport
