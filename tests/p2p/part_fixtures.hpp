// SPDX-License-Identifier: BSD-3-Clause
// Stand-ins for what a part of the engine calls, so that a test can make one part alone.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/p2p/context.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/services.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/optional_interfaces.hpp"

namespace shim::p2p {

/// Processes 0 to size-1 of world 0, in rank order.
class FirstRanks final : public Members {
 public:
  explicit FirstRanks(int size) : size_(size) {}
  int size() const override { return size_; }
  base::ProcessId at(int rank) const override { return {0, static_cast<std::uint32_t>(rank)}; }

 private:
  int size_;
};

/// Return the specification of a communicator of `size` processes at rank 0.
inline ContextSpec spec_of(int size, std::uint32_t base = 100) {
  auto bases = std::make_shared<ContextBases>();
  bases->common = base;
  return {.members = std::make_shared<FirstRanks>(size),
          .own_rank = 0,
          .bases = bases,
          .own_base = base};
}

/// A transport whose polls return the numbers that the test sets; records sent packets.
class StubTransport final : public transport::Transport,
                            private transport::RemoteReads,
                            private transport::CooperativeWrites,
                            private transport::FailureDetector,
                            private transport::LossDetector,
                            private transport::Sleeper {
 public:
  std::string_view name() const override { return "stub"; }
  transport::Reach reach() const override { return transport::Reach::node; }
  std::size_t max_packet_bytes() const override { return 1024; }
  transport::Bytes address() const override { return {}; }
  base::Result<transport::Link*> open(transport::ConstSpan) override { return &link; }
  base::Result<transport::Attempt> try_send(transport::Link&, transport::ConstSpan header,
                                            transport::ConstSpan) override {
    if (fails) return base::Error(base::ErrorClass::other, "a broken link");
    if (attempt == transport::Attempt::done) sent.emplace_back(header.begin(), header.end());
    return attempt;
  }
  base::Result<int> poll(transport::Sink& sink) override {
    ++polls;
    if (on_poll) on_poll();
    for (const transport::Bytes& packet : std::exchange(arriving, {})) sink.on_packet(packet);
    return packets;
  }
  bool is_flushed() const override { return flushed; }
  const Counts& counts() const override { return counts_; }
  transport::Matcher* matcher() override { return matches; }
  bool may_match() const override { return matches != nullptr; }
  transport::RemoteReads* remote_reads() override { return this; }
  transport::CooperativeWrites* cooperative_writes() override { return this; }
  transport::FailureDetector* failure_detector() override { return this; }
  transport::LossDetector* loss_detector() override { return this; }
  transport::Sleeper* sleeper() override { return this; }

  /// Give the peer the link.
  void connect(Peer& peer) { peer.set_link(*this, interfaces_, link); }

  transport::Matcher* matches = nullptr;
  transport::Link link;
  transport::Attempt attempt = transport::Attempt::done;
  transport::Attempt reading = transport::Attempt::unsupported;
  transport::CooperativeCopy* copy = nullptr;
  std::vector<transport::Bytes> sent, arriving;
  transport::ShutdownNotice notice = transport::ShutdownNotice::not_expected;
  int polls = 0, packets = 0, sleeps = 0;
  std::function<void()> on_poll;  ///< called by each poll; may be empty
  bool flushed = true, gone = false, lost_packets = false, fails = false;

 private:
  /// The other process's memory is this process's.
  base::Result<transport::Attempt> try_read(transport::Link&, std::uint64_t address,
                                            std::span<std::byte> into) override {
    if (reading == transport::Attempt::done)
      std::memcpy(into.data(), reinterpret_cast<const void*>(address), into.size());
    return reading;
  }
  base::Result<transport::Attempt> try_write(transport::Link&, std::uint64_t address,
                                             transport::ConstSpan bytes) override {
    if (reading == transport::Attempt::done && !bytes.empty())
      std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
    return reading;
  }
  transport::CooperativeCopy* cooperative_copy_from(transport::Link&) override { return copy; }
  transport::CooperativeCopy* cooperative_copy_to(transport::Link&) override { return copy; }
  bool is_gone(const transport::Link&) const override { return gone; }
  std::string_view gone_reason(const transport::Link&) const override { return {}; }
  transport::ShutdownNotice shutdown_notice(const transport::Link&) const override {
    return notice;
  }
  bool has_lost_packets(const transport::Link&) const override { return lost_packets; }
  bool any_lost_packets() const override { return lost_packets; }
  void probe_losses() override {}
  void sleep(std::int64_t, const LastCheck& last_check, std::span<const int>) override {
    ++sleeps;
    last_check();
  }
  bool may_wait_for_descriptors() override { return false; }
  int descriptor() const override { return -1; }

  Counts counts_;
  transport::OptionalInterfaces interfaces_{*this};
};

/// A sink for transports whose packets do not matter.
class IgnoringSink final : public transport::Sink {
 public:
  bool on_packet(transport::ConstSpan) override { return true; }
};

/// A router without routes; the test sets which processes are dead or have left.
class ToldRouter final : public Router {
 public:
  base::Result<Route> route_to(base::ProcessId) override {
    return base::Error(base::ErrorClass::other, "no routes");
  }
  bool is_alive(base::ProcessId process) override { return !dead.contains(process.rank); }
  bool receives_packets(base::ProcessId process) override { return !left.contains(process.rank); }
  std::string describe(base::ProcessId process) override {
    return "process " + std::to_string(process.rank) + ", node n0";
  }
  std::set<std::uint32_t> dead, left;
};

/// Records the packets that a part sends, and the links that it asks for.
class RecordedOutput final : public PacketOutput, public RouteRequests {
 public:
  struct Sent {
    Peer* to;
    transport::Bytes header;
    SendRequest* request;
  };
  /// Return the header of the only packet sent since the last call; nothing if there is not exactly
  /// one, to this peer.
  template <typename Header>
  std::optional<Header> take(const Peer& to) {
    const std::vector<Sent> taken = std::exchange(sent, {});
    if (taken.size() != 1 || taken.front().to != &to) return std::nullopt;
    return wire::read<Header>(taken.front().header);
  }
  void push_data(Peer& to) override { pushed.push_back(&to); }
  void resume(Peer& to) override { resumed.push_back(&to); }
  void request_route(Peer& to) override { routes.push_back(&to); }
  std::vector<Sent> sent;
  std::vector<const Peer*> pushed, resumed, routes;

