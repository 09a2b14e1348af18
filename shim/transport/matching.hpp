// SPDX-License-Identifier: BSD-3-Clause
// Matcher is the interface of a transport that matches messages with receives itself.
//
// Fabrics do so in hardware. It works beside the owner's matching (shim/p2p), which remains
// necessary: a receive from any source may match a message of another transport.
//
// The owner relies on two guarantees, so that no message matches twice and none overtakes another:
// - A receive posted here gets the first message, in the order sent, that it accepts and that no
//   receive posted here earlier accepts.
// - While draining, the transport passes every message that no posted receive accepts to the sink
//   as a packet, in the order sent per sender, and accepts no further receive. So receives that the
//   owner queues meanwhile are later than all receives posted here, and a sender's messages in the
//   owner's queues are earlier than its messages in flight or in the transport.
//
// Both hold per context: no message of one context matches a receive of another, so one context may
// be drained while receives of others are posted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/base/ids.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Matching criteria of messages and receives.
struct Envelope {
  /// Receiver's context id; its lowest bit separates user messages from messages of collectives
  /// (base/context_id.hpp).
  base::ContextId context = 0;
  std::int32_t source = 0;  ///< rank of the sender; required in receives
  std::int32_t tag = 0;     ///< not negative; kMatchAnyTag in receives only
};
inline constexpr std::int32_t kMatchAnyTag = -1;

/// Set of messages to drain: none, one context, or all.
class DrainScope {
 public:
  static constexpr DrainScope none() { return {Extent::none, 0}; }
  static constexpr DrainScope of(base::ContextId context) { return {Extent::one, context}; }
  static constexpr DrainScope all() { return {Extent::all, 0}; }

  constexpr bool is_none() const { return kind_ == Extent::none; }
  constexpr bool is_all() const { return kind_ == Extent::all; }
  constexpr bool includes(base::ContextId context) const {
    return is_all() || (kind_ == Extent::one && context_ == context);
  }
  /// Only valid for a single context.
  constexpr base::ContextId context() const { return context_; }
  bool operator==(const DrainScope&) const = default;

 private:
  enum class Extent : std::uint8_t { none, one, all };
  constexpr DrainScope(Extent kind, base::ContextId context) : kind_(kind), context_(context) {}
  Extent kind_;
  base::ContextId context_;
};

/// The matcher's handle of a receive. Owned by the caller, which keeps its address until the
/// receive is matched, cancelled or detached.
struct MatchedReceive {
  void* operation = nullptr;  ///< the matcher's
};

class Matcher {
 public:
  /// True if messages with this context id and source rank are matched here; others are sent as
  /// packets. Both ends get equal answers at all times.
  virtual bool takes(base::ContextId context, std::int32_t source) const = 0;
  /// Send like Transport::try_send, for a packet that is a matched message.
  virtual base::Result<Attempt> try_send(Link& to, const Envelope& message, ConstSpan header,
                                         ConstSpan payload) = 0;

  /// Post a receive of a message of the link's process. Sink::on_matched reports the outcome: the
  /// message, or an empty packet if the receive ended without a valid message; the owner then posts
  /// it again. again: the caller retries later.
  virtual base::Result<Attempt> post(MatchedReceive& receive, Link& from,
                                     const Envelope& wanted) = 0;
  /// Number of receives that can be posted.
  virtual std::size_t free_receives() const = 0;
  /// Cancel a receive. Sink::on_cancelled reports success; on_matched reports that a message came
  /// first.
  virtual void cancel(MatchedReceive& receive) = 0;
  /// Detach a receive whose memory is about to be freed; a message for it is drained.
  virtual void detach(MatchedReceive& receive) = 0;

  /// Drain this scope and nothing else, as soon as possible.
  virtual void set_drain(const DrainScope& what) = 0;
  /// True if messages of this context may still be drained, so that no receive of it is accepted.
  virtual bool is_draining(base::ContextId context) const = 0;
  /// Drain everything that has arrived by now; return the value that drains_completed() will then
  /// reach.
  virtual std::uint64_t request_drain() = 0;
  virtual std::uint64_t drains_completed() const = 0;

 protected:
  ~Matcher() = default;
};

}  // namespace shim::transport
