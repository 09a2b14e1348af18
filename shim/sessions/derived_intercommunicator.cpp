// SPDX-License-Identifier: BSD-3-Clause
// Makes intercommunicators from intercommunicators (MPI-4.1 §7.4.2, §7.6), and merges them.
#include "shim/sessions/derived_intercommunicator.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "shim/sessions/bcast_result.hpp"
#include "shim/sessions/intercommunicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/survivors.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;
using Offers = std::vector<Offer>;

struct BothOffers {
  Offers local, remote;
};

/// Receive in a collective of an intercommunicator. If an error or an exception ends the call
/// before the message has arrived, the destructor fails the intercommunicator's collectives: then
/// the engine keeps no pointer to the buffer.
class LeaderReceive {
 public:
  LeaderReceive(Communicator& inter, p2p::Request& request) : inter_(inter), request_(request) {}
  ~LeaderReceive() {
    if (!request_.is_done())
      inter_.coll().fail({ErrorClass::other, "a member left a collective before it completed"});
    p2p::Engine::release(&request_);
  }
  LeaderReceive(const LeaderReceive&) = delete;
  LeaderReceive& operator=(const LeaderReceive&) = delete;

  base::Status wait() {
    if (auto waited = inter_.engine().wait(request_); !waited) {
      inter_.coll().fail(waited.error());
      return waited;
    }
    return request_.error() != nullptr ? base::Status(request_.error()->clone()) : base::Status();
  }

 private:
  Communicator& inter_;
  p2p::Request& request_;
};

/// Exchange the offers of both groups between the two processes with rank 0.
base::Status exchange_between_leaders(Communicator& inter, int tag, const Offers& local,
                                      Offers& remote) {
  const types::Type* byte = &types::byte_type();
  p2p::Engine& engine = inter.engine();
  SHIM_TRY_ASSIGN(
      p2p::Request * incoming,
      engine.irecv(inter.context(), {remote.data(), remote.size() * sizeof(Offer), byte}, 0, tag,
                   p2p::Plane::collective));
  LeaderReceive receive(inter, *incoming);
  base::Status sent = engine.send(inter.context(),
                                  {local.data(), local.size() * sizeof(Offer), byte}, 0, tag,
                                  p2p::SendMode::standard, p2p::Plane::collective);
  if (!sent) (void)engine.cancel(*incoming);  // return the send error
  base::Status received = receive.wait();
  SHIM_TRY(std::move(sent));
  return received;
}

base::Result<BothOffers> try_exchange_both(Communicator& inter, const Offer& own) {
  const int tag = inter.coll().next_tag();
  BothOffers offers;
  SHIM_TRY_ASSIGN(offers.local, allgather_offers(*inter.local(), own));
  offers.remote.resize(static_cast<std::size_t>(inter.peers()));
  base::Result<std::vector<std::byte>> found = std::vector<std::byte>(offers.remote.size() *
                                                                      sizeof(Offer));
  if (inter.rank() == 0) {
    if (auto swapped = exchange_between_leaders(inter, tag, offers.local, offers.remote); !swapped)
      found = std::move(swapped).error();
    else
      std::memcpy(found->data(), offers.remote.data(), found->size());
  }
  SHIM_TRY_ASSIGN(std::vector<std::byte> bytes, bcast_result(*inter.local(), 0, std::move(found)));
  std::memcpy(offers.remote.data(), bytes.data(), bytes.size());
  return offers;
}

/// Exchange the offers of all members of both groups, by rank. Collective over both groups. After
/// an error the other group does not wait for this one.
base::Result<BothOffers> exchange_both(Communicator& inter, const Offer& own) {
  base::Result<BothOffers> offers = try_exchange_both(inter, own);
  if (!offers) inter.coll().fail(offers.error());
  return offers;
}

/// Return the members with these ranks.
base::Result<GroupSide> side_of(const Group& group, const Offers& offers,
                                const std::vector<int>& ranks) {
  GroupSide side;
  SHIM_TRY_ASSIGN(side.group, include(group, ranks));
  for (int rank : ranks) side.bases.push_back(offers[static_cast<std::size_t>(rank)].context_base);
  return side;
}

base::ExtendedId id_in(const Offer& offer) {
  return {.root = offer.id_root, .counter = offer.id_counter};
}

/// Make the intercommunicator of the members of both groups with this color; null if a side has
/// none.
base::Result<CommunicatorPtr> make_of_color(const Communicator& parent, const BothOffers& offers,
                                            std::int64_t color) {
  const std::vector<int> local_ranks = ranks_of_color(offers.local, color),
                         remote_ranks = ranks_of_color(offers.remote, color);
  if (color == kUndefined || local_ranks.empty() || remote_ranks.empty()) return CommunicatorPtr();
  SHIM_TRY_ASSIGN(GroupSide local, side_of(*parent.group(), offers.local, local_ranks));
  SHIM_TRY_ASSIGN(GroupSide remote, side_of(*parent.remote_group(), offers.remote, remote_ranks));
  const auto& root = comes_first(*local.group, *remote.group)
                         ? offers.local[static_cast<std::size_t>(local_ranks.front())]
                         : offers.remote[static_cast<std::size_t>(remote_ranks.front())];
  Communicator::Parts parts{.session = parent.session(),
                            .id = id_in(root),
                            .error_handler = parent.error_handler(),
                            .tag = parent.parts().tag,
                            .is_derived = true};
  return make_inter(parent.process(), std::move(parts), std::move(local), std::move(remote));
}

}  // namespace

