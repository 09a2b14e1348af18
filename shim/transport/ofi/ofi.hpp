// SPDX-License-Identifier: BSD-3-Clause
// Packets over libfabric: between nodes, or for everything where the user says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/loaded_library.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

inline constexpr std::string_view kAnyProvider = "any";

/// What is otherwise the provider's to say, for tests and measurements.
struct OfiTuning {
  std::optional<bool> reads;       ///< of each other's memory, where it can; unset: as seen to be best
  std::size_t longest_frame = 0;   ///< 0: as long as it takes
  std::size_t prefix_bytes = 0;    ///< in front of each frame
  bool orders_itself = false;      ///< as over a provider that does not keep the order
  bool registers_buffers = false;  ///< as for a provider that must know them
  std::optional<bool> names_senders;  ///< receives say whose messages they want; unset: as seen to be best
  base::Nanoseconds patience = 2'000'000'000;  ///< who waits asks after so long whether what it has sent has come
};

struct OfiSettings {
  std::string provider;   ///< as libfabric calls it, e.g. "sockets", or without the layers above it ("tcp" for "tcp;ofi_rxm"); empty
                          ///< or kAnyProvider: the first usable of those known to work
  std::string interface;  ///< network interface ("eth1") or beginning of an address ("10.1."); empty: the first that is no loopback
  OfiTuning tuning = {};
  bool matching = false;  ///< by the provider, where it can; Transport::matcher() says whether it does
};

/// Local; loads libfabric into the process if it is not there yet, and leaves it loaded. The first call in a process takes
/// 0.2 to 0.4 s, most of it spent by libfabric's own start-up, waiting; it may run in any thread, beside other work.
/// Errors: other (no usable provider: names those tried, why each was not usable, and which setting to use), no_mem.
///
/// Of its operations: open refuses with arg what is not an address of the same provider; a peer that cannot be reached any
/// more is proc_aborted on its link alone. Packets that do not carry this endpoint's own random number, which is part of its
/// address, come from strangers: they are dropped and counted. Memory is read by begin_read where the provider can, never by
/// try_read. A completion queue that has lost something ends the endpoint: every call answers that error. After fork(2) the child's
/// copy answers errors, and destroying it there touches nothing of the parent's.
base::Result<std::unique_ptr<Transport>> make_ofi(const OfiSettings& settings);

/// What a packet of make_ofi's transports holds, whatever the provider.
std::size_t ofi_packet_bytes();

/// A provider of libfabric's, as this process finds it.
struct OfiProvider {
  std::string name;
  std::string interface;             ///< where it is offered: its name, and its address where it has one of the Internet's
  std::optional<base::Error> error;  ///< why it cannot be used
  std::string caution = {};          ///< what may go wrong over it on this system; mostly empty
};

/// What make_ofi would choose from.
struct OfiOffer {
  base::LoadedLibrary library;
  std::vector<OfiProvider> providers;  ///< in the order in which make_ofi tries them
  std::optional<std::size_t> chosen;   ///< the first of them whose endpoint opens
};

/// Local; loads libfabric as make_ofi does, and closes what it has opened. Errors: other (libfabric cannot be loaded).
base::Result<OfiOffer> explore_ofi(const OfiSettings& settings);

/// Removes what libfabric's provider "shm" left of this user's killed processes. Local; loads nothing. Answers of how many
/// endpoints.
int sweep_fabric_memory();

}  // namespace shim::transport
