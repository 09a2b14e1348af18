// SPDX-License-Identifier: BSD-3-Clause
// Transport over libfabric: between nodes, or for all messages if the user requests it.
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

/// Overrides of provider properties, for tests and measurements.
struct OfiTuning {
  std::optional<bool> reads;       ///< of remote memory, if supported; unset: best known
  std::size_t longest_frame = 0;   ///< 0: the provider's limit
  std::size_t prefix_bytes = 0;    ///< in front of each frame
  bool orders_itself = false;      ///< Ofi restores the order, as for a provider without ordering
  bool registers_buffers = false;  ///< as for a provider that requires it
  /// Receives name their sender; unset: best known.
  std::optional<bool> names_senders;
  /// A waiting process checks after this time whether its packets have arrived.
  base::Nanoseconds probe_interval = 2'000'000'000;
};

struct OfiSettings {
  /// libfabric's name, e.g. "sockets", or without upper layers ("tcp" for "tcp;ofi_rxm"); empty or
  /// kAnyProvider: the first usable of those known to work.
  std::string provider;
  /// Network interface ("eth1") or beginning of an address ("10.1."); empty: the first that is not
  /// loopback.
  std::string interface;
  OfiTuning tuning = {};
  /// True: let the provider match messages if it can; Transport::matcher() is then not null.
  bool matching = false;
};

/// Create the transport. Local. Loads libfabric into the process, and leaves it loaded. The first
/// call takes 0.2 to 0.4 s, mostly waiting in libfabric's start-up; it may run in any thread,
/// concurrently with other work. Errors: other (no usable provider: the text names those tried, the
/// reasons, and the setting to use), no_mem.
///
/// open refuses addresses of another provider with arg. An unreachable peer is proc_aborted on its
/// link only. Packets without this endpoint's random number, a part of its address, are
/// unauthenticated: they are dropped and counted. begin_read reads memory if the provider can;
/// try_read never does. A completion queue that has lost an entry ends the endpoint: every call
/// returns that error. After fork(2) the child's copy returns errors, and its destruction does not
/// affect the parent.
base::Result<std::unique_ptr<Transport>> make_ofi(const OfiSettings& settings);

/// Return the packet length of these transports, whatever the provider.
std::size_t ofi_packet_bytes();

/// A libfabric provider as found by this process.
struct OfiProvider {
  std::string name;
  /// Name, and Internet address if it has one.
  std::string interface;
  std::optional<base::Error> error;  ///< why it cannot be used
  std::string warning = {};          ///< known hazard on this system; mostly empty
};

/// The candidates of make_ofi.
struct ProviderReport {
  base::LoadedLibrary library;
  std::vector<OfiProvider> providers;  ///< in the order that make_ofi tries
  std::optional<std::size_t> chosen;   ///< the first whose endpoint opens
};

/// List the providers. Local. Loads libfabric like make_ofi, and closes what it opens. Errors:
/// other (libfabric cannot be loaded).
base::Result<ProviderReport> explore_ofi(const OfiSettings& settings);

/// Remove shared memory that provider "shm" left of this user's killed processes; return the number
/// of endpoints. Local; loads nothing.
int remove_stale_fabric_memory();

}  // namespace shim::transport
