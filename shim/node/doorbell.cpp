// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/doorbell.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>

#include "shim/base/cookie.hpp"

namespace shim::node {
namespace {

/// unix(7): a name that begins with a zero byte is in no file system, and vanishes with its socket.
struct SocketAddress {
  explicit SocketAddress(std::uint64_t name) {
    address.sun_family = AF_UNIX;
    const int bytes = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                    "intersession-%016llx", static_cast<unsigned long long>(name));
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                    static_cast<std::size_t>(bytes));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t length;
};

/// More than a socket queues. Bounded because any process may ring, and must not block this one.
constexpr int kMaxRingsPerWait = 1024;

base::Descriptor open_socket() {
  return base::Descriptor(base::above_standard_streams(
      ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
}

}  // namespace

base::Result<Doorbell> Doorbell::make() {
  std::uint64_t name = 0;
  while (name == 0) {
    SHIM_TRY_ASSIGN(name, base::random_cookie());
  }
  base::Descriptor socket = open_socket();
  const SocketAddress address(name);
  if (!socket.is_open() || ::bind(socket.get(), address.get(), address.length) != 0)
    return base::system_error(errno, "cannot create the doorbell socket");
  return Doorbell(std::move(socket), name);
}

void Doorbell::wait(std::span<const int> descriptors, std::int64_t nanoseconds) const {
  if (nanoseconds <= 0) return;
  std::array<pollfd, 1 + kMaxDescriptors> events{
      {{.fd = socket_.get(), .events = POLLIN, .revents = 0}}};
  std::size_t count = 1;
  for (const int descriptor : descriptors.first(std::min(descriptors.size(), kMaxDescriptors)))
    events[count++] = {.fd = descriptor, .events = POLLIN, .revents = 0};
  const timespec limit{static_cast<time_t>(nanoseconds / 1'000'000'000),
                       static_cast<long>(nanoseconds % 1'000'000'000)};
  if (::ppoll(events.data(), count, &limit, nullptr) <= 0 || events[0].revents == 0) return;
  std::byte rung;
  for (int most = kMaxRingsPerWait; most > 0 && ::recv(socket_.get(), &rung, sizeof rung, 0) >= 0;
       --most)
    continue;
}

void ring(std::uint64_t name) {
  if (name == 0) return;
  const base::Descriptor socket = open_socket();
  const SocketAddress address(name);
  const std::byte rung{};
  if (socket.is_open())
    (void)::sendto(socket.get(), &rung, sizeof rung, MSG_NOSIGNAL, address.get(), address.length);
}

}  // namespace shim::node
