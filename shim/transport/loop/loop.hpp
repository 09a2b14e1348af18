// SPDX-License-Identifier: BSD-3-Clause
// LoopNetwork is a network inside one program, for tests, with seeded faults.
//
// It has any number of transports. If one thread drives it, equal seeds and calls give equal
// packets in equal order; several threads may drive it, too.
#pragma once

#include <cstdint>
#include <memory>

#include "shim/transport/cooperative_copy.hpp"
#include "shim/transport/stream_limits.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

struct LoopFaults {
  std::uint64_t seed = 1;
  double again_chance = 0;  ///< probability, below 1, that try_send returns again
  /// A packet becomes visible after 0 to this many polls of its receiver.
  std::uint32_t max_delay = 0;
  /// Packets of different senders overtake each other; never those of one sender.
  bool reorder_pairs = false;
  /// A packet leaves its sender after this many of the sender's polls; not flushed until then.
  std::uint32_t outbox_polls = 0;
  enum class Reads : std::uint8_t {
    work,
    unsupported,
    fail,
    offered,        ///< require an offer, and several rounds
    offered_break,  ///< like offered, and fail halfway
  } reads = Reads::work;
  Reads writes = Reads::work;
  std::size_t queue_limit = 1024;  ///< packets in flight per ordered pair
  std::size_t max_packet_bytes = 16 * 1024;
  StreamBudget stream_budget = {};
};

class LoopNetwork {
 public:
  explicit LoopNetwork(LoopFaults faults = {});

  /// Add a process; numbers count from 0. The transport may outlive the network. Its destruction
  /// loses packets in its outbox; sends to it then return proc_aborted.
  std::unique_ptr<Transport> add();
  /// Simulate a killed process: all packets from and to it are lost, sends to it return
  /// proc_aborted, and its own actions have no effect.
  void lose(std::uint32_t number);
  /// Like lose, but the process lives, and its transports know that.
  void cut_off(std::uint32_t number);
  /// Return the number of packets accepted from one process to the other.
  std::uint64_t sent(std::uint32_t from, std::uint32_t to) const;
  /// Return the number of packets neither delivered nor lost.
  std::size_t in_flight() const;
  /// Return the pair's descriptor for messages of one process to the other.
  CooperativeCopy& cooperative_copy(std::uint32_t from, std::uint32_t to);

  class State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace shim::transport
