// SPDX-License-Identifier: BSD-3-Clause
// World is a set of engines on one loop network, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "shim/p2p/engines.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/transport/loop/loop.hpp"
#include "tests/p2p/matching_network.hpp"

namespace shim::p2p {

inline const types::Type& kByte = types::byte_type();

using Data = std::vector<std::uint8_t>;
inline types::ConstBuffer from(const Data& data) { return {data.data(), data.size(), &kByte}; }
inline types::Buffer into(Data& data) { return {data.data(), data.size(), &kByte}; }

/// Return bytes that differ between seeds and within one message.
inline Data pattern(std::size_t bytes, std::uint32_t seed) {
  Data data(bytes);
  std::uint32_t x = seed * 2654435761u + 1;
  for (auto& byte : data) {
    x = x * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(x >> 24);
  }
  return data;
}

class Everyone : public Members {
 public:
  explicit Everyone(int size) : size_(size) {}
  int size() const override { return size_; }
  base::ProcessId at(int rank) const override { return {0, static_cast<std::uint32_t>(rank)}; }

 private:
  int size_;
};

class World {
 public:
  struct Options {
    int processes = 2;
    transport::LoopFaults faults = {};
    base::Settings settings = quick();
    /// If set, messages between nodes use a matching transport.
    std::optional<MatchingTransport::Traits> matching_transport = std::nullopt;
    int node_size = 1;  ///< processes a node
    /// By process, if each process has engines in several worlds.
    std::vector<std::shared_ptr<Engines>> engines = {};
  };
  /// Return settings whose waits reach each stage (spin, yield, sleep) within a test.
  static base::Settings quick() {
    base::Settings settings;
    settings.spin = 50;
    settings.yield = 50;
    settings.eager_shm = 1024;
    return settings;
  }

  explicit World(Options options)
      : network_(options.faults),
        matching_network_(options.faults),
        node_size_(options.node_size),
        alive_(static_cast<std::size_t>(options.processes)),
        left_(static_cast<std::size_t>(options.processes)),
        takes_packets_(static_cast<std::size_t>(options.processes)) {
    for (auto& alive : alive_) alive = true;
    for (auto& takes : takes_packets_) takes = true;
    for (int rank = 0; rank < options.processes; ++rank) {
      transports_.push_back(network_.add());
      if (!options.matching_transport) continue;
      options.settings.matching = "provider";
      matching_transports_.push_back(std::make_unique<MatchingTransport>(
          matching_network_.add(), *options.matching_transport));
    }
    for (int rank = 0; rank < options.processes; ++rank) {
      routers_.push_back(std::make_unique<AllKnown>(*this, rank));
      EngineSpec spec;
      spec.settings = options.settings;
      spec.self = {0, static_cast<std::uint32_t>(rank)};
      if (!options.engines.empty()) spec.engines = options.engines[static_cast<std::size_t>(rank)];
      spec.router = routers_.back().get();
      spec.transports = {transports_[static_cast<std::size_t>(rank)].get()};
      if (options.matching_transport)
        spec.transports.push_back(matching_transports_[static_cast<std::size_t>(rank)].get());
      engines_.push_back(std::make_unique<Engine>(std::move(spec)));
    }
    members_ = std::make_shared<Everyone>(options.processes);
  }

  int size() const { return static_cast<int>(engines_.size()); }
  Engine& engine(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }
  transport::LoopNetwork& network() { return network_; }
  MatchingTransport& matching_transport(int rank) {
    return *matching_transports_[static_cast<std::size_t>(rank)];
  }
  transport::Bytes address(int rank) const {
    return transports_[static_cast<std::size_t>(rank)]->address();
  }
  std::atomic<bool>& alive(int rank) { return alive_[static_cast<std::size_t>(rank)]; }
  std::atomic<bool>& receives_packets(int rank) {
    return takes_packets_[static_cast<std::size_t>(rank)];
  }
  /// Simulate the death of a process.
  void kill(int rank) {
    network_.lose(static_cast<std::uint32_t>(rank));
    if (!matching_transports_.empty()) matching_network_.lose(static_cast<std::uint32_t>(rank));
    alive(rank) = false;
  }

