// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/caution.hpp"

#include <sstream>

#include "shim/base/files.hpp"

namespace shim::transport {
namespace {

/// With this none of 350 runs of three tests stopped, with 128 KiB 13 did.
constexpr std::size_t kEnough = 1 << 20;

}  // namespace

std::optional<std::size_t> tcp_receive_memory() {
  std::istringstream setting(base::read_file("/proc/sys/net/ipv4/tcp_rmem").value_or(std::string()));
  std::size_t least = 0, at_first = 0;
  if (!(setting >> least >> at_first)) return std::nullopt;
  return at_first;
}

std::string caution_about(std::string_view provider, std::optional<std::size_t> receive_memory) {
  if (provider != "sockets" || !receive_memory || *receive_memory >= kEnough) return {};
  return "libfabric's provider sockets may stop for ever under load where TCP connections begin to receive with " +
         std::to_string(*receive_memory) + " bytes (sysctl net.ipv4.tcp_rmem, the second value): make that " + std::to_string(kEnough) +
         " on all nodes, or set INTERSESSION_PROVIDER to tcp;ofi_rxm, or to nothing for TCP without libfabric";
}

}  // namespace shim::transport
