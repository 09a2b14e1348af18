// SPDX-License-Identifier: BSD-3-Clause
// A network inside one program, for tests: any number of transports, and faults that come from a seed. When one thread drives
// it, the same seed and the same calls give the same packets in the same order; several threads may drive it too.
#pragma once

#include <cstdint>
#include <memory>

#include "shim/transport/transport.hpp"

namespace shim::transport {

struct LoopFaults {
  std::uint64_t seed = 1;
  double again_chance = 0;       ///< how often try_send answers again though there is room, 0 to below 1
  std::uint32_t max_delay = 0;   ///< a packet becomes visible after 0 to this many polls of its receiver
  bool reorder_pairs = false;    ///< packets of different senders overtake each other (never those of one sender)
  std::uint32_t outbox_polls = 0;  ///< a packet leaves its sender only after this many of its polls; not flushed until then
  enum class Reads : std::uint8_t {
    work, unsupported, fail,
    offered,        ///< take an offer, and several rounds
    offered_break,  ///< the same, and fail half-way
  } reads = Reads::work;
  Reads writes = Reads::work;
  std::size_t queue_limit = 1024;  ///< packets in flight per ordered pair; more answer again
  std::size_t max_packet_bytes = 16 * 1024;
  StreamRoom stream_room = {};
};

class LoopNetwork {
 public:
  explicit LoopNetwork(LoopFaults faults = {});

  /// A new process on this network; numbers count from 0. It may outlive the network object. Destroying it loses what has
  /// not left its outbox; sending to it is proc_aborted from then on.
  std::unique_ptr<Transport> add();
  /// The process is gone as if killed: everything in flight from it and to it is lost, sending to it is proc_aborted, and what
  /// it still does itself goes nowhere.
  void lose(std::uint32_t number);
  /// The same though the process lives, which its transports know.
  void cut_off(std::uint32_t number);
  /// Packets that have been taken from one to the other.
  std::uint64_t sent(std::uint32_t from, std::uint32_t to) const;
  /// Packets sent and neither delivered nor lost.
  std::size_t in_flight() const;
  /// As the two find it: for messages of one to the other.
  CopyBoard& copy_board(std::uint32_t from, std::uint32_t to);

  class State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace shim::transport
