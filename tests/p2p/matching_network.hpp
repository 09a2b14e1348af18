// SPDX-License-Identifier: BSD-3-Clause
// A transport that matches, for tests: as a provider of fabrics would, slowly. It stands on another one, which carries its messages.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <vector>

#include "shim/transport/matching.hpp"

namespace shim::p2p {

class MatchingTransport final : public transport::Transport, public transport::Matcher, private transport::Sink {
 public:
  struct Traits {
    unsigned seed = 1;
    std::size_t room = 4;         ///< receives
    std::uint64_t contexts = ~0ull;  ///< ids below this are matched
    int slowness = 3;             ///< an outcome is told after up to so many polls
    double refusals = 0;          ///< of receives that there is room for: how likely
  };

  MatchingTransport(std::unique_ptr<transport::Transport> below, Traits traits)
      : below_(std::move(below)), traits_(traits), random_(traits.seed) {}

  // --- Transport
  std::string_view name() const override { return "matching"; }
  std::size_t max_packet_bytes() const override { return below_->max_packet_bytes() - sizeof(Front); }
  transport::Bytes address() const override { return below_->address(); }
  base::Result<transport::Link*> open(transport::ConstSpan address) override { return below_->open(address); }
  base::Result<transport::Attempt> try_send(transport::Link& to, transport::ConstSpan header, transport::ConstSpan payload) override {
    return send({}, to, header, payload);
  }
  base::Result<int> poll(transport::Sink& sink) override;
  base::Result<transport::Attempt> try_read(transport::Link& link, std::uint64_t address, std::span<std::byte> into) override {
    return below_->try_read(link, address, into);
  }
  bool is_gone(const transport::Link& link) const override { return below_->is_gone(link); }
  bool has_lost(const transport::Link& link) const override { return below_->has_lost(link); }
  bool has_losses() const override { return below_->has_losses(); }
  bool is_flushed() const override { return below_->is_flushed(); }
  bool can_sleep() const override { return false; }
  void sleep(std::int64_t nanoseconds, const LastLook& last_look, std::span<const int>) override { below_->sleep(nanoseconds, last_look, {}); }
  const Counts& counts() const override { return below_->counts(); }
  transport::Matcher* matcher() override { return this; }
  bool may_match() const override { return true; }

  // --- Matcher
  bool takes(base::ContextId context, std::int32_t) const override { return context < traits_.contexts; }
  base::Result<transport::Attempt> try_send(transport::Link& to, const transport::Envelope& message, transport::ConstSpan header,
                                            transport::ConstSpan payload) override {
    return send({.is_matched = true, .envelope = message}, to, header, payload);
  }
  base::Result<transport::Attempt> post(transport::MatchedReceive& receive, transport::Link&, const transport::Envelope& wanted) override;
  std::size_t room() const override { return traits_.room - std::min(traits_.room, receives_in_use()); }
  void withdraw(transport::MatchedReceive& receive) override;
  void forget(transport::MatchedReceive& receive) override;
  void gather(const transport::Gathering& what) override;
  bool is_gathering(base::ContextId context) const override { return catch_all_ != nullptr && catch_all_->caught.includes(context); }
  std::uint64_t begin_sweep() override;
  std::uint64_t sweeps() const override { return sweeps_; }

  /// Something that is no message uses up the receive that has waited longest.
  void spoil_a_receive();

  std::uint64_t matched = 0, gathered = 0;  ///< messages

 private:
  /// In front of each packet.
  struct Front {
    bool is_matched = false;
    transport::Envelope envelope;
  };
  struct Message {
    transport::Envelope envelope;
    transport::Bytes packet;
  };
  enum class State { waits, has_message, withdrawn };
  struct Operation {
    transport::MatchedReceive* receive;  ///< null: the one that gathers, or a forgotten one
    transport::Gathering caught;         ///< by the one that gathers
    transport::Envelope wanted;
    State state = State::waits;
    transport::Bytes packet = {};
    int polls = 0;  ///< until its outcome is told

    bool accepts(const transport::Envelope& message) const {
      if (!caught.is_nothing()) return caught.includes(message.context);
      return message.context == wanted.context && message.source == wanted.source &&
             (wanted.tag == transport::kEveryTag || wanted.tag == message.tag);
    }
  };

  base::Result<transport::Attempt> send(const Front& front, transport::Link& to, transport::ConstSpan header, transport::ConstSpan payload);
  bool on_packet(transport::ConstSpan packet) override;
  std::size_t receives_in_use() const { return operations_.size() - (catch_all_ == nullptr ? 0 : 1); }
  Operation* add(transport::MatchedReceive* receive, const transport::Gathering& caught, const transport::Envelope& wanted);
  void settle(Operation& operation, State state, transport::Bytes packet = {});
  bool refuses() { return std::uniform_real_distribution()(random_) < traits_.refusals; }
  bool shall_sweep() const { return sweeps_ < sweeps_wanted_; }
  transport::Gathering due() const { return shall_sweep() ? transport::Gathering::all() : wanted_; }
  void post_catch_all();
  void move_catch_all();
  void tell(transport::Sink& sink);
  void tell(Operation operation, transport::Sink& sink);

