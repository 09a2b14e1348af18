// SPDX-License-Identifier: BSD-3-Clause
// Where a process can be called over the Internet protocols.
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
  std::array<std::uint8_t, 16> bytes{};  ///< in the order of the network; of IPv4 the first four
  bool is_v6 = false;
  bool operator==(const IpAddress&) const = default;

  std::string text() const;
  /// Fills in what connect(2) needs; answers its length.
  socklen_t to_socket_address(std::uint16_t port, sockaddr_storage& into) const;
};

/// As bytes: 12, and 5 for each address of IPv4, 17 for each of IPv6.
struct ContactAddress {
  std::uint64_t cookie = 0;  ///< a random number of that process: who does not know it is a stranger
  std::uint16_t port = 0;
  std::vector<IpAddress> addresses;  ///< one after the other is tried

  std::string text() const;
  Bytes to_bytes() const;
  static std::optional<ContactAddress> from_bytes(ConstSpan bytes);
};

/// Most that a process tells others of itself.
inline constexpr std::size_t kMostAddresses = 4;

/// This machine's addresses that others may reach, the most likely first: IPv4, IPv6, and what only machines on the same cable reach;
/// its loopback where it has nothing else. Where `interface` is the name of one that has addresses, or the beginning of such an
/// address, only those. Local. Empty where the machine has no network at all.
std::vector<IpAddress> own_addresses(const std::string& interface);
/// Does a call to this address stay on this machine? Then it says nothing of another one that has the same. Local.
bool is_own(const IpAddress& address);

}  // namespace shim::transport