bool comes_first(const Group& group, const Group& other) {
  auto lowest = [](const Group& of) {
    std::pair<std::uint32_t, std::int64_t> least{~0u, 0};
    for (const ProcessRange& range : of.ranges())
      least = std::min(least, {range.world, range.lowest()});
    return least;
  };
  return lowest(group) < lowest(other);
}

CommunicatorPtr make_inter(Process& process, Communicator::Parts parts, GroupSide local,
                           GroupSide remote) {
  const int rank = local.group->rank_of(process.self());
  parts.context.own_rank = rank;
  parts.context.own_base = local.bases[static_cast<std::size_t>(rank)];
  // parts of the local group's communicator, which only the intercommunicator uses
  Communicator::Parts within = parts;
  within.group = local.group;
  within.info = nullptr;
  within.context.members = local.group;
  within.context.bases = bases_of(std::move(local.bases));
  within.context.path = *parts.context.path.child(1);
  parts.group = std::move(local.group);
  parts.remote = remote.group;
  parts.context.members = std::move(remote.group);
  parts.context.bases = bases_of(std::move(remote.bases));
  parts.local = std::make_shared<Communicator>(process, std::move(within));
  return Communicator::make(process, std::move(parts));
}

base::Result<CommunicatorPtr> make_inter_of_color(const Communicator& parent,
                                                  std::vector<Offer> local,
                                                  std::vector<Offer> remote, std::int64_t color) {
  return make_of_color(parent, {std::move(local), std::move(remote)}, color);
}

base::Result<CommunicatorPtr> duplicate_inter(const CommunicatorPtr& parent) {
  SHIM_TRY(check_not_revoked(*parent));
  auto path = parent->next_child_path();
  if (!path || !path->child(1)) {  // child 1 would be the communicator of its local group
    OwnOffer own(*parent);
    SHIM_TRY_ASSIGN(BothOffers offers, exchange_both(*parent, *own));
    SHIM_TRY_ASSIGN(CommunicatorPtr made, make_of_color(*parent, offers, 0));
    return own.used_by(std::move(made));
  }
  Communicator::Parts parts{.session = parent->session(),
                            .id = parent->id(),
                            .error_handler = parent->error_handler(),
                            .tag = parent->parts().tag,
                            .is_derived = true};
  parts.context.path = *path;
  const auto& bases = *parent->parts().context.bases;
  const auto& local_bases = *parent->local()->parts().context.bases;
  return make_inter(parent->process(), std::move(parts),
                    {parent->group(), list_of(local_bases, 0, parent->size())},
                    {parent->remote_group(), list_of(bases, 0, parent->peers())});
}

base::Result<CommunicatorPtr> split_inter(const CommunicatorPtr& parent, std::int64_t color,
                                          int key) {
  OwnOffer own(*parent, color, key);
  SHIM_TRY_ASSIGN(BothOffers offers, exchange_both(*parent, *own));
  SHIM_TRY_ASSIGN(CommunicatorPtr made, make_of_color(*parent, offers, color));
  return own.used_by(std::move(made));
}

base::Result<CommunicatorPtr> create_inter(const CommunicatorPtr& parent, const Group& group) {
  SHIM_TRY(check_is_part(*parent, group));
  const int rank = group.rank_of(parent->process().self());
  return split_inter(parent, rank == kUndefined ? kUndefined : 0, rank == kUndefined ? 0 : rank);
}

base::Result<CommunicatorPtr> merge(const CommunicatorPtr& inter, bool high) {
  OwnOffer own(*inter, high ? 1 : 0);
  SHIM_TRY_ASSIGN(BothOffers offers, exchange_both(*inter, *own));
  for (const Offers* side : {&offers.local, &offers.remote})
    if (!std::ranges::all_of(
            *side, [&](const Offer& offer) { return offer.color == side->front().color; }))
      return Error(ErrorClass::arg, "members of one group of the " + inter->description() +
                                        " pass different values for high");
  const bool theirs = offers.remote.front().color != 0;
  const bool is_first = high != theirs ? !high
                                       : comes_first(*inter->group(), *inter->remote_group());
  Offers& first = is_first ? offers.local : offers.remote;
  const Offers& second = is_first ? offers.remote : offers.local;
  first.insert(first.end(), second.begin(), second.end());
  GroupPtr both = is_first ? set_union(*inter->group(), *inter->remote_group())
                           : set_union(*inter->remote_group(), *inter->group());
  std::vector<int> ranks(first.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return own.used_by(make_from_offers(*inter, std::move(both), ranks, first));
}

}  // namespace shim::sessions
