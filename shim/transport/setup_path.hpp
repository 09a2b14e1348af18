// SPDX-License-Identifier: BSD-3-Clause
// SetupPath sends messages of communicator creation before the fabric of a transport is open.
#pragma once

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Optional interface of a transport (`net` has it) with a lighter path for messages that may
/// precede all other traffic. They are unordered with packets of try_send.
class SetupPath {
 public:
  /// Send like Transport::try_send.
  virtual base::Result<Attempt> try_send_ahead(Link& link, ConstSpan header, ConstSpan payload) = 0;

 protected:
  ~SetupPath() = default;
};

}  // namespace shim::transport
