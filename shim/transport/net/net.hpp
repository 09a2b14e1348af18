// SPDX-License-Identifier: BSD-3-Clause
// Net is the transport between nodes.
//
// Setup messages go over TCP. Other messages go over TCP as well, or over a fabric that both ends
// open when the first message is sent.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "shim/base/background_task.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Accepted at once by a new connection's send buffer (Linux: 46 KiB with usual Ethernet packets).
inline constexpr std::size_t kConnectionPacketBytes = 40 * 1024;

/// Most bytes of Net::address().
inline constexpr std::size_t kMaxNetAddressBytes = 80;

/// Opening libfabric takes 50 to 400 ms, during which the process still responds to its peers.
using FabricResult = base::Result<std::unique_ptr<Transport>>;
using FabricOpenTask = base::BackgroundTask<std::unique_ptr<Transport>>;

struct NetSettings {
  /// Interface at which others connect, see local_addresses(); empty: any.
  std::string interface;
  /// Called at most once, on a thread of its own; empty: packets go over TCP.
  FabricOpenTask::Work open_fabric = {};
  /// Longest packet; a fabric with a lower limit is not used.
  std::size_t max_packet_bytes = kConnectionPacketBytes;
  bool may_match = false;  ///< true if the fabric may match messages
};

/// With a fabric, only packets of try_send_ahead move until it is open. The first other packet to a
/// process requests that process's fabric address and returns `again` until the response arrives,
/// which requires that process to poll. address() contains only TCP addresses, so it stays short.
class Net : public Transport {
 public:
  /// Open the fabric now, so that the first message waits less.
  virtual void open_fabric_early() = 0;
  /// Wait until the fabric is no longer being opened. Any thread, without the owner's lock.
  virtual void wait_for_fabric() const = 0;
};

/// Create the transport with a listening socket. Local. Errors: other (no network).
base::Result<std::unique_ptr<Net>> make_net(NetSettings settings);

}  // namespace shim::transport