 private:
  void transmit_bytes(Peer& to, transport::ConstSpan header, SendRequest* request) override {
    sent.push_back({&to, {header.begin(), header.end()}, request});
  }
};

/// Records the operations that a part ends, and removes them from the peer's lists.
class RecordedEnds final : public OperationEnder {
 public:
  void end(SendRequest& request, std::optional<base::Error> error,
           bool cancelled = false) override {
    if (Peer* const peer = std::exchange(request.peer, nullptr)) {
      peer->unfinished.erase(peer->unfinished.iterator_to(request));
      if (std::exchange(request.streaming, false))
        peer->streams.erase(peer->streams.iterator_to(request));
    }
    request.complete({.cancelled = cancelled}, std::move(error));
    sends.push_back(&request);
  }
  void end(ReceiveRequest& request, const MessageStatus& outcome,
           std::optional<base::Error> error) override {
    if (forget) forget(request);
    if (std::exchange(request.posted, false))
      request.address.context->matching(request.address.plane).remove(request);
    if (Peer* const peer = std::exchange(request.peer, nullptr)) {
      auto& list = std::exchange(request.with_provider, false) ? peer->provider_receives
                                                               : peer->incoming;
      list.erase(list.iterator_to(request));
    }
    request.complete(outcome, std::move(error));
    receives.push_back(&request);
  }
  /// Removes a receive that ends from the lists of the part; may be empty.
  std::function<void(ReceiveRequest&)> forget;
  std::vector<const SendRequest*> sends;
  std::vector<const ReceiveRequest*> receives;
};

/// Post a receive in its context's queues.
inline void post(ReceiveRequest& request) {
  request.source = request.address.rank;
  request.tag = request.address.tag;
  request.address.context->matching(request.address.plane).post(request);
  request.posted = true;
}

/// A log that the test reads.
class PipedLog {
 public:
  PipedLog() {
    if (::pipe(ends_.data()) == 0)
      log_ = std::make_unique<base::Log>(base::LogLevel::warn, "n0:0", ends_[1]);
  }
  ~PipedLog() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  PipedLog(const PipedLog&) = delete;
  PipedLog& operator=(const PipedLog&) = delete;
  const base::Log* log() const { return log_.get(); }
  /// Return what was written since the last call.
  std::string text() const {
    std::string read;
    pollfd readable{ends_[0], POLLIN, 0};
    while (::poll(&readable, 1, 0) == 1) {
      std::array<char, 4096> some;
      const ssize_t count = ::read(ends_[0], some.data(), some.size());
      if (count <= 0) break;
      read.append(some.data(), static_cast<std::size_t>(count));
    }
    return read;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::unique_ptr<base::Log> log_;
};

}  // namespace shim::p2p
