// SPDX-License-Identifier: BSD-3-Clause
#include "tests/transport/large_buffer_network.hpp"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "shim/transport/ofi/provider_warning.hpp"

namespace shim::transport::testing {
namespace {

bool enter_own_network() {
  return ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

void bring_up_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  (void)::ioctl(socket, SIOCSIFFLAGS, &loopback);
  ::close(socket);
}

}  // namespace

void raise_receive_memory_for(std::string_view provider) {
  if (provider_warning(provider, tcp_receive_memory()).empty() || !enter_own_network()) return;
  bring_up_loopback();
  std::ofstream("/proc/sys/net/ipv4/tcp_rmem") << "4096 1048576 33554432";
}

}  // namespace shim::transport::testing
