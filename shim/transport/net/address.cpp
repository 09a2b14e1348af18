// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "shim/base/descriptor.hpp"
#include "shim/transport/net/net.hpp"

namespace shim::transport {
namespace {

struct Head {
  static constexpr std::uint8_t kKind = 0xC1;
  std::uint64_t cookie;
  std::uint16_t port;
  std::uint8_t kind;
  std::uint8_t count;
};
constexpr std::size_t kHeadBytes = 12;  // without trailing padding

std::size_t length_of(const IpAddress& address) { return address.is_v6 ? 16 : 4; }
static_assert(kHeadBytes + kMaxAddresses * (1 + sizeof(IpAddress::bytes)) == kMaxNetAddressBytes);

struct InterfaceAddress {
  IpAddress address;
  std::string interface;
  int rank = 0;  ///< 0 is best

  /// True if the text is the interface's name or the beginning of the address.
  bool is_named(const std::string& text) const {
    return interface == text || address.text().starts_with(text);
  }
};

/// Skip link-local IPv6 addresses: they need an interface name, which differs between machines.
std::optional<InterfaceAddress> candidate_of(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0) return std::nullopt;
  InterfaceAddress found{.address = {}, .interface = entry.ifa_name};
  const bool is_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
  if (entry.ifa_addr->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, entry.ifa_addr, sizeof in);
    std::memcpy(found.address.bytes.data(), &in.sin_addr, 4);
    const bool only_this_cable = found.address.bytes[0] == 169 && found.address.bytes[1] == 254;
    found.rank = is_loopback ? 3 : only_this_cable ? 2 : 0;
    return found;
  }
  if (entry.ifa_addr->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, entry.ifa_addr, sizeof in);
    if (IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr)) return std::nullopt;
    std::memcpy(found.address.bytes.data(), &in.sin6_addr, 16);
    found.address.is_v6 = true;
    found.rank = is_loopback ? 3 : 1;
    return found;
  }
  return std::nullopt;
}

std::vector<InterfaceAddress> all_candidates() {
  const base::StandardStreamsHeld streams;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<InterfaceAddress> candidates;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    if (auto found = candidate_of(*entry)) candidates.push_back(*std::move(found));
  return candidates;
}

}  // namespace

std::string IpAddress::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof text);
  return text;
}

socklen_t IpAddress::to_socket_address(std::uint16_t port, sockaddr_storage& into) const {
  into = {};
  if (is_v6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, bytes.data(), 16);
    std::memcpy(&into, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  std::memcpy(&in.sin_addr, bytes.data(), 4);
  std::memcpy(&into, &in, sizeof in);
  return sizeof in;
}

std::string TcpAddress::text() const {
  std::string text;
  for (const IpAddress& address : addresses) text += (text.empty() ? "" : ", ") + address.text();
  return text + " port " + std::to_string(port);
}

Bytes TcpAddress::to_bytes() const {
  const Head head{cookie, port, Head::kKind, static_cast<std::uint8_t>(addresses.size())};
  Bytes bytes(kHeadBytes);
  std::memcpy(bytes.data(), &head, kHeadBytes);
  for (const IpAddress& address : addresses) {
    const std::size_t length = length_of(address);
    bytes.push_back(static_cast<std::byte>(length));
    const auto* first = reinterpret_cast<const std::byte*>(address.bytes.data());
    bytes.insert(bytes.end(), first, first + length);
  }
  return bytes;
}

std::optional<TcpAddress> TcpAddress::from_bytes(ConstSpan bytes) {
  Head head{};
  if (bytes.size() < kHeadBytes) return std::nullopt;
  std::memcpy(&head, bytes.data(), kHeadBytes);
  if (head.kind != Head::kKind || head.count > kMaxAddresses) return std::nullopt;
  TcpAddress result{.cookie = head.cookie, .port = head.port, .addresses = {}};
  ConstSpan rest = bytes.subspan(kHeadBytes);
  for (int i = 0; i < head.count; ++i) {
    const std::size_t length = rest.empty() ? 0 : static_cast<std::size_t>(rest[0]);
    if ((length != 4 && length != 16) || rest.size() < 1 + length) return std::nullopt;
    IpAddress& address = result.addresses.emplace_back();
    address.is_v6 = length == 16;
    std::memcpy(address.bytes.data(), rest.data() + 1, length);
    rest = rest.subspan(1 + length);
  }
  if (!rest.empty()) return std::nullopt;
  return result;
}

base::Status check_interface(const std::string& interface) {
  const std::vector<InterfaceAddress> candidates = all_candidates();
  const auto is_named = [&](const InterfaceAddress& one) { return one.is_named(interface); };
  if (interface.empty() || std::ranges::any_of(candidates, is_named)) return {};
  std::string text;
  for (const InterfaceAddress& one : candidates)
    text += (text.empty() ? "" : ", ") + one.interface + " " + one.address.text();
  return base::Error(base::ErrorClass::other,
                     "INTERSESSION_INTERFACE=" + interface +
                         " is no interface or address of this node, which has " +
                         (text.empty() ? "none" : text));
}

std::vector<IpAddress> local_addresses(const std::string& interface) {
  std::vector<InterfaceAddress> candidates = all_candidates();
  const auto is_named = [&](const InterfaceAddress& one) { return one.is_named(interface); };
  // interface may name a libfabric network that is not an Internet interface
  if (!interface.empty() && std::ranges::any_of(candidates, is_named))
    std::erase_if(candidates, std::not_fn(is_named));
  std::ranges::stable_sort(candidates, {}, &InterfaceAddress::rank);
  if (!candidates.empty() && candidates.front().rank < 3)
    std::erase_if(candidates, [](const InterfaceAddress& one) { return one.rank == 3; });
  std::vector<IpAddress> addresses;
  for (const InterfaceAddress& one : candidates)
    if (addresses.size() < kMaxAddresses) addresses.push_back(one.address);
  return addresses;
}

bool is_local_address(const IpAddress& address) {
  const bool is_loopback = !address.is_v6 && address.bytes[0] == 127;  // the whole 127/8 network
  return is_loopback || std::ranges::any_of(all_candidates(), [&](const InterfaceAddress& one) {
           return one.address == address;
         });
}

}  // namespace shim::transport
