// SPDX-License-Identifier: BSD-3-Clause
// Shared steps of making communicators from communicators.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// Offer is a member's contribution to a new communicator: a context base, and an id used if this
/// member is the new rank 0. Exchanged between members as raw bytes.
struct Offer {
  std::uint64_t id_root = 0;
  std::uint64_t id_counter = 0;
  std::int64_t color = 0;  ///< of split; else unused
  std::uint32_t context_base = 0;
  std::int32_t key = 0;  ///< of split; else unused
};
static_assert(sizeof(Offer) == 32);
static_assert(std::has_unique_object_representations_v<Offer>, "its bytes are sent");

Offer make_offer(Process& process);
/// This member's offer for a communicator made from the parent. The destructor skips its context
/// base, unless a communicator uses it: no message to that base is kept, whatever other members do.
class OwnOffer {
 public:
  explicit OwnOffer(const Communicator& parent, std::int64_t color = 0, std::int32_t key = 0);
  ~OwnOffer();
  OwnOffer(const OwnOffer&) = delete;
  OwnOffer& operator=(const OwnOffer&) = delete;

  const Offer& operator*() const { return offer_; }
  /// Return the communicator; if it is not null, it uses the offer.
  CommunicatorPtr used_by(CommunicatorPtr made) {
    if (made) is_used_ = true;
    return made;
  }

 private:
  p2p::Engine& engine_;
  Offer offer_;
  bool is_used_ = false;
};
/// Return the ranks with this color, sorted by key, then rank.
std::vector<int> ranks_of_color(const std::vector<Offer>& offers, std::int64_t color);
/// Return all members' offers by rank. Collective over the parent.
base::Result<std::vector<Offer>> allgather_offers(Communicator& parent, const Offer& own);

/// Return context bases by rank, stored once if all are equal.
std::shared_ptr<const p2p::ContextBases> bases_of(std::vector<std::uint32_t> by_rank);
/// Expand context bases into a list, for `count` ranks from `first` on.
std::vector<std::uint32_t> list_of(const p2p::ContextBases& bases, int first, int count);
/// Return text that distinguishes this communicator from all others of its members; the scope of
/// creations inside it.
std::string scope_of(const Communicator& parent);

/// Make the communicator of some of the parent's members, in the order of `ranks` (of the parent),
/// from their offers.
CommunicatorPtr make_from_offers(const Communicator& parent, GroupPtr group,
                                 std::span<const int> ranks, const std::vector<Offer>& offers);

/// Do what split() does, with a color of 64 bits: kUndefined or not negative.
base::Result<CommunicatorPtr> split_by_color(const CommunicatorPtr& parent, std::int64_t color,
                                             int key);

/// Make the communicator of a part of the parent's group; null if the caller is not in it.
/// Collective over the parent, called by all members at one point of their programs. Local while
/// the parent has child paths left, else one exchange.
base::Result<CommunicatorPtr> derive(const CommunicatorPtr& parent, const GroupPtr& group);

/// Errors: group (a member of the group is not a member of the parent).
base::Status check_is_part(const Communicator& parent, const Group& group);

}  // namespace shim::sessions
