// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/wire.hpp"

#include <numeric>

namespace shim::transport {
namespace {

std::uint32_t sum_of(ConstSpan bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint32_t{1},
                         [](std::uint32_t sum, std::byte byte) {
                           return sum * 31 + static_cast<std::uint32_t>(byte);
                         });
}

}  // namespace

Bytes OfiAddress::to_bytes() const {
  Bytes rest(provider.size());
  std::memcpy(rest.data(), provider.data(), provider.size());
  rest.insert(rest.end(), name.begin(), name.end());
  OfiAddressHead head{OfiAddressHead::kKind,
                      format,
                      cookie,
                      static_cast<std::uint16_t>(provider.size()),
                      static_cast<std::uint16_t>(name.size()),
                      sum_of(rest),
                      matching,
                      0};
  Bytes bytes(sizeof head + rest.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, rest.data(), rest.size());
  return bytes;
}

std::optional<OfiAddress> OfiAddress::from_bytes(ConstSpan bytes) {
  OfiAddressHead head{};
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  ConstSpan rest = bytes.subspan(sizeof head);
  if (head.kind != OfiAddressHead::kKind ||
      rest.size() != std::size_t{head.provider_bytes} + head.name_bytes ||
      head.check != sum_of(rest))
    return std::nullopt;
  OfiAddress address;
  address.cookie = head.cookie;
  address.format = head.format;
  address.matching = head.matching;
  address.provider.assign(reinterpret_cast<const char*>(rest.data()), head.provider_bytes);
  ConstSpan name = rest.subspan(head.provider_bytes);
  address.name.assign(name.begin(), name.end());
  return address;
}

}  // namespace shim::transport
