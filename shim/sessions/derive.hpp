// SPDX-License-Identifier: BSD-3-Clause
// Making communicators from communicators: what the functions that do it have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// What a member offers for a new communicator where members exchange anything at all: a context base of its own, and an id
/// that counts if this member is the new communicator's rank 0. Travels between members as it is.
struct Offer {
  std::uint64_t id_leader = 0;
  std::uint64_t id_counter = 0;
  std::uint32_t context_base = 0;
  std::int32_t color = 0;  ///< split's; else of no meaning
  std::int32_t key = 0;    ///< split's; else of no meaning
  std::uint32_t zero = 0;
};
static_assert(sizeof(Offer) == 32);

Offer make_offer(Process& process);
/// What a member that comes away without a communicator answers: null, and what it has offered is given up.
CommunicatorPtr no_part_in(const Communicator& parent, const Offer& own);
/// The ranks with this color, in the order of their keys and, where these are equal, of the ranks.
std::vector<int> ranks_of_color(const std::vector<Offer>& offers, int color);
/// Collective over the parent: everybody's offer, by rank.
base::Result<std::vector<Offer>> exchange(Communicator& parent, const Offer& own);

/// By rank; common where all are equal.
std::shared_ptr<const p2p::ContextBases> bases_of(std::vector<std::uint32_t> by_rank);
/// The way back, for the members with ranks from `first` on.
std::vector<std::uint32_t> list_of(const p2p::ContextBases& bases, int first, int count);
/// What tells this communicator from all others of its members, for the scope of creations inside it.
std::string scope_of(const Communicator& parent);

/// The communicator of some of the parent's members, in the order of `ranks` (of the parent), from what they offered.
CommunicatorPtr make_from_offers(const Communicator& parent, GroupPtr group, std::span<const int> ranks,
                                 const std::vector<Offer>& offers);

/// Collective over the parent, all members at the same point of their programs: the communicator of a group that is a part of
/// the parent's; null where the caller is not in it. Local while the parent has child paths left, else one exchange.
base::Result<CommunicatorPtr> derive(const CommunicatorPtr& parent, const GroupPtr& group);

/// Errors: group, when not all members of the group are members of the parent.
base::Status check_is_part(const Communicator& parent, const Group& group);

}  // namespace shim::sessions
