// SPDX-License-Identifier: BSD-3-Clause
// Messages between two processes without any MPI: what sessions between two nodes are held against.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bench/meeting.hpp"

namespace bench {

/// Both processes know who sends how much and when, so a message has no tag and no length. In order, one way as the other.
class Wire {
 public:
  virtual ~Wire() = default;
  /// The next message goes here.
  virtual void expect(std::span<std::byte> room) = 0;
  /// The message belongs to the wire until wait() returns.
  virtual void send(std::span<const std::byte> message) = 0;
  /// Until all that is expected has come and all that was sent is its sender's again.
  virtual void wait() = 0;
};

/// Sends and receives between two waits; more are not possible.
inline constexpr std::size_t kMostUnderWay = 32;
/// Who has looked so often in vain lets others have the core between two looks, as the sessions do.
inline constexpr std::uint64_t kPollsBeforeYield = 2000;
/// Who waits for so long will wait for ever.
inline constexpr auto kLongestWait = std::chrono::seconds(20);

/// Over a libfabric provider, with plain libfabric calls.
std::unique_ptr<Wire> make_fabric_wire(const std::string& provider, Meeting& meeting);
/// Over one TCP connection.
std::unique_ptr<Wire> make_connection_wire(Meeting& meeting);

}  // namespace bench
