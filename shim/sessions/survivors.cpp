// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/survivors.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/derived_intercommunicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// A context, and the group that its ranks refer to.
struct ContextAndGroup {
  p2p::Context* context;
  const Group* group;
};

/// Return the remote group first: MPI_ANY_SOURCE refers to its members.
std::vector<ContextAndGroup> contexts_of(const Communicator& comm) {
  if (!comm.is_inter()) return {{&comm.context(), comm.group().get()}};
  return {{&comm.context(), comm.remote_group().get()},
          {&comm.local()->context(), comm.group().get()}};
}

/// World ranks of failed members, of both groups of an intercommunicator.
struct Failed {
  std::vector<std::uint32_t> all, acknowledged;
};

Failed failed_in(const Communicator& comm) {
  Failed failed;
  for (const ContextAndGroup& part : contexts_of(comm)) {
    const auto acknowledged = static_cast<std::size_t>(comm.engine().acknowledged(*part.context));
    const std::vector<int> ranks = comm.engine().failed_members(
        *part.context);  // a list that only grows
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::uint32_t process = part.group->at(ranks[i]).rank;
      failed.all.push_back(process);
      if (i < acknowledged) failed.acknowledged.push_back(process);
    }
  }
  failed.all = comm.failure_order().extend(failed.all);
  return failed;
}

std::vector<std::uint32_t> members_of(const Communicator& comm) {
  std::vector<std::uint32_t> members;
  for (const ContextAndGroup& each : contexts_of(comm))
    for (int rank = 0; rank < each.group->size(); ++rank)
      members.push_back(each.group->at(rank).rank);
  std::ranges::sort(members);
  return members;
}

/// Record the failed members of a decision in this process.
void record_failures(const Communicator& comm, const Decision& decision) {
  for (const ContextAndGroup& each : contexts_of(comm))
    for (std::uint32_t failed : decision.failed)
      if (const int rank = each.group->rank_of({0, failed}); rank != kUndefined)
        comm.engine().record_failed_rank(*each.context, rank);
}

std::string list_of(const std::vector<std::uint32_t>& processes) {
  std::string list;
  for (std::uint32_t process : processes)
    list += (list.empty() ? "" : ", ") + std::to_string(process);
  return list;
}

std::int32_t flag_of(const Communicator& comm, const Decision& decision) {
  std::int32_t flag = ~0;
  const Group& counted = comm.is_inter() ? *comm.remote_group() : *comm.group();
  for (const auto& [member, vote] : decision.votes)
    if (counted.rank_of({0, member}) != kUndefined) flag &= vote.flag;
  return flag;
}

base::Status end_agreement(const Communicator& comm, const Decision& decision, std::int32_t& flag) {
  flag = flag_of(comm, decision);
  record_failures(comm, decision);
  if (!decision.has_unacknowledged) return {};
  return Error(ErrorClass::proc_failed,
               "members of the " + comm.description() + " have failed (processes " +
                   list_of(decision.failed) +
                   "), and not all survivors have acknowledged that (MPIX_Comm_ack_failed); the "
                   "flag is agreed on nevertheless");
}

Vote vote_of(const Communicator& comm, std::int32_t flag) {
  Failed failed = failed_in(comm);
  return {.flag = flag,
          .extra = {},
          .failed = std::move(failed.all),
          .acknowledged = std::move(failed.acknowledged)};
}

/// Return offers by rank; color kUndefined for members that did not vote or have failed.
std::vector<Offer> offers_of(const Group& group, const Decision& decision) {
  std::vector<Offer> offers(static_cast<std::size_t>(group.size()));
  for (int rank = 0; rank < group.size(); ++rank) {
    Offer& offer = offers[static_cast<std::size_t>(rank)];
    offer.color = kUndefined;
    const std::uint32_t member = group.at(rank).rank;
    const auto vote = decision.votes.find(member);
    if (vote == decision.votes.end() || vote->second.extra.size() != sizeof offer ||
        std::ranges::find(decision.failed, member) != decision.failed.end())
      continue;
    std::memcpy(&offer, vote->second.extra.data(), sizeof offer);
    offer.color = 0;
    offer.key = rank;
  }
  return offers;
}

