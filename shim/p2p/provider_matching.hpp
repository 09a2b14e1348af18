// SPDX-License-Identifier: BSD-3-Clause
// ProviderMatching posts receives to a transport that matches ("provider matching",
// transport/matching.hpp).
//
// The provider gets receives that name their source while their context has no open receive from
// any source. An open one stays in our own queues, because its message may arrive over another
// transport, and so do all later receives of its context whose messages may come from the provider.
// Meanwhile the transport returns all messages that no earlier receive accepts, so that probes and
// cancel requests search our queues only.
#pragma once

#include <vector>

#include "shim/p2p/peers.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class ProviderMatching final : public ProviderPosting {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    base::ProcessId self;
    bool is_enabled;  ///< transports may match
    Transports& transports;
    Peers& peers;
    RouteRequests& routes;
    OperationEnder& operations;
    ProviderReceives& receives;
    Engine::Counts& counts;
  };
  explicit ProviderMatching(const Collaborators& collaborators) : collaborators_(collaborators) {}

  [[gnu::always_inline]] bool is_enabled() const { return collaborators_.is_enabled; }
  [[gnu::hot]] bool may_match(Context& context, int source, Plane plane) override;

  // --- receives
  bool start(ReceiveRequest& request) override;
  void add_posted(ReceiveRequest& request) override;
  void remove_posted(ReceiveRequest& request) override;
  void detach(ReceiveRequest& request) override;
  void cancel(ReceiveRequest& request) override;
  bool drain_for_probe(Context& context, int source) override;
  [[gnu::hot]] void progress();

  // --- outcome of receives that were posted to the provider
  void on_matched(transport::MatchedReceive& receive, transport::ConstSpan packet);
  void on_cancelled(transport::MatchedReceive& receive);

 private:
  bool post_to_provider(ReceiveRequest& request);
  transport::DrainScope due_drain(const transport::Matcher& matcher);
  bool is_link_known(ProviderDrain& drain);
  bool move_to_provider(ProviderDrain& drain);
  void move_to_provider(const transport::Matcher& matcher);
  void unlink(ReceiveRequest& request);

  const Collaborators collaborators_;

  std::vector<ProviderDrain*> active_drains_;  ///< non-empty drains
  int drain_rounds_ = 0;                       ///< rounds left that drain all messages
};

}  // namespace shim::p2p
