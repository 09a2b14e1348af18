// SPDX-License-Identifier: BSD-3-Clause
// Context is a communicator's message queues and the known state of its members.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "shim/p2p/matching.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/peer.hpp"
#include "shim/p2p/source_table.hpp"

namespace shim::p2p {

// Parts of a context id as messages carry it.
inline Plane plane_of(base::ContextId id) {
  return (id & 1) != 0 ? Plane::collective : Plane::user;
}
inline base::ContextId user_plane_of(base::ContextId id) { return id & ~base::ContextId{1}; }

/// Receives posted in our queues whose messages may come from the provider
/// (provider_matching.hpp). The first one is from any source, or could not be posted to the
/// provider; later ones follow it.
struct ProviderDrain {
  RequestList<ReceiveRequest, Streaming> receives;  ///< in the order of posting
  std::size_t count = 0, any = 0;  ///< number of all receives, and of those from any source
  Context* context = nullptr;
  Plane plane = Plane::user;
};

/// State of one communicator in an engine.
///
/// Size: a record that all parts of an engine share, so it has more data members than a class that
/// owns its state (docs/decisions/0058-parts-of-the-engine.md).
class alignas(base::kCacheLineIsolation) Context {
 public:
  Context(Core* of_core, ContextSpec of_spec)
      : core(of_core),
        spec(std::move(of_spec)),
        id(base::context_id(spec.own_base, spec.path, false)),
        size(spec.members->size()),
        queues{Matching(size), Matching(size)},
        drains{ProviderDrain{.context = this, .plane = Plane::user},
               ProviderDrain{.context = this, .plane = Plane::collective}},
        peers(size) {}

  ProviderDrain& drain_of(Plane plane) { return drains[plane == Plane::collective]; }
  Matching& matching(Plane plane) { return queues[plane == Plane::collective]; }
  /// Return the peer of this rank; null if there has been no communication with it.
  Peer* known_peer(int rank) const {
    Peer* const* found = peers.find(rank);
    return found == nullptr ? nullptr : *found;
  }
  /// Return the id in messages of this plane to this process.
  base::ContextId id_of(Plane plane) const { return id | (plane == Plane::collective ? 1 : 0); }
  /// Return the id in messages of this plane to that rank.
  std::uint64_t id_at(int rank, Plane plane) const {
    return base::context_id(spec.bases->of(rank), spec.path, plane == Plane::collective);
  }

  void retain() { ++references; }
  void drop() {
    if (--references == 0) [[unlikely]]
      destroy();
  }

  Core* core;  ///< null once the engine is gone, and in tests of one protocol
  const ContextSpec spec;
  const base::ContextId id;  ///< this process's id, user plane
  const int size;
  std::array<Matching, 2> queues;
  std::array<ProviderDrain, 2> drains;
  SourceTable<Peer*> peers;  ///< by rank, created on demand
  /// owner, posted receives, persistent requests, messages taken by matched probes
  std::uint64_t references = 1;
  bool is_owned = true;              ///< the owner still holds a reference
  int others = -1;                   ///< members other than this process; -1 until a member fails
  int failed = 0;                    ///< members known to be dead or unreachable
  const Peer* lossy_peer = nullptr;  ///< a failed member whose messages were lost
  /// members that failed and did not finalize, in the order of detection
  std::vector<int> failed_ranks;
  int acknowledged = 0;  ///< number of acknowledged entries of failed_ranks, from the front
  /// Why a receive from any source may wait in vain; nothing if all failures are acknowledged.
  std::optional<base::Error> unacknowledged;
  /// Source that the program has probed for without waiting and without success.
  struct Probed {
    int source;             ///< kAnySource if several
    bool is_fresh = false;  ///< probed since the last liveness check
    bool was_seen = false;  ///< seen by a liveness check
  };
  std::optional<Probed> probed;
  bool is_revoked = false;
  bool has_failures = false;  ///< a member or all collectives have failed: no fast path
  /// Why no collective can complete any more; nothing if they can. See collective_failures.hpp.
  std::optional<base::Error> collective_failure;
  CollectiveNumbers numbers;
  /// Last refusal since the last call: of non-persistent, and of persistent collectives.
  std::array<std::optional<base::ErrorClass>, 2> refusals;
  /// notices of members about calls that this process has not made yet
  std::vector<wire::CallAfterRefusal> call_notices;
  wire::SenderNumber reported_failed;  ///< process whose death a member reported as the reason
  /// True if a collective has read members' memory since Engine::confirm_reads. Set under the
  /// engine's lock, read without it.
  std::atomic<bool> has_unconfirmed_reads{false};
  /// True once collective_failure is set; collectives read it without the lock when they begin.
  std::atomic<bool> collectives_have_failed{false};

 private:
  void destroy();  ///< core_contexts.cpp
};

}  // namespace shim::p2p
