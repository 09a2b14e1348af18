// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/derived_communicator.hpp"

#include <algorithm>
#include <numeric>

#include "shim/sessions/derived_intercommunicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/survivors.hpp"

namespace shim::sessions {
namespace {

/// Return the parent rank of every member of the group, in the group's order.
std::vector<int> parent_ranks(const Communicator& parent, const Group& group) {
  std::vector<int> ranks(static_cast<std::size_t>(group.size()));
  if (group == *parent.group())
    std::iota(ranks.begin(), ranks.end(), 0);
  else
    for (int i = 0; i < group.size(); ++i)
      ranks[static_cast<std::size_t>(i)] = parent.group()->rank_of(group.at(i));
  return ranks;
}

/// Return the parts that a child inherits from its parent.
Communicator::Parts inherited(const Communicator& parent, GroupPtr group) {
  const int rank = group->rank_of(parent.process().self());
  Communicator::Parts parts{.session = parent.session(), .group = group, .id = parent.id()};
  parts.context.members = std::move(group);
  parts.context.own_rank = rank;
  parts.error_handler = parent.error_handler();
  parts.tag = parent.parts().tag;
  parts.is_derived = true;
  parts.vci = parent.vci();  // its bases are known there, and so are its routes to all members
  return parts;
}

CommunicatorPtr derive_locally(const Communicator& parent, const GroupPtr& group,
                               base::ContextPath path) {
  const p2p::ContextSpec& context = parent.parts().context;
  Communicator::Parts parts = inherited(parent, group);
  parts.context.path = path;
  parts.context.own_base = context.own_base;
  parts.context.bases = context.bases;
  if (!context.bases->by_rank.empty() && !(*group == *parent.group())) {
    std::vector<std::uint32_t> by_rank;
    for (int rank : parent_ranks(parent, *group)) by_rank.push_back(context.bases->of(rank));
    parts.context.bases = bases_of(std::move(by_rank));
  }
  return Communicator::make(parent.process(), std::move(parts));
}

}  // namespace

std::shared_ptr<const p2p::ContextBases> bases_of(std::vector<std::uint32_t> by_rank) {
  auto bases = std::make_shared<p2p::ContextBases>();
  bases->common = by_rank.front();
  const bool all_equal = std::all_of(by_rank.begin(), by_rank.end(),
                                     [&](auto base) { return base == bases->common; });
  if (!all_equal) bases->by_rank = std::move(by_rank);
  return bases;
}

std::vector<std::uint32_t> list_of(const p2p::ContextBases& bases, int first, int count) {
  std::vector<std::uint32_t> list;
  for (int rank = first; rank < first + count; ++rank) list.push_back(bases.of(rank));
  return list;
}

std::string scope_of(const Communicator& parent) {
  const base::ExtendedId& id = parent.id();
  return std::to_string(id.root) + "/" + std::to_string(id.counter) + "/" +
         std::to_string(parent.path().bits);
}

Offer make_offer(Process& process) {
  const base::ExtendedId id = process.context_ids().make_extended_id();
  Offer offer{.id_root = id.root, .id_counter = id.counter};
  offer.context_base = process.context_ids().take_base();
  return offer;
}

OwnOffer::OwnOffer(const Communicator& parent, std::int64_t color, std::int32_t key)
    : engine_(parent.engine()), offer_(make_offer(parent.process())) {
  offer_.color = color;
  offer_.key = key;
}

OwnOffer::~OwnOffer() {
  if (!is_used_) engine_.skip_base(offer_.context_base);
}

base::Result<std::vector<Offer>> allgather_offers(Communicator& parent, const Offer& own) {
  const types::Type* byte = &types::byte_type();
  std::vector<Offer> offers(static_cast<std::size_t>(parent.size()));
  SHIM_TRY(coll::run(parent.coll(), coll::allgather(parent.coll(), {&own, sizeof own, byte},
                                                    {offers.data(), sizeof own, byte})));
  return offers;
}

CommunicatorPtr make_from_offers(const Communicator& parent, GroupPtr group,
                                 std::span<const int> ranks, const std::vector<Offer>& offers) {
  Communicator::Parts parts = inherited(parent, std::move(group));
  std::vector<std::uint32_t> by_rank;
  for (int rank : ranks) by_rank.push_back(offers[static_cast<std::size_t>(rank)].context_base);
  const Offer& root = offers[static_cast<std::size_t>(ranks.front())];
  parts.id = {.root = root.id_root, .counter = root.id_counter};
  parts.context.own_base = by_rank[static_cast<std::size_t>(parts.context.own_rank)];
  parts.context.bases = bases_of(std::move(by_rank));
  return Communicator::make(parent.process(), std::move(parts));
}

base::Result<CommunicatorPtr> derive(const CommunicatorPtr& parent, const GroupPtr& group) {
  SHIM_TRY(check_not_revoked(*parent));
  SHIM_TRY(check_is_part(*parent, *group));
  const bool is_member = group->rank_of(parent->process().self()) != kUndefined;
  if (auto path = parent->next_child_path())
    return is_member ? derive_locally(*parent, group, *path) : nullptr;
  OwnOffer own(*parent);
  SHIM_TRY_ASSIGN(auto offers, allgather_offers(*parent, *own));
  if (!is_member) return CommunicatorPtr();
  return own.used_by(make_from_offers(*parent, group, parent_ranks(*parent, *group), offers));
}

coll::Task duplicate_by_exchange(coll::CollSeq seq, CommunicatorPtr parent,
                                 std::function<void(CommunicatorPtr)> made) {
  const types::Type* byte = &types::byte_type();
  OwnOffer own(*parent);
  std::vector<Offer> offers(static_cast<std::size_t>(parent->size()));
  coll::Task all = coll::allgather(seq, {&*own, sizeof(Offer), byte},
                                   {offers.data(), sizeof(Offer), byte});
  co_await all;
  CommunicatorPtr copy = own.used_by(
      make_from_offers(*parent, parent->group(), parent_ranks(*parent, *parent->group()), offers));
  copy->set_topology(parent->topology());
  made(std::move(copy));
}

base::Status check_is_part(const Communicator& parent, const Group& group) {
  GroupPtr strangers = set_difference(group, *parent.group());
  if (strangers->size() == 0) return {};
  return base::Error(base::ErrorClass::group, "the processes " + strangers->text() +
                                                  " of the group are not members of the " +
                                                  parent.description());
}

base::Result<CommunicatorPtr> create(const CommunicatorPtr& parent, const GroupPtr& group) {
  return parent->is_inter() ? create_inter(parent, *group)
                            : derive(parent, parent->process().groups().intern(group));
}

base::Result<CommunicatorPtr> duplicate(const CommunicatorPtr& parent, bool with_topology) {
  if (parent->is_inter()) return duplicate_inter(parent);
  SHIM_TRY_ASSIGN(CommunicatorPtr copy, derive(parent, parent->group()));
  if (with_topology) copy->set_topology(parent->topology());
  return copy;
}

}  // namespace shim::sessions
