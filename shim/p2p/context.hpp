// SPDX-License-Identifier: BSD-3-Clause
// A communicator's queues and what it knows of its members.
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

// The parts of an id as messages carry it.
inline Plane plane_of(base::ContextId id) { return (id & 1) != 0 ? Plane::collective : Plane::user; }
inline base::ContextId user_plane_of(base::ContextId id) { return id & ~base::ContextId{1}; }

/// Receives posted in our queues whose messages may come from below (below.cpp).
struct Gathered {
  RequestList<ReceiveRequest, Streaming> receives;  ///< in the order of posting
  std::size_t count = 0, any = 0;  ///< of them: all, those from any source
  Context* context = nullptr;
  Plane plane = Plane::user;
};

class alignas(base::kApart) Context {
 public:
  Context(Core* of_core, ContextSpec of_spec)
      : core(of_core),
        spec(std::move(of_spec)),
        id(base::context_id(spec.own_base, spec.path, false)),
        size(spec.members->size()),
        queues{Matching(size), Matching(size)},
        gathered{Gathered{.context = this, .plane = Plane::user}, Gathered{.context = this, .plane = Plane::collective}},
        peers(size) {}

  Gathered& gathered_in(Plane plane) { return gathered[plane == Plane::collective]; }
  Matching& matching(Plane plane) { return queues[plane == Plane::collective]; }
  /// Null where we have had nothing to do with this rank.
  Peer* known_peer(int rank) const {
    Peer* const* found = peers.find(rank);
    return found == nullptr ? nullptr : *found;
  }
  /// The id that others send us messages of this plane by.
  base::ContextId id_of(Plane plane) const { return id | (plane == Plane::collective ? 1 : 0); }
  /// The id that this member looks our messages up by.
  std::uint64_t id_at(int rank, Plane plane) const {
    return base::context_id(spec.bases->of(rank), spec.path, plane == Plane::collective);
  }

  Core* core;                    ///< null once the engine is gone
  const ContextSpec spec;
  const base::ContextId id;      ///< ours, of the user plane
  const int size;
  std::array<Matching, 2> queues;
  std::array<Gathered, 2> gathered;
  SourceTable<Peer*> peers;      ///< by rank, once asked for
  std::uint64_t references = 1;  ///< the owner, posted receives, persistent requests, messages taken by matched probes
  bool is_owned = true;          ///< the owner still is one of them
  int others = -1;               ///< members that are not ourselves; -1 until somebody fails
  int failed = 0;                ///< members known to be dead, or out of reach
  const Peer* loser = nullptr;   ///< one of them whose messages were lost
  bool has_failures = false;     ///< a member has failed, or all collectives: off the short ways
  /// Why no collective can complete any more; nothing where they can. See collective_failure.cpp.
  std::optional<base::Error> collective_failure;
  CollectiveTurns turns;
  /// The last refusal since the last call, of those with usual tags and with lasting ones.
  std::array<std::optional<base::ErrorClass>, 2> refusals;
  std::vector<wire::CallAfterRefusal> disputed;  ///< of other members, of calls that this one has not made yet
  wire::Origin reported_failed;  ///< the process whose death is the reason, as a member has reported
  /// True if a collective has read members' memory since Engine::confirm_reads. Set under the engine's lock; a look without it.
  std::atomic<bool> has_unconfirmed_reads{false};
  /// True once collective_failure is set, for collectives that begin: a look without the engine's lock.
  std::atomic<bool> collectives_have_failed{false};
};

}  // namespace shim::p2p
