// SPDX-License-Identifier: BSD-3-Clause
// PresenceDetector reports whether a process exists at the address of a link.
#pragma once

#include <cstdint>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// State of the process at an address, as far as the transport knows it without communication.
enum class Presence : std::uint8_t {
  unknown,
  present,
  /// The process existed and has ended, or another machine refused the connection.
  gone,
  /// This machine refused the connection: conclusive only for a process on this machine, because
  /// elsewhere the address means another process.
  gone_if_local,
};

/// Optional interface of a transport whose link is the only source that reports the death of a
/// process; a process that waits for a peer then opens a link to it.
class PresenceDetector {
 public:
  /// Like FailureDetector::is_gone, but also evaluates failed connection attempts, which may have
  /// other reasons.
  virtual Presence presence(const Link& link) const = 0;

 protected:
  ~PresenceDetector() = default;
};

}  // namespace shim::transport
