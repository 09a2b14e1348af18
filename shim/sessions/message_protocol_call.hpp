// SPDX-License-Identifier: BSD-3-Clause
// WaitingCall is a call that has joined a creation, with what serves its wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "shim/p2p/p2p.hpp"
#include "shim/sessions/creation_watch.hpp"
#include "shim/sessions/message_protocol.hpp"
#include "shim/sessions/parent_resolver.hpp"
#include "shim/sessions/rendezvous_protocol.hpp"

namespace shim::sessions {

/// Empty until MessageProtocol::join. An exception may end it.
class MessageProtocol::WaitingCall final : public p2p::WaitSubject {
 public:
  WaitingCall(MessageProtocol& protocol, const CreationCall& of) : call(of), protocol_(protocol) {}
  ~WaitingCall() override {
    if (creation) protocol_.leave(*this);
  }
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;
  void describe(p2p::WaitDescription& description) const override;

  // Set by the protocol, with its mutex.
  const CreationCall& call;
  CreationPtr creation;
  std::optional<CreationWatch> watch;
  std::optional<ClosedRendezvous> rendezvous;
  /// Set on node leaders of a group that spans nodes.
  std::unique_ptr<ParentResolver> parent;
  std::uint32_t sent_to_incarnation = 0;  ///< of the parent

 private:
  MessageProtocol& protocol_;
};

}  // namespace shim::sessions
