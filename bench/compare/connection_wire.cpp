// SPDX-License-Identifier: BSD-3-Clause
// Wire over one TCP connection, as fast as system calls allow: TCP_NODELAY, no extra copy, polling.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>

#include "bench/compare/wire.hpp"
#include "bench/lib/fail.hpp"

namespace bench {
namespace {

[[noreturn]] void fail_at(const char* doing) {
  fail(std::string("TCP connection, ") + doing + ": " + std::strerror(errno));
}

/// Return the first address reachable from other machines, else the loopback address.
sockaddr_in own_address() {
  sockaddr_in found{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) fail_at("getifaddrs");
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    const bool is_reachable = (each->ifa_flags & IFF_UP) && !(each->ifa_flags & IFF_LOOPBACK);
    if (!is_reachable || !each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    found.sin_addr = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    break;
  }
  ::freeifaddrs(all);
  return found;
}

std::string as_text(const sockaddr_in& address) {
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

int accept_one(AddressExchange& address_exchange) {
  sockaddr_in address = own_address();
  socklen_t bytes = sizeof address;
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  if (listening < 0 || ::bind(listening, reinterpret_cast<sockaddr*>(&address), bytes) != 0 ||
      ::listen(listening, 1) != 0 ||
      ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
    fail_at("listening");
  address_exchange.exchange(as_text(address));
  const int accepted = ::accept(listening, nullptr, nullptr);
  if (accepted < 0) fail_at("accept");
  ::close(listening);
  return accepted;
}

int call(AddressExchange& address_exchange) {
  sockaddr_in address{};
  const std::string text = address_exchange.exchange("calls");
  if (text.size() != sizeof address)
    fail("TCP connection: the other process measures something else");
  std::memcpy(&address, text.data(), sizeof address);
  const int calling = ::socket(AF_INET, SOCK_STREAM, 0);
  if (calling < 0 || ::connect(calling, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    fail_at("connect");
  return calling;
}

class ConnectionWire final : public Wire {
 public:
  explicit ConnectionWire(int socket) : socket_(socket) {
    const int yes = 1;
    if (::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
      fail_at("TCP_NODELAY");
  }
  ~ConnectionWire() override { ::close(socket_); }
  ConnectionWire(const ConnectionWire&) = delete;
  ConnectionWire& operator=(const ConnectionWire&) = delete;

  void expect(std::span<std::byte> buffer) override { expected_.push_back(buffer); }

  void send(std::span<const std::byte> message) override {
    while (!message.empty())
      message = message.subspan(moved("send", [&] {
        return ::send(socket_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      }));
  }

  void wait() override {
    for (; !expected_.empty(); expected_.pop_front())
      for (auto buffer = expected_.front(); !buffer.empty();)
        buffer = buffer.subspan(moved(
            "recv", [&] { return ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT); }));
  }

 private:
  /// Retry until bytes have moved; return their number.
  template <typename Try>
  static std::size_t moved(const char* doing, Try try_once) {
    ssize_t bytes = try_once();
    if (bytes > 0) return static_cast<std::size_t>(bytes);
    const auto end = std::chrono::steady_clock::now() + kWaitTimeout;
    for (std::uint64_t polls = 0; bytes < 0 && (errno == EAGAIN || errno == EINTR); ++polls) {
      if (polls > kPollsBeforeYield) ::sched_yield();
      if (std::chrono::steady_clock::now() > end) fail("TCP connection: nothing moves");
      bytes = try_once();
    }
    if (bytes < 0) fail_at(doing);
    if (bytes == 0) fail("TCP connection: the other process has closed it");
    return static_cast<std::size_t>(bytes);
  }

  int socket_;
  std::deque<std::span<std::byte>> expected_;
};

}  // namespace

std::unique_ptr<Wire> make_connection_wire(AddressExchange& address_exchange) {
  return std::make_unique<ConnectionWire>(address_exchange.is_first() ? accept_one(address_exchange)
                                                                      : call(address_exchange));
}

}  // namespace bench
