// SPDX-License-Identifier: BSD-3-Clause
// OfiMatcher matches by the provider, with tagged messages (fi_tagged(3)).
//
// Each posted receive has a local buffer that holds any packet: the packet of a long message only
// announces it, and the message continues as any other. A drain is one further receive, posted
// after all receives of its scope, which accepts all messages, or all of one context. The matcher
// ends a drain by cancelling its receive; a successful cancel proves that no message waits. At most
// one drain is posted at a time, so drained messages are delivered in the order of arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/transport/matching.hpp"
#include "shim/transport/ofi/buffers.hpp"
#include "shim/transport/ofi/link.hpp"
#include "shim/transport/ofi/match_bits.hpp"

namespace shim::transport {

class Ofi;

class OfiMatcher final : public Matcher {
 public:
  OfiMatcher(Ofi& of, const MatchBits& bits);

  bool takes(base::ContextId context, std::int32_t source) const override {
    return bits_.takes(context, source);
  }
  [[gnu::hot]] base::Result<Attempt> try_send(Link& to, const Envelope& message, ConstSpan header,
                                              ConstSpan payload) override;
  [[gnu::hot]] base::Result<Attempt> post(MatchedReceive& receive, Link& from,
                                          const Envelope& wanted) override;
  std::size_t free_receives() const override {
    return receives_.available() - (drain_receive_ == nullptr && receives_.available() > 0 ? 1 : 0);
  }
  void cancel(MatchedReceive& receive) override;
  void detach(MatchedReceive& receive) override;
  void set_drain(const DrainScope& what) override;
  bool is_draining(base::ContextId context) const override {
    return drain_receive_ != nullptr && drain_scope_.includes(context);
  }
  std::uint64_t request_drain() override;
  std::uint64_t drains_completed() const override { return drains_completed_; }

  /// Register the buffers, and test whether the provider cancels a receive. Errors: other.
  base::Status begin();
  /// Make progress before completions are read. Errors: other, no_mem (the provider refuses a
  /// receive for good).
  [[gnu::hot]] base::Status progress();
  /// Complete a receive from this sender, as the provider knows it.
  [[gnu::hot]] void complete(PendingOperation& receive, std::size_t bytes, fi_addr_t sender,
                             Sink& sink);
  void fail(PendingOperation& receive, int code, Sink& sink);

 private:
  [[gnu::hot]] base::Result<Attempt> limit_unacked(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> post(PendingOperation* receive);
  bool needs_drain() const { return drains_completed_ < drains_requested_; }
  DrainScope due_scope() const { return needs_drain() ? DrainScope::all() : requested_scope_; }
  base::Result<Attempt> post_drain_receive();
  bool try_cancel(PendingOperation& receive);
  [[gnu::hot]] void deliver(PendingOperation& receive, ConstSpan packet, Sink& sink);
  [[gnu::hot]] void on_removed(PendingOperation& receive);
  [[gnu::hot]] void record_sender(OfiLink& link, fi_addr_t sender);
  bool recognises(const OfiLink& link) const {
    return link.recognised_at_drain && drains_completed_ > *link.recognised_at_drain;
  }

  Ofi& of_;
  const MatchBits bits_;
  Buffers receives_;
  /// Receives to be cancelled once the provider accepts it.
  std::vector<PendingOperation*> pending_cancels_;
  PendingOperation* drain_receive_ = nullptr;        ///< the posted drain
  DrainScope drain_scope_ = DrainScope::none();      ///< of drain_receive_
  bool is_cancelling_ = false;                       ///< cancel of drain_receive_ is pending
  DrainScope requested_scope_ = DrainScope::none();  ///< by the owner
  std::uint64_t drains_completed_ = 0, drains_requested_ = 0;
};

}  // namespace shim::transport
