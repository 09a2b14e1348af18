// SPDX-License-Identifier: BSD-3-Clause
// FailureDetector reports processes that are gone.
#pragma once

#include <cstdint>
#include <string_view>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Notice of a process that ends its last session. A process that is gone without its expected
/// notice has died.
enum class ShutdownNotice : std::uint8_t {
  /// The process has not communicated with this process; how it ends is unknown.
  not_expected,
  missing,
  received,
};

/// Optional interface.
class FailureDetector {
 public:
  /// True if the link's process has ended or left this transport for good, and all that it sent has
  /// been delivered or can no longer arrive. False if unknown. A backend may start to connect to
  /// the process to find out.
  virtual bool is_gone(const Link& link) const = 0;
  /// Text for the user: why nothing more arrives over a link that is gone although its process may
  /// be alive. Else empty.
  virtual std::string_view gone_reason(const Link& link) const = 0;
  /// Return whether the link's process has announced its orderly shutdown.
  virtual ShutdownNotice shutdown_notice(const Link& link) const = 0;

 protected:
  ~FailureDetector() = default;
};

}  // namespace shim::transport