  std::unique_ptr<transport::Transport> below_;
  Traits traits_;
  std::mt19937 random_;
  std::list<Operation> operations_;  // in the order of posting
  std::deque<Message> unexpected_;
  Operation* catch_all_ = nullptr;
  transport::Gathering wanted_ = transport::Gathering::nothing();
  std::uint64_t sweeps_ = 0, sweeps_wanted_ = 0;
  transport::Sink* sink_ = nullptr;  // during a poll
};

inline base::Result<transport::Attempt> MatchingTransport::send(const Front& front, transport::Link& to, transport::ConstSpan header,
                                                                transport::ConstSpan payload) {
  transport::Bytes bytes(sizeof front + header.size());
  std::memcpy(bytes.data(), &front, sizeof front);
  std::memcpy(bytes.data() + sizeof front, header.data(), header.size());
  return below_->try_send(to, bytes, payload);
}

inline bool MatchingTransport::on_packet(transport::ConstSpan packet) {
  Front front;
  std::memcpy(&front, packet.data(), sizeof front);
  const transport::ConstSpan rest = packet.subspan(sizeof front);
  if (!front.is_matched) return sink_->on_packet(rest);
  auto found = std::ranges::find_if(operations_, [&](Operation& each) { return each.state == State::waits && each.accepts(front.envelope); });
  if (found == operations_.end()) unexpected_.push_back({front.envelope, {rest.begin(), rest.end()}});
  else settle(*found, State::has_message, {rest.begin(), rest.end()});
  return true;
}

inline MatchingTransport::Operation* MatchingTransport::add(transport::MatchedReceive* receive, const transport::Gathering& caught,
                                                                    const transport::Envelope& wanted) {
  Operation& added = operations_.emplace_back(Operation{receive, caught, wanted});
  auto found = std::ranges::find_if(unexpected_, [&](const Message& message) { return added.accepts(message.envelope); });
  if (found != unexpected_.end()) {
    settle(added, State::has_message, std::move(found->packet));
    unexpected_.erase(found);
  }
  return &added;
}

inline void MatchingTransport::settle(Operation& operation, State state, transport::Bytes packet) {
  operation.state = state;
  operation.packet = std::move(packet);
  operation.polls = static_cast<int>(random_() % static_cast<unsigned>(traits_.slowness + 1));
}

inline base::Result<transport::Attempt> MatchingTransport::post(transport::MatchedReceive& receive, transport::Link&,
                                                                const transport::Envelope& wanted) {
  if (is_gathering(wanted.context) || room() == 0 || refuses()) return transport::Attempt::again;
  receive.operation = add(&receive, transport::Gathering::nothing(), wanted);
  return transport::Attempt::done;
}

inline void MatchingTransport::withdraw(transport::MatchedReceive& receive) {
  auto* operation = static_cast<Operation*>(receive.operation);
  if (operation->state == State::waits) settle(*operation, State::withdrawn);
}

inline void MatchingTransport::forget(transport::MatchedReceive& receive) {
  withdraw(receive);
  static_cast<Operation*>(receive.operation)->receive = nullptr;
  receive.operation = nullptr;
}

inline void MatchingTransport::gather(const transport::Gathering& what) {
  wanted_ = what;
  if (!what.is_nothing() && catch_all_ == nullptr) post_catch_all();
}

inline void MatchingTransport::post_catch_all() {
  if (!refuses()) catch_all_ = add(nullptr, due(), {});
}

inline void MatchingTransport::spoil_a_receive() {
  auto found = std::ranges::find_if(operations_, [](const Operation& each) { return each.state == State::waits && each.caught.is_nothing(); });
  settle(*found, State::has_message);
}

inline std::uint64_t MatchingTransport::begin_sweep() {
  const bool is_ending = catch_all_ != nullptr && catch_all_->state == State::withdrawn && catch_all_->caught.is_all();
  sweeps_wanted_ = std::max(sweeps_wanted_, sweeps_ + (is_ending ? 2 : 1));
  return sweeps_wanted_;
}

inline void MatchingTransport::move_catch_all() {
  if (catch_all_ == nullptr) {
    if (!due().is_nothing()) post_catch_all();
  } else if (catch_all_->state == State::waits && (catch_all_->caught != wanted_ || shall_sweep())) {
    settle(*catch_all_, State::withdrawn);
  }
}

/// Messages of one sender are told of in the order in which they were matched: there is one queue.
inline void MatchingTransport::tell(transport::Sink& sink) {
  for (auto next = operations_.begin(); next != operations_.end();) {
    auto operation = next++;
    if (operation->state == State::waits) continue;
    if (operation->polls-- > 0) return;
    Operation told = std::move(*operation);
    if (catch_all_ == &*operation) catch_all_ = nullptr;
    operations_.erase(operation);
    if (told.caught.is_all() && told.state == State::withdrawn) ++sweeps_;
    tell(std::move(told), sink);
    return;
  }
}

inline void MatchingTransport::tell(Operation operation, transport::Sink& sink) {
  if (operation.receive == nullptr) {
    if (operation.state != State::has_message) return;
    ++gathered;
    sink.on_packet(operation.packet);
  } else if (operation.state == State::withdrawn) {
    sink.on_withdrawn(*operation.receive);
  } else {
    ++matched;
    sink.on_matched(*operation.receive, operation.packet);
  }
}

inline base::Result<int> MatchingTransport::poll(transport::Sink& sink) {
  sink_ = &sink;
  move_catch_all();
  SHIM_TRY_ASSIGN(const int packets, below_->poll(*this));
  const std::uint64_t before = matched + gathered;
  for (int i = 0; i < 4; ++i) tell(sink);
  return packets + static_cast<int>(matched + gathered - before);
}

}  // namespace shim::p2p