base::Result<CommunicatorPtr> end_shrink(const CommunicatorPtr& comm, const Decision& decision,
                                         std::uint32_t own_base) {
  record_failures(*comm, decision);
  const auto give_up = [&] { comm->engine().skip_base(own_base); };
  const std::uint32_t self = comm->process().self().rank;
  if (!decision.votes.contains(self) ||
      std::ranges::find(decision.failed, self) != decision.failed.end()) {
    give_up();
    return Error(ErrorClass::proc_failed,
                 "the other members of the " + comm->description() +
                     " treat this process as failed; it shares no communicator with them any more");
  }
  std::vector<Offer> offers = offers_of(*comm->group(), decision);
  if (comm->is_inter()) {
    auto made = make_inter_of_color(*comm, offers, offers_of(*comm->remote_group(), decision), 0);
    if (!made || !*made) give_up();
    return made;
  }
  const std::vector<int> ranks = ranks_of_color(offers, 0);
  SHIM_TRY_ASSIGN(GroupPtr group, include(*comm->group(), ranks));
  return make_from_offers(*comm, std::move(group), ranks, offers);
}

/// Return the call's vote, with a new context base.
Vote vote_to_shrink(const Communicator& comm, std::uint32_t& own_base) {
  Vote vote = vote_of(comm, ~0);
  const Offer own = make_offer(comm.process());
  own_base = own.context_base;
  const auto bytes = std::as_bytes(std::span(&own, 1));
  vote.extra.assign(bytes.begin(), bytes.end());
  return vote;
}

/// Request of an agree or shrink in progress. The engine's progress advances it, on one thread at a
/// time.
class SurvivorRequest final : public p2p::Request {
 public:
  using ProcessEnd = std::function<base::Status(const Decision&)>;
  SurvivorRequest(CommunicatorPtr comm, Vote vote, ProcessEnd end)
      : call_(std::move(comm), std::move(vote)), end_(std::move(end)) {}

  void begin() {
    p2p::Engine& engine = call_.comm().engine();
    const auto work = [this] { move_along(); };
    const std::uint64_t number = engine.add_progress(work, work);
    // release: pairs with the acquire in move_along(). After this store another thread may complete
    // the call.
    number_.store(number, std::memory_order_release);
  }

 private:
  void move_along() {
    const std::uint64_t number = number_.load(std::memory_order_acquire);
    if (number == 0) return;  // begin() has not finished
    const Decision* decision = call_.advance();
    if (decision == nullptr) return;
    call_.comm().engine().remove_progress(number);
    base::Status ended = end_(*decision);
    if (ended)
      complete({});
    else
      complete({}, std::move(ended).error());
  }

  SurvivorCall call_;
  ProcessEnd end_;
  std::atomic<std::uint64_t> number_{0};
};

p2p::Request* begin(const CommunicatorPtr& comm, Vote vote, SurvivorRequest::ProcessEnd end) {
  auto* request = new SurvivorRequest(comm, std::move(vote), std::move(end));
  request->begin();
  return request;
}

}  // namespace

GroupPtr failed_members(Communicator& comm) { return Group::of_ranks(failed_in(comm).all); }

int acknowledge_failed(Communicator& comm, int count) {
  const std::vector<std::uint32_t> failed = failed_in(comm).all;
  const auto wanted = std::span(failed).first(
      std::min(static_cast<std::size_t>(count), failed.size()));
  int acknowledged = 0;
  for (const ContextAndGroup& part : contexts_of(comm)) {
    const auto is_here = [&](std::uint32_t process) {
      return part.group->rank_of({0, process}) != kUndefined;
    };
    const auto here = static_cast<int>(std::ranges::count_if(wanted, is_here));
    acknowledged += comm.engine().acknowledge_failed(*part.context, here);
  }
  return acknowledged;
}

