// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/loop/loop.hpp"

#include <algorithm>
#include <cstring>

#include "shim/transport/cooperative_writes.hpp"
#include "shim/transport/failure_detector.hpp"
#include "shim/transport/loop/loop_state.hpp"
#include "shim/transport/loss_detector.hpp"
#include "shim/transport/receive_in_place.hpp"
#include "shim/transport/registered_reads.hpp"
#include "shim/transport/remote_reads.hpp"
#include "shim/transport/send_in_place.hpp"
#include "shim/transport/stream_limits.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using State = LoopNetwork::State;

/// Most packets delivered in one poll.
constexpr int kLoopPollBatch = 64;
/// Bytes per step of a read of offered memory.
constexpr std::size_t kReadStep = 100'000;

/// Contents of an address: the network, and the process on it.
struct LoopAddress {
  std::uint64_t network;
  std::uint32_t number;
  std::uint32_t unused = 0;
};

struct LoopLink final : Link {
  explicit LoopLink(std::uint32_t number) : to(number) {}
  std::uint32_t to;
  bool used = false;
  Bytes reserved;  ///< a packet that is being written
};

/// One process of a LoopNetwork.
///
/// Size: has most optional interfaces, so that tests of the engine need no other process; most
/// functions forward to the network's state in one line.
class LoopTransport final : public Transport,
                            private ReceiveInPlace,
                            private SendInPlace,
                            private StreamLimits,
                            private RemoteReads,
                            private RegisteredReads,
                            private CooperativeWrites,
                            private FailureDetector,
                            private LossDetector {
 public:
  explicit LoopTransport(std::shared_ptr<State> state)
      : state_(std::move(state)), number_(state_->add()) {}
  ~LoopTransport() override { state_->leave(number_); }

  std::string_view name() const override { return "loop"; }
  Reach reach() const override { return Reach::node; }
  std::size_t max_packet_bytes() const override { return state_->faults().max_packet_bytes; }
  Bytes address() const override;
  Result<Link*> open(ConstSpan address) override;
  Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  Result<int> poll(Sink& sink) override { return take(sink, std::nullopt); }
  Result<int> poll_link(Link& link, Sink& sink) override {
    return take(sink, static_cast<LoopLink&>(link).to);
  }
  bool is_flushed() const override { return state_->outbox_is_empty(number_); }
  const Counts& counts() const override { return counts_; }
  ReceiveInPlace* receive_in_place() override { return this; }
  SendInPlace* send_in_place() override { return this; }
  StreamLimits* stream_limits() override { return this; }
  RemoteReads* remote_reads() override { return reads_registered() ? nullptr : this; }
  RegisteredReads* registered_reads() override { return reads_registered() ? this : nullptr; }
  CooperativeWrites* cooperative_writes() override { return reads_registered() ? nullptr : this; }
  FailureDetector* failure_detector() override { return this; }
  LossDetector* loss_detector() override { return this; }

 private:
  // --- ReceiveInPlace
  ConstSpan front(Link& link) override {
    return state_->front_for(number_, static_cast<LoopLink&>(link).to);
  }
  void drop_front(Link& link, ConstSpan packet) override;
  // --- SendInPlace
  Result<Attempt> try_reserve(Link& link, ConstSpan header, std::size_t payload_bytes,
                              std::span<std::byte>& payload) override;
  void publish(Link& link) override;
  // --- StreamLimits
  std::size_t long_packet_bytes(const Link&) const override { return max_packet_bytes(); }
  StreamBudget stream_budget() override { return state_->faults().stream_budget; }
  // --- RemoteReads
  Result<Attempt> try_read(Link& link, std::uint64_t remote_address,
                           std::span<std::byte> into) override;
  // --- RegisteredReads
  std::unique_ptr<MemoryRegistration> offer(Link&, ConstSpan memory) override {
    return state_->memory().offer(memory);
  }
  std::unique_ptr<Read> begin_read(Link& link, const RemoteMemory& from,
                                   std::span<std::byte> into) override;
  // --- CooperativeWrites
  CooperativeCopy* cooperative_copy_from(Link& link) override {
    return &state_->cooperative_copy(static_cast<LoopLink&>(link).to, number_);
  }
  CooperativeCopy* cooperative_copy_to(Link& link) override {
    return &state_->cooperative_copy(number_, static_cast<LoopLink&>(link).to);
  }
  Result<Attempt> try_write(Link& link, std::uint64_t remote_address, ConstSpan bytes) override;
  // --- FailureDetector
  bool is_gone(const Link& link) const override {
    return state_->is_lost(static_cast<const LoopLink&>(link).to);
  }
  std::string_view gone_reason(const Link& link) const override {
    return has_lost_packets(link) ? "the loop has lost its packets" : "";
  }
  ShutdownNotice shutdown_notice(const Link&) const override {
    return ShutdownNotice::not_expected;
  }
  // --- LossDetector
  bool has_lost_packets(const Link& link) const override {
    return state_->is_cut_off(static_cast<const LoopLink&>(link).to);
  }
  bool any_lost_packets() const override { return state_->has_cut_off(); }
  void probe_losses() override {}  // the network records losses at once

  bool reads_registered() const {
    const LoopFaults::Reads reads = state_->faults().reads;
    return reads == LoopFaults::Reads::offered || reads == LoopFaults::Reads::offered_break;
  }
  int take(Sink& sink, std::optional<std::uint32_t> sender);
  std::uint64_t network() const { return reinterpret_cast<std::uintptr_t>(state_.get()); }

  std::shared_ptr<State> state_;
  std::uint32_t number_;
  std::vector<std::unique_ptr<LoopLink>> links_;
  Counts counts_;
};

