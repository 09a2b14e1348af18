// SPDX-License-Identifier: BSD-3-Clause
// The way between nodes: what brings processes together goes over plain connections; messages go over these, too, or over a fabric,
// which is opened, at both ends, when the first message is to be sent.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "shim/base/own_thread.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// What a new connection's send buffer surely takes as a whole (Linux: 46 KiB with a cable's usual packets).
inline constexpr std::size_t kConnectionPacketBytes = 40 * 1024;

/// Bytes of Net::address() at most.
inline constexpr std::size_t kLongestNetAddress = 80;

/// libfabric takes 50 to 400 ms to open, in which the process answers others.
using Opened = base::Result<std::unique_ptr<Transport>>;
using Opening = base::OwnThread<Opened>;

struct NetSettings {
  std::string interface;         ///< that others call this process over: see own_addresses(); empty: whichever there is
  Opening::Work open_fabric = {};  ///< called at most once, on a thread of its own; empty: packets go over connections
  std::size_t max_packet_bytes = kConnectionPacketBytes;  ///< what the fabric will take at least
  bool may_match = false;        ///< the fabric
};

/// With a fabric, only packets of try_send_ahead move before it is open: whatever is sent otherwise to a process for the first time
/// asks it for its fabric's address, is refused with `again` until the answer is here, and needs that process to poll.
/// Its address is as small as a socket's.
class Net : public Transport {
 public:
  /// Begins the opening now, so that the first message finds it further on.
  virtual void open_fabric_early() = 0;
  /// Until the fabric is not being opened any more; from any thread, without the owner's lock.
  virtual void wait_for_opening() const = 0;
};

/// Local: a socket that listens. Errors: other (no network).
base::Result<std::unique_ptr<Net>> make_net(NetSettings settings);

}  // namespace shim::transport
