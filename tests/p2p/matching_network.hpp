// SPDX-License-Identifier: BSD-3-Clause
// MatchingTransport is a transport for tests that matches receives with messages, slowly, as a
// libfabric provider would. A lower transport carries its messages.
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

class MatchingTransport final : public transport::Transport,
                                public transport::Matcher,
                                private transport::Sink {
 public:
  struct Traits {
    unsigned seed = 1;
    std::size_t free_receives = 4;   ///< number of receives that can be posted
    std::uint64_t contexts = ~0ull;  ///< ids below this are matched
    int slowness = 3;                ///< most polls before an outcome is reported
    double refusals = 0;             ///< probability that a receive is refused despite free room
  };

  MatchingTransport(std::unique_ptr<transport::Transport> lower, Traits traits)
      : lower_(std::move(lower)), traits_(traits), random_(traits.seed) {}

  // --- Transport
  std::string_view name() const override { return "matching"; }
  transport::Reach reach() const override { return lower_->reach(); }
  std::size_t max_packet_bytes() const override {
    return lower_->max_packet_bytes() - sizeof(Front);
  }
  transport::Bytes address() const override { return lower_->address(); }
  base::Result<transport::Link*> open(transport::ConstSpan address) override {
    return lower_->open(address);
  }
  base::Result<transport::Attempt> try_send(transport::Link& to, transport::ConstSpan header,
                                            transport::ConstSpan payload) override {
    return send({}, to, header, payload);
  }
  base::Result<int> poll(transport::Sink& sink) override;
  bool is_flushed() const override { return lower_->is_flushed(); }
  const Counts& counts() const override { return lower_->counts(); }
  transport::RemoteReads* remote_reads() override { return lower_->remote_reads(); }
  transport::FailureDetector* failure_detector() override { return lower_->failure_detector(); }
  transport::LossDetector* loss_detector() override { return lower_->loss_detector(); }
  transport::Matcher* matcher() override { return this; }
  bool may_match() const override { return true; }

  // --- Matcher
  bool takes(base::ContextId context, std::int32_t) const override {
    return context < traits_.contexts;
  }
  base::Result<transport::Attempt> try_send(transport::Link& to, const transport::Envelope& message,
                                            transport::ConstSpan header,
                                            transport::ConstSpan payload) override {
    return send({.is_matched = true, .envelope = message}, to, header, payload);
  }
  base::Result<transport::Attempt> post(transport::MatchedReceive& receive, transport::Link&,
                                        const transport::Envelope& wanted) override;
  std::size_t free_receives() const override {
    return traits_.free_receives - std::min(traits_.free_receives, receives_in_use());
  }
  void cancel(transport::MatchedReceive& receive) override;
  void detach(transport::MatchedReceive& receive) override;
  void set_drain(const transport::DrainScope& what) override;
  bool is_draining(base::ContextId context) const override {
    return drain_receive_ != nullptr && drain_receive_->drain_scope.includes(context);
  }
  std::uint64_t request_drain() override;
  std::uint64_t drains_completed() const override { return drains_completed_; }

  /// Complete the oldest receive with an invalid message.
  void consume_a_receive();

  std::uint64_t matched = 0, drained = 0;  ///< messages

 private:
  /// Header of each packet.
  struct Front {
    bool is_matched = false;
    transport::Envelope envelope;
  };
  struct Message {
    transport::Envelope envelope;
    transport::Bytes packet;
  };
  enum class State { waits, has_message, cancelled };
  struct Operation {
    transport::MatchedReceive* receive;  ///< null for the drain's receive, and for a detached one
    transport::DrainScope drain_scope;   ///< of the drain's receive
    transport::Envelope wanted;
    State state = State::waits;
    transport::Bytes packet = {};
    int polls = 0;  ///< remaining polls until its outcome is reported

    bool accepts(const transport::Envelope& message) const {
      if (!drain_scope.is_none()) return drain_scope.includes(message.context);
      return message.context == wanted.context && message.source == wanted.source &&
             (wanted.tag == transport::kMatchAnyTag || wanted.tag == message.tag);
    }
  };

  base::Result<transport::Attempt> send(const Front& front, transport::Link& to,
                                        transport::ConstSpan header, transport::ConstSpan payload);
  bool on_packet(transport::ConstSpan packet) override;
  std::size_t receives_in_use() const {
    return operations_.size() - (drain_receive_ == nullptr ? 0 : 1);
  }
  Operation* add(transport::MatchedReceive* receive, const transport::DrainScope& drain_scope,
                 const transport::Envelope& wanted);
  void settle(Operation& operation, State state, transport::Bytes packet = {});
  bool refuses() { return std::uniform_real_distribution()(random_) < traits_.refusals; }
  bool needs_drain() const { return drains_completed_ < drains_requested_; }
  transport::DrainScope due_scope() const {
    return needs_drain() ? transport::DrainScope::all() : requested_scope_;
  }
  void post_drain_receive();
  void update_drain_receive();
  void report(transport::Sink& sink);
  void report(Operation operation, transport::Sink& sink);

  std::unique_ptr<transport::Transport> lower_;
  Traits traits_;
  std::mt19937 random_;
  std::list<Operation> operations_;  // in the order of posting
  std::deque<Message> unexpected_;
  Operation* drain_receive_ = nullptr;
  transport::DrainScope requested_scope_ = transport::DrainScope::none();
  std::uint64_t drains_completed_ = 0, drains_requested_ = 0;
  transport::Sink* sink_ = nullptr;  // during a poll
};

