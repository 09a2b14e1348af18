// SPDX-License-Identifier: BSD-3-Clause
// Transports are the transports of an engine, those among them that a round skips, and the bytes
// sent since they were polled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/transport/optional_interfaces.hpp"
#include "shim/transport/transport.hpp"

namespace shim::p2p {

class Transports {
 public:
  /// Add a transport unless it is known; return its interfaces, which live as long as this object.
  const transport::OptionalInterfaces& add(transport::Transport& transport);
  std::size_t size() const { return polled_.size(); }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < polled_.size(); ++i) visit(*polled_[i].transport, interfaces_[i]);
  }

  struct PollResult {
    int packets = 0;
    bool is_complete = true;  ///< no transport was left out
  };
  /// Poll the transports; end once is_enough() holds after one of them.
  /// @param thorough poll those, too, that have been idle lately
  /// @param status set to the last error
  template <typename IsEnough>
  [[gnu::always_inline]] PollResult poll(bool thorough, transport::Sink& sink, base::Status& status,
                                         const IsEnough& is_enough);
  /// Count bytes that this process has sent; true if a poll is due, so that a throttle request of
  /// an overloaded receiver is seen in time.
  [[gnu::always_inline]] bool is_poll_due(std::uint64_t sent) {
    return (bytes_since_poll_ += sent + kMinMessageCost) > kMaxBytesBetweenPolls;
  }
  void skip_none() {
    for (Polled& polled : polled_) polled.skip = 0;
  }

  /// Return the matcher of a transport; null if no transport matches.
  transport::Matcher* matcher() const;
  void probe_losses() const;
  bool any_lost_packets() const;
  bool are_flushed() const;
  std::vector<Engine::TransportCounts> counts() const;

 private:
  // After this many empty polls a transport other than the first is polled less often while a
  // thread spins …
  static constexpr int kEmptyPollsUntilSkip = 64;
  // … namely once in this many rounds.
  static constexpr int kSkippedRounds = 8;
  // Bytes sent between two polls. A message counts at least as much as it costs the receiver.
  static constexpr std::uint64_t kMaxBytesBetweenPolls = 256 * 1024, kMinMessageCost = 512;

  struct Polled {
    transport::Transport* transport;
    int empty_polls = 0;  ///< consecutive polls without packets, up to a limit
    int skip = 0;         ///< rounds until the next poll
  };
  std::vector<Polled> polled_;
  std::deque<transport::OptionalInterfaces> interfaces_;  ///< of polled_; apart, because polls do
                                                          ///< not need them
  std::uint64_t bytes_since_poll_ = 0;  ///< bytes sent since the last complete poll
};

template <typename IsEnough>
inline Transports::PollResult Transports::poll(bool thorough, transport::Sink& sink,
                                               base::Status& status, const IsEnough& is_enough) {
  PollResult result;
  for (std::size_t i = 0; i < polled_.size(); ++i) {
    Polled& polled = polled_[i];
    if (!thorough && polled.skip > 0) {
      --polled.skip;
      result.is_complete = false;
      continue;
    }
    auto packets = polled.transport->poll(sink);
    if (!packets) {
      status = std::move(packets).error();
      continue;
    }
    result.packets += *packets;
    if (is_enough()) {
      result.is_complete = false;
      return result;
    }
    polled.empty_polls = *packets != 0 ? 0 : std::min(polled.empty_polls + 1, kEmptyPollsUntilSkip);
    polled.skip = i != 0 && polled.empty_polls == kEmptyPollsUntilSkip ? kSkippedRounds : 0;
  }
  if (result.is_complete) bytes_since_poll_ = 0;
  return result;
}

}  // namespace shim::p2p
