// SPDX-License-Identifier: BSD-3-Clause
// SendInPlace lets the caller write a payload into the buffer space of the transport.
#pragma once

#include <cstddef>
#include <span>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Optional interface: data with holes is packed directly into the packet.
class SendInPlace {
 public:
  /// Reserve buffer space in which the caller writes the payload. done: `payload` is the space, and
  /// publish() sends the packet once it is written; the caller sends nothing else over this
  /// transport in between. unsupported: send this packet with try_send. Errors: as try_send.
  virtual base::Result<Attempt> try_reserve(Link& link, ConstSpan header, std::size_t payload_bytes,
                                            std::span<std::byte>& payload) = 0;
  /// Send the packet whose payload the caller has written into the reserved space.
  virtual void publish(Link& link) = 0;

 protected:
  ~SendInPlace() = default;
};

}  // namespace shim::transport
