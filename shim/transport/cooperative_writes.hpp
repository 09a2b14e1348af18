// SPDX-License-Identifier: BSD-3-Clause
// CooperativeWrites lets the sender of a long message write parts of it into the receiver.
#pragma once

#include <cstdint>

#include "shim/transport/cooperative_copy.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Optional interface of a transport with RemoteReads: the two processes divide the copying of a
/// message, which a descriptor in their shared memory assigns.
class CooperativeWrites {
 public:
  /// Copy descriptor for long messages from, or to, the link's process; null if the two processes
  /// share no memory.
  virtual CooperativeCopy* cooperative_copy_from(Link& link) = 0;
  virtual CooperativeCopy* cooperative_copy_to(Link& link) = 0;
  /// Write bytes into the other process's memory, as RemoteReads::try_read reads them. With empty
  /// `bytes`: check whether writing is possible.
  virtual base::Result<Attempt> try_write(Link& link, std::uint64_t remote_address,
                                          ConstSpan bytes) = 0;

 protected:
  ~CooperativeWrites() = default;
};

}  // namespace shim::transport
