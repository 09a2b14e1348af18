// SPDX-License-Identifier: BSD-3-Clause
// Matching by the provider, with tagged messages (fi_tagged(3)). A receive here has a buffer of ours, which holds any packet: what a long
// message's packet says is that it is there, and it goes on as any other. Gathering is one more receive, which accepts all, or all of one
// context, and waits behind all others; it ends by being taken back, and that this succeeds says that no message waits. There is never a
// second one: what has been gathered is told in the order in which it came.
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

  bool takes(base::ContextId context, std::int32_t source) const override { return bits_.takes(context, source); }
  [[gnu::hot]] base::Result<Attempt> try_send(Link& to, const Envelope& message, ConstSpan header, ConstSpan payload) override;
  [[gnu::hot]] base::Result<Attempt> post(MatchedReceive& receive, Link& from, const Envelope& wanted) override;
  std::size_t room() const override { return receives_.available() - (catch_all_ == nullptr && receives_.available() > 0 ? 1 : 0); }
  void withdraw(MatchedReceive& receive) override;
  void forget(MatchedReceive& receive) override;
  void gather(const Gathering& what) override;
  bool is_gathering(base::ContextId context) const override { return catch_all_ != nullptr && caught_.includes(context); }
  std::uint64_t begin_sweep() override;
  std::uint64_t sweeps() const override { return sweeps_; }

  /// Registers the buffers, and tries whether the provider gives a receive back. Errors: other.
  base::Status begin();
  /// Before completions are read. Errors: other, no_mem (a receive that the provider does not take for good).
  [[gnu::hot]] base::Status progress();
  /// A receive has got something from this sender, as far as the provider knows it.
  [[gnu::hot]] void complete(Operation& receive, std::size_t bytes, fi_addr_t sender, Sink& sink);
  void fail(Operation& receive, int code, Sink& sink);

 private:
  [[gnu::hot]] base::Result<Attempt> settle_doubt(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> post(Operation* receive);
  bool shall_sweep() const { return sweeps_ < sweeps_wanted_; }
  Gathering due() const { return shall_sweep() ? Gathering::all() : wanted_; }
  base::Result<Attempt> post_catch_all();
  bool ask_back(Operation& receive);
  [[gnu::hot]] void hand_on(Operation& receive, ConstSpan packet, Sink& sink);
  [[gnu::hot]] void leave(Operation& receive);
  [[gnu::hot]] void note_sender(OfiLink& link, fi_addr_t sender);
  bool knows(const OfiLink& link) const { return link.recognised && sweeps_ > *link.recognised; }

  Ofi& of_;
  const MatchBits bits_;
  Buffers receives_;
  std::vector<Operation*> refused_;     ///< that are wanted back, which the provider does not take from us at the moment
  Operation* catch_all_ = nullptr;      ///< the receive that gathers
  Gathering caught_ = Gathering::nothing();  ///< by it
  bool is_ending_ = false;              ///< it has been asked back
  Gathering wanted_ = Gathering::nothing();  ///< by our owner
  std::uint64_t sweeps_ = 0, sweeps_wanted_ = 0;
};

}  // namespace shim::transport
