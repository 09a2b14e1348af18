// SPDX-License-Identifier: BSD-3-Clause
// SharedCopies copies long messages from both processes (transport/cooperative_copy.hpp).
//
// While the receiver reads parts of a message, a sender that is inside the engine writes other
// parts, because two cores copy at twice the rate of one.
#pragma once

#include <cstdint>
#include <deque>

#include "shim/p2p/pool.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/wait_reporter.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class SharedCopies final : public CopySharing {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    Router* router;
    const IdTable<SendRequest>& send_ids;
    PacketOutput& output;
    PeerFailures& failures;
    ReadQueue& reads;
    const CoreLoad& load;
    const WaitReporter& reporter;
    Engine::Counts& counts;
  };
  explicit SharedCopies(const Collaborators& collaborators) : collaborators_(collaborators) {}

  // --- at the receiver
  bool is_for_two(const ReceiveRequest& request, bool sends_long) const override;
  bool begin(ReceiveRequest& request) override;
  State copy(ReceiveRequest& request) override;
  void give_up(Peer& from) override;
  void stop(ReceiveRequest& request) override;

  // --- at the sender
  void on_share(const wire::Share& header);
  bool has_writes() const { return !shares_.empty(); }
  /// @param has_reads this process has messages to read
  int write_some(bool has_reads);

 private:
  void end(ReceiveRequest& request);
  void wait_for_writes(const ReceiveRequest& request);
  bool write_parts(const wire::Share& share);

  const Collaborators collaborators_;
  std::deque<wire::Share> shares_;  ///< messages of ours that their receivers read and we may write
};

}  // namespace shim::p2p