  /// Simulate a process that has finalized and exited.
  void leave(int rank) {
    left_[static_cast<std::size_t>(rank)] = true;
    alive(rank) = false;
  }

  /// Make one member's context of a communicator of all; each member has its own base, base + rank.
  ContextPtr context(int rank, base::ContextPath path = {}, std::uint32_t base = 100) {
    auto bases = std::make_shared<ContextBases>();
    for (int i = 0; i < size(); ++i) bases->by_rank.push_back(base + static_cast<std::uint32_t>(i));
    return engine(rank).make_context(
        {members_, rank, bases, base + static_cast<std::uint32_t>(rank), path});
  }
  std::vector<ContextPtr> contexts(base::ContextPath path = {}, std::uint32_t base = 100) {
    std::vector<ContextPtr> all;
    for (int rank = 0; rank < size(); ++rank) all.push_back(context(rank, path, base));
    return all;
  }

  /// Run one round of progress on each engine.
  void step() {
    for (auto& engine : engines_) {
      auto status = engine->progress();
      ASSERT_TRUE(status) << status.error().text();
    }
  }
  template <typename Condition>
  bool step_until(const Condition& condition, std::optional<int> limit = {}) {
    // without a limit for at least 1 s, because engines check the liveness of peers ten times a
    // second
    const auto checked = base::Deadline::after_seconds(1);
    for (int i = 0; i < limit.value_or(100'000) || (!limit && !checked.passed()); ++i) {
      if (condition()) return true;
      step();
    }
    return condition();
  }
  /// Run body(rank) in one thread for each process.
  template <typename Body>
  void run(const Body& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank) threads.emplace_back([&body, rank] { body(rank); });
    for (auto& thread : threads) thread.join();
  }

 private:
  class AllKnown : public Router {
   public:
    AllKnown(World& world, int rank) : world_(world), rank_(rank) {}
    base::Result<Route> route_to(base::ProcessId process) override {
      transport::Transport& own = world_.transport_between(rank_, static_cast<int>(process.rank),
                                                           rank_);
      return Route{&own, world_
                             .transport_between(rank_, static_cast<int>(process.rank),
                                                static_cast<int>(process.rank))
                             .address()};
    }
    bool is_alive(base::ProcessId process) override { return world_.alive_[process.rank]; }
    bool has_died(base::ProcessId process) override {
      return !world_.alive_[process.rank] && !world_.left_[process.rank];
    }
    bool receives_packets(base::ProcessId process) override {
      return world_.takes_packets_[process.rank];
    }

   private:
    World& world_;
    int rank_;
  };

  /// Return the transport of process `of` between the processes `one` and `other`.
  transport::Transport& transport_between(int one, int other, int of) {
    const bool is_near = matching_transports_.empty() || one == other ||
                         one / node_size_ == other / node_size_;
    if (is_near) return *transports_[static_cast<std::size_t>(of)];
    return *matching_transports_[static_cast<std::size_t>(of)];
  }

  transport::LoopNetwork network_, matching_network_;
  int node_size_;
  std::vector<std::unique_ptr<transport::Transport>> transports_;
  std::vector<std::unique_ptr<MatchingTransport>> matching_transports_;
  std::vector<std::atomic<bool>> alive_, left_, takes_packets_;
  std::vector<std::unique_ptr<AllKnown>> routers_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::shared_ptr<const Members> members_;
};

/// Two processes, one of which sends to the other.
class TwoEngines {
 protected:
  World world{{.processes = 2}};
  std::vector<ContextPtr> contexts = world.contexts();
  Engine& sender = world.engine(0);
  Engine& receiver = world.engine(1);
};

/// Return the value of a Result; if there is none, report its error and abort.
template <typename T>
T value_of(base::Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().text();
    std::abort();
  }
  return std::move(*result);
}

}  // namespace shim::p2p
