// SPDX-License-Identifier: BSD-3-Clause
// ReceiveInPlace reads arrived packets where the transport has them, one sender at a time.
#pragma once

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Optional interface: the caller copies a packet from the transport's memory into its own buffer
/// without a sink.
class ReceiveInPlace {
 public:
  /// Return the next packet of this link's process, without consuming it; valid until drop_front or
  /// the next poll. Empty if no packet has arrived.
  virtual ConstSpan front(Link& link) = 0;
  /// Consume the packet returned by front(); no poll delivers it.
  virtual void drop_front(Link& link, ConstSpan packet) = 0;

 protected:
  ~ReceiveInPlace() = default;
};

}  // namespace shim::transport
