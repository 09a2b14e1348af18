// SPDX-License-Identifier: BSD-3-Clause
// LoopNetwork::State is the state shared by the transports of one loop network.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>

#include "shim/transport/loop/loop.hpp"
#include "shim/transport/loop/loop_memory.hpp"

namespace shim::transport {

/// Thread-safe: every function takes the lock.
class LoopNetwork::State {
 public:
  explicit State(LoopFaults faults) : faults_(faults), random_(faults.seed) {}

  const LoopFaults& faults() const { return faults_; }
  std::uint32_t add();
  void leave(std::uint32_t number);
  void lose(std::uint32_t number);
  void cut_off(std::uint32_t number);
  bool exists(std::uint32_t number) const;
  bool is_lost(std::uint32_t number) const;  ///< or cut off
  bool is_cut_off(std::uint32_t number) const;
  bool has_cut_off() const;  ///< any process

  /// Return done, again, or proc_aborted; after done the caller calls send().
  base::Result<Attempt> may_send(std::uint32_t from, std::uint32_t to);
  void send(std::uint32_t from, std::uint32_t to, Bytes packet);
  /// Count one poll of this process; packets whose outbox time has passed leave it.
  void begin_poll(std::uint32_t number);
  /// Return the next packet visible to this process, optionally of one sender only.
  std::optional<Bytes> next_for(std::uint32_t number, std::optional<std::uint32_t> sender);
  /// Return the next visible packet of this sender in place; empty if there is none.
  ConstSpan front_for(std::uint32_t number, std::uint32_t sender) const;
  bool outbox_is_empty(std::uint32_t number) const;
  std::size_t in_flight() const;
  std::uint64_t sent(std::uint32_t from, std::uint32_t to) const;
  CooperativeCopy& cooperative_copy(std::uint32_t from, std::uint32_t to);
  LoopMemory& memory() { return *memory_; }

 private:
  struct Packet {
    Bytes bytes;
    std::uint64_t sequence;    ///< order of arrival over all pairs
    std::uint64_t visible_at;  ///< poll count of the receiver
  };
  struct Outgoing {
    Bytes bytes;
    std::uint32_t to;
    std::uint64_t leaves_at;  ///< poll count of the sender
  };
  struct Process {
    enum class Condition { alive, left, lost, cut_off } condition = Condition::alive;
    std::uint64_t polls = 0;
    std::deque<Outgoing> outbox;
    std::map<std::uint32_t, std::deque<Packet>> inbox;  ///< by sender
  };

  void lose(std::uint32_t number, Process::Condition as);
  void enqueue(std::uint32_t from, std::uint32_t to, Bytes bytes);
  std::size_t waiting(std::uint32_t from, std::uint32_t to) const;
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  mutable std::mutex mutex_;
  LoopFaults faults_;
  std::mt19937_64 random_;
  std::deque<Process> processes_;
  std::uint64_t sequence_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sent_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, CooperativeCopy> cooperative_copies_;
  std::shared_ptr<LoopMemory> memory_ = std::make_shared<LoopMemory>();
};

}  // namespace shim::transport