GroupPtr acknowledged_members(Communicator& comm) {
  return Group::of_ranks(failed_in(comm).acknowledged);
}

void revoke(Communicator& comm) {
  for (const ContextAndGroup& each : contexts_of(comm)) comm.engine().revoke(*each.context);
}

bool is_revoked(const Communicator& comm) {
  return std::ranges::any_of(contexts_of(comm), [&](const ContextAndGroup& each) {
    return comm.engine().is_revoked(*each.context);
  });
}

base::Status check_not_revoked(const Communicator& comm) {
  if (!is_revoked(comm)) return {};
  return Error(ErrorClass::revoked,
               "the " + comm.description() +
                   " has been revoked (MPIX_Comm_revoke); create a new one with MPIX_Comm_shrink");
}

SurvivorCall::SurvivorCall(CommunicatorPtr comm, Vote vote)
    : comm_(std::move(comm)),
      consensus_(comm_->process().consensuses().begin({scope_of(*comm_), comm_->next_consensus()},
                                                      members_of(*comm_), std::move(vote))) {}

/// Make progress; consensus messages use the engine of VCI 0, whichever the communicator's is.
const Decision* SurvivorCall::advance() {
  if (decision_ != nullptr) return decision_;
  Process& process = comm_->process();
  if (&comm_->engine() != &process.engine())
    // errors are returned to the operations that wait there
    static_cast<void>(process.engine().progress());
  return decision_ = process.consensuses().advance(consensus_);
}

namespace {

/// A call that waits for the agreement of the living members.
class AgreementSubject final : public p2p::WaitSubject {
 public:
  explicit AgreementSubject(const p2p::Context& context) : context_(context) {}
  void describe(p2p::WaitDescription& description) const override {
    description.context = &context_;
    description.text = "the agreement of the living members";
  }

 private:
  const p2p::Context& context_;
};

}  // namespace

base::Result<const Decision*> SurvivorCall::wait() {
  Process& process = comm_->process();
  AgreementSubject subject(comm_->context());
  SHIM_TRY(process.engine().wait_until(
      [&] { return (decision_ = process.consensuses().advance(consensus_)) != nullptr; }, subject));
  return decision_;
}

base::Status agree(const CommunicatorPtr& comm, std::int32_t& flag) {
  SurvivorCall call(comm, vote_of(*comm, flag));
  SHIM_TRY_ASSIGN(const Decision* decision, call.wait());
  return end_agreement(*comm, *decision, flag);
}

p2p::Request* begin_agree(const CommunicatorPtr& comm, std::int32_t* flag) {
  return begin(comm, vote_of(*comm, *flag), [comm, flag](const Decision& decision) {
    return end_agreement(*comm, decision, *flag);
  });
}

base::Result<CommunicatorPtr> shrink(const CommunicatorPtr& comm) {
  std::uint32_t own_base = 0;
  SurvivorCall call(comm, vote_to_shrink(*comm, own_base));
  const auto decision = call.wait();
  if (!decision) {
    comm->engine().skip_base(own_base);  // the others may send to it
    return decision.error().clone();
  }
  return end_shrink(comm, **decision, own_base);
}

p2p::Request* begin_shrink(const CommunicatorPtr& comm,
                           std::function<base::Status(CommunicatorPtr)> made) {
  std::uint32_t own_base = 0;
  Vote vote = vote_to_shrink(*comm, own_base);
  return begin(comm, std::move(vote),
               [comm, own_base, made = std::move(made)](const Decision& decision) -> base::Status {
                 SHIM_TRY_ASSIGN(CommunicatorPtr shrunk, end_shrink(comm, decision, own_base));
                 return made(std::move(shrunk));
               });
}

}  // namespace shim::sessions