inline base::Result<transport::Attempt> MatchingTransport::send(const Front& front,
                                                                transport::Link& to,
                                                                transport::ConstSpan header,
                                                                transport::ConstSpan payload) {
  transport::Bytes bytes(sizeof front + header.size());
  std::memcpy(bytes.data(), &front, sizeof front);
  std::memcpy(bytes.data() + sizeof front, header.data(), header.size());
  return lower_->try_send(to, bytes, payload);
}

inline bool MatchingTransport::on_packet(transport::ConstSpan packet) {
  Front front;
  std::memcpy(&front, packet.data(), sizeof front);
  const transport::ConstSpan rest = packet.subspan(sizeof front);
  if (!front.is_matched) return sink_->on_packet(rest);
  auto found = std::ranges::find_if(operations_, [&](Operation& each) {
    return each.state == State::waits && each.accepts(front.envelope);
  });
  if (found == operations_.end())
    unexpected_.push_back({front.envelope, {rest.begin(), rest.end()}});
  else
    settle(*found, State::has_message, {rest.begin(), rest.end()});
  return true;
}

inline MatchingTransport::Operation* MatchingTransport::add(
    transport::MatchedReceive* receive, const transport::DrainScope& drain_scope,
    const transport::Envelope& wanted) {
  Operation& added = operations_.emplace_back(Operation{receive, drain_scope, wanted});
  auto found = std::ranges::find_if(
      unexpected_, [&](const Message& message) { return added.accepts(message.envelope); });
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

inline base::Result<transport::Attempt> MatchingTransport::post(transport::MatchedReceive& receive,
                                                                transport::Link&,
                                                                const transport::Envelope& wanted) {
  if (is_draining(wanted.context) || free_receives() == 0 || refuses())
    return transport::Attempt::again;
  receive.operation = add(&receive, transport::DrainScope::none(), wanted);
  return transport::Attempt::done;
}

inline void MatchingTransport::cancel(transport::MatchedReceive& receive) {
  auto* operation = static_cast<Operation*>(receive.operation);
  if (operation->state == State::waits) settle(*operation, State::cancelled);
}

inline void MatchingTransport::detach(transport::MatchedReceive& receive) {
  cancel(receive);
  static_cast<Operation*>(receive.operation)->receive = nullptr;
  receive.operation = nullptr;
}

inline void MatchingTransport::set_drain(const transport::DrainScope& what) {
  requested_scope_ = what;
  if (!what.is_none() && drain_receive_ == nullptr) post_drain_receive();
}

inline void MatchingTransport::post_drain_receive() {
  if (!refuses()) drain_receive_ = add(nullptr, due_scope(), {});
}

inline void MatchingTransport::consume_a_receive() {
  auto found = std::ranges::find_if(operations_, [](const Operation& each) {
    return each.state == State::waits && each.drain_scope.is_none();
  });
  settle(*found, State::has_message);
}

inline std::uint64_t MatchingTransport::request_drain() {
  const bool is_ending = drain_receive_ != nullptr && drain_receive_->state == State::cancelled &&
                         drain_receive_->drain_scope.is_all();
  drains_requested_ = std::max(drains_requested_, drains_completed_ + (is_ending ? 2 : 1));
  return drains_requested_;
}

inline void MatchingTransport::update_drain_receive() {
  if (drain_receive_ == nullptr) {
    if (!due_scope().is_none()) post_drain_receive();
  } else if (drain_receive_->state == State::waits &&
             (drain_receive_->drain_scope != requested_scope_ || needs_drain())) {
    settle(*drain_receive_, State::cancelled);
  }
}

/// Report outcomes in the order of posting. One queue keeps the messages of one sender in order.
inline void MatchingTransport::report(transport::Sink& sink) {
  for (auto next = operations_.begin(); next != operations_.end();) {
    auto operation = next++;
    if (operation->state == State::waits) continue;
    if (operation->polls-- > 0) return;
    Operation reported = std::move(*operation);
    if (drain_receive_ == &*operation) drain_receive_ = nullptr;
    operations_.erase(operation);
    if (reported.drain_scope.is_all() && reported.state == State::cancelled) ++drains_completed_;
    report(std::move(reported), sink);
    return;
  }
}

inline void MatchingTransport::report(Operation operation, transport::Sink& sink) {
  if (operation.receive == nullptr) {
    if (operation.state != State::has_message) return;
    ++drained;
    sink.on_packet(operation.packet);
  } else if (operation.state == State::cancelled) {
    sink.on_cancelled(*operation.receive);
  } else {
    ++matched;
    sink.on_matched(*operation.receive, operation.packet);
  }
}

inline base::Result<int> MatchingTransport::poll(transport::Sink& sink) {
  sink_ = &sink;
  update_drain_receive();
  SHIM_TRY_ASSIGN(const int packets, lower_->poll(*this));
  const std::uint64_t before = matched + drained;
  for (int i = 0; i < 4; ++i) report(sink);
  return packets + static_cast<int>(matched + drained - before);
}

}  // namespace shim::p2p