Bytes LoopTransport::address() const {
  LoopAddress own{network(), number_};
  Bytes bytes(sizeof own);
  std::memcpy(bytes.data(), &own, sizeof own);
  return bytes;
}

Result<Link*> LoopTransport::open(ConstSpan address) {
  LoopAddress wanted{};
  if (address.size() == sizeof wanted) std::memcpy(&wanted, address.data(), sizeof wanted);
  if (wanted.network != network() || !state_->exists(wanted.number))
    return Error(ErrorClass::arg, "this is not an address of this loop network");
  links_.push_back(std::make_unique<LoopLink>(wanted.number));
  ++counts_.links_opened;
  return links_.back().get();
}

Result<Attempt> LoopTransport::try_send(Link& link, ConstSpan header, ConstSpan payload) {
  std::span<std::byte> buffer;
  SHIM_TRY_ASSIGN(Attempt attempt, try_reserve(link, header, payload.size(), buffer));
  if (attempt != Attempt::done) return attempt;
  std::ranges::copy(payload, buffer.begin());
  publish(link);
  return attempt;
}

Result<Attempt> LoopTransport::try_reserve(Link& link, ConstSpan header, std::size_t payload_bytes,
                                           std::span<std::byte>& payload) {
  auto& to = static_cast<LoopLink&>(link);
  if (header.size() + payload_bytes > max_packet_bytes())
    return Error(ErrorClass::intern, "a packet is longer than the loop network's max_packet_bytes");
  SHIM_TRY_ASSIGN(Attempt attempt, state_->may_send(number_, to.to));
  if (attempt == Attempt::again) {
    ++counts_.sends_again;
    return attempt;
  }
  to.reserved.assign(header.begin(), header.end());
  to.reserved.resize(header.size() + payload_bytes);
  payload = std::span(to.reserved).subspan(header.size());
  return attempt;
}

void LoopTransport::publish(Link& link) {
  auto& to = static_cast<LoopLink&>(link);
  if (!std::exchange(to.used, true)) ++counts_.links_used;
  ++counts_.packets_sent;
  counts_.bytes_sent += to.reserved.size();
  state_->send(number_, to.to, std::move(to.reserved));
}

int LoopTransport::take(Sink& sink, std::optional<std::uint32_t> sender) {
  state_->begin_poll(number_);
  int delivered = 0;
  for (; delivered < kLoopPollBatch; ++delivered) {
    std::optional<Bytes> packet = state_->next_for(number_, sender);
    if (!packet) break;
    ++counts_.packets_received;
    if (!sink.on_packet(*packet)) return delivered + 1;
  }
  return delivered;
}

void LoopTransport::drop_front(Link& link, ConstSpan) {
  (void)state_->next_for(number_, static_cast<LoopLink&>(link).to);
  ++counts_.packets_received;
}

Result<Attempt> LoopTransport::try_read(Link&, std::uint64_t remote_address,
                                        std::span<std::byte> into) {
  if (state_->faults().reads == LoopFaults::Reads::unsupported) return Attempt::unsupported;
  if (state_->faults().reads == LoopFaults::Reads::fail)
    return Error(ErrorClass::other, "the loop network was told to let reads fail");
  if (!into.empty())
    std::memmove(into.data(), reinterpret_cast<const void*>(remote_address), into.size());
  counts_.bytes_read += into.size();
  return Attempt::done;
}

std::unique_ptr<Read> LoopTransport::begin_read(Link&, const RemoteMemory& from,
                                                std::span<std::byte> into) {
  const bool breaks = state_->faults().reads == LoopFaults::Reads::offered_break;
  counts_.bytes_read += into.size();
  return state_->memory().begin_read(from, into, kReadStep, breaks ? into.size() / 2 : into.size());
}

Result<Attempt> LoopTransport::try_write(Link&, std::uint64_t remote_address, ConstSpan bytes) {
  if (state_->faults().writes == LoopFaults::Reads::unsupported) return Attempt::unsupported;
  if (bytes.empty()) return Attempt::done;
  if (state_->faults().writes == LoopFaults::Reads::fail)
    return Error(ErrorClass::other, "the loop network was told to let writes fail");
  std::memmove(reinterpret_cast<void*>(remote_address), bytes.data(), bytes.size());
  return Attempt::done;
}

}  // namespace

LoopNetwork::LoopNetwork(LoopFaults faults) : state_(std::make_shared<State>(faults)) {}

std::unique_ptr<Transport> LoopNetwork::add() { return std::make_unique<LoopTransport>(state_); }

void LoopNetwork::lose(std::uint32_t number) { state_->lose(number); }
void LoopNetwork::cut_off(std::uint32_t number) { state_->cut_off(number); }

std::uint64_t LoopNetwork::sent(std::uint32_t from, std::uint32_t to) const {
  return state_->sent(from, to);
}

std::size_t LoopNetwork::in_flight() const { return state_->in_flight(); }

CooperativeCopy& LoopNetwork::cooperative_copy(std::uint32_t from, std::uint32_t to) {
  return state_->cooperative_copy(from, to);
}

}  // namespace shim::transport
