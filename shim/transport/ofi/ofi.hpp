// SPDX-License-Identifier: BSD-3-Clause
// Packets over libfabric: between nodes, or for everything where the user says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shim/transport/transport.hpp"

namespace shim::transport {

struct OfiSettings {
  std::string provider;   ///< as libfabric calls it, e.g. "sockets"; empty: the first usable of those known to work
  std::string interface;  ///< network interface ("eth1") or beginning of an address ("10.1."); empty: the first that is no loopback
};

/// Local; loads libfabric into the process if it is not there yet, and leaves it loaded. The first call in a process takes
/// 0.2 to 0.4 s, most of it spent by libfabric's own start-up, waiting; it may run in any thread, beside other work.
/// Errors: other (no usable provider: names those tried, why each was not usable, and which setting to use), no_mem.
///
/// Of its operations: open refuses with arg what is not an address of the same provider; a peer that cannot be reached any
/// more is proc_aborted on its link alone. Packets that do not carry this endpoint's own random number, which is part of its
/// address, come from strangers: they are dropped and counted. try_read is unsupported. After fork(2) the child's copy answers
/// errors, and destroying it there touches nothing of the parent's.
base::Result<std::unique_ptr<Transport>> make_ofi(const OfiSettings& settings);

/// Removes what libfabric's provider "shm" left of this user's killed processes. Local; loads nothing. Answers of how many
/// endpoints.
int sweep_fabric_memory();

}  // namespace shim::transport
