// SPDX-License-Identifier: BSD-3-Clause
// Wire sends messages between two processes without MPI: the baseline of sessions between nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bench/compare/address_exchange.hpp"

namespace bench {

/// Ordered messages in both directions. They carry no tag or length, because both processes know
/// sizes and order.
class Wire {
 public:
  virtual ~Wire() = default;
  /// Receive the next message into `room`.
  virtual void expect(std::span<std::byte> buffer) = 0;
  /// Send a message. Do not modify it before wait() returns.
  virtual void send(std::span<const std::byte> message) = 0;
  /// Wait until all expected messages have arrived and all sent ones may be modified.
  virtual void wait() = 0;
};

/// Sends and receives between two waits, at most.
inline constexpr std::size_t kMaxInFlight = 32;
/// Unsuccessful polls before each poll yields the core, as in the sessions.
inline constexpr std::uint64_t kPollsBeforeYield = 2000;
/// Timeout of a wait, which then fails.
inline constexpr auto kWaitTimeout = std::chrono::seconds(20);

/// Return a wire over a libfabric provider, with plain libfabric calls.
std::unique_ptr<Wire> make_fabric_wire(const std::string& provider,
                                       AddressExchange& address_exchange);
/// Return a wire over one TCP connection.
std::unique_ptr<Wire> make_connection_wire(AddressExchange& address_exchange);

}  // namespace bench
