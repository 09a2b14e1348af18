// SPDX-License-Identifier: BSD-3-Clause
// Fabric is what the owner of a fabric must know besides the transport: net/, and the log.
#pragma once

#include <string_view>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Optional interface of a transport over a network interface that net/ opens.
class Fabric {
 public:
  /// Prepare for packets of the link's process, which is about to send to this process. Local.
  virtual void expect(Link& link) = 0;
  /// Text for the user: known hazard of this fabric on this system, and the remedy. Mostly empty.
  virtual std::string_view warning() const = 0;

 protected:
  ~Fabric() = default;
};

}  // namespace shim::transport
