// SPDX-License-Identifier: BSD-3-Clause
// FailureNotices keeps the failures of creations for members that do not know of them yet.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "shim/base/clock.hpp"
#include "shim/base/ids.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation_registry.hpp"
#include "shim/sessions/creation_wire.hpp"

namespace shim::sessions {

class Process;

/// Keeps recorded failures, which waiting members may request, and queued failures, which wait for
/// an address. Not thread-safe.
class FailureNotices {
 public:
  FailureNotices(Process& process, CreationRegistry& registry)
      : process_(process), registry_(registry) {}

  /// Record a failure for later status requests. parent: this process's parent in that creation, if
  /// it is notified now.
  void record(const FailureMessage& failure, std::optional<base::ProcessId> parent);
  /// Return a recorded failure of the creation that the requester waits in and does not know of.
  std::optional<FailureMessage> recorded_for(base::ProcessId requester,
                                             const StatusRequest& request);

  /// Send a failure once the address of `to` is found; a process that has not published its address
  /// gets it after it does.
  void queue(base::ProcessId to, FailureMessage message);
  void send_queued();
  /// Drop the queued failures of an earlier attempt of this creation.
  void drop_queued(const CreationKey& key);
  /// True if a failure was queued within the last `wait` and is not sent yet.
  bool has_queued_since(base::Nanoseconds wait) const;

 private:
  struct RecordedFailure {
    FailureMessage failure;
    base::Nanoseconds when = 0;
    /// The parent that was notified, if any, and its incarnation: a later incarnation does not know
    /// of the failure.
    std::optional<base::ProcessId> parent = {};
    std::uint32_t notified_incarnation = 0;
  };
  struct QueuedFailure {
    base::ProcessId to;
    FailureMessage message;
    AddressLookup lookup;
    base::Nanoseconds since = 0;
  };
  static bool may_be_unknown_to(RecordedFailure& recorded, base::ProcessId requester,
                                const StatusRequest& request);
  /// True if the failure was sent, or cannot be.
  bool send_if_found(QueuedFailure& queued);

  Process& process_;
  CreationRegistry& registry_;
  std::deque<RecordedFailure> recorded_;  ///< the latest
  std::deque<QueuedFailure> queued_;      ///< the latest
};

}  // namespace shim::sessions
