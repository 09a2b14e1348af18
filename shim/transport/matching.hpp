// SPDX-License-Identifier: BSD-3-Clause
// The seam for a transport that matches messages with receives itself, as fabrics do in hardware, beside the matching of its owner
// (shim/p2p), which it cannot replace: a receive from any source may get a message that comes another way.
//
// The two share the work so that no message is matched twice and none overtakes another. What the owner relies on:
// - A receive posted here gets the first message, in the order sent, of those that it accepts and no receive posted here before does.
// - While gathering, the transport hands every message that none of these accepts to the sink as a packet, in the order sent by each
//   sender, and takes no further receive. So what the owner posts in its own queues meanwhile is later than all receives here, and what
//   it has of a sender in its queues is earlier than all that is still on its way or waits here. All this context by context: no message
//   of one is for a receive of another, so that messages of one may be gathered, and receives of others posted here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/base/ids.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// What messages and receives are matched by.
struct Envelope {
  base::ContextId context = 0;  ///< as the receiver calls it, with the bit that tells planes apart
  std::int32_t source = 0;      ///< rank of the sender; a receive names one, too
  std::int32_t tag = 0;         ///< not negative, but of a receive kEveryTag
};
inline constexpr std::int32_t kEveryTag = -1;

/// Which messages are gathered: none, those of one context, or all.
class Gathering {
 public:
  static constexpr Gathering nothing() { return {Kind::nothing, 0}; }
  static constexpr Gathering of(base::ContextId context) { return {Kind::one, context}; }
  static constexpr Gathering all() { return {Kind::all, 0}; }

  constexpr bool is_nothing() const { return kind_ == Kind::nothing; }
  constexpr bool is_all() const { return kind_ == Kind::all; }
  constexpr bool includes(base::ContextId context) const { return is_all() || (kind_ == Kind::one && context_ == context); }
  /// Of one.
  constexpr base::ContextId context() const { return context_; }
  bool operator==(const Gathering&) const = default;

 private:
  enum class Kind : std::uint8_t { nothing, one, all };
  constexpr Gathering(Kind kind, base::ContextId context) : kind_(kind), context_(context) {}
  Kind kind_;
  base::ContextId context_;
};

/// What a receive is to its matcher. The owner's, and stays where it is until it is matched, withdrawn or forgotten.
struct MatchedReceive {
  void* operation = nullptr;  ///< the matcher's
};

class Matcher {
 public:
  /// Are messages with this id and from this rank matched here? Both ends get the same answer, at all times. Others are packets.
  virtual bool takes(base::ContextId context, std::int32_t source) const = 0;
  /// As Transport::try_send, for a packet that is such a message.
  virtual base::Result<Attempt> try_send(Link& to, const Envelope& message, ConstSpan header, ConstSpan payload) = 0;

  /// Gives it a receive of messages of the link's process; Sink::on_matched has the outcome: the message, or nothing where something else
  /// has used the receive up, which its owner begins anew then. again: not now.
  virtual base::Result<Attempt> post(MatchedReceive& receive, Link& from, const Envelope& wanted) = 0;
  /// So many receives find room.
  virtual std::size_t room() const = 0;
  /// Asks for a receive back. Sink::on_withdrawn says that this has come to pass, or on_matched that it was too late.
  virtual void withdraw(MatchedReceive& receive) = 0;
  /// The receive is about to go. A message for it is gathered.
  virtual void forget(MatchedReceive& receive) = 0;

  /// Begins to gather this, and nothing else any more; as soon as can be.
  virtual void gather(const Gathering& what) = 0;
  /// May something of this context still be gathered, so that no receive of it is taken?
  virtual bool is_gathering(base::ContextId context) const = 0;
  /// Gathers all that has come by now. Answers what sweeps() will have reached then.
  virtual std::uint64_t begin_sweep() = 0;
  virtual std::uint64_t sweeps() const = 0;

 protected:
  ~Matcher() = default;
};

}  // namespace shim::transport
