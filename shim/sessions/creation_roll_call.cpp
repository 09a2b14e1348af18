// SPDX-License-Identifier: BSD-3-Clause
// The short way of a creation whose members are all on one node: they sign a roll call in shared memory, and no message is sent. All that is
// not as it mostly is goes the long way, by messages: a member that takes its time, or is dead, or knows of a failure, a key that is long.
// A member that goes that way takes the others along: the root gets its contribution and calls the roll call off, or the root does so
// because it waits for contributions itself.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/derive.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

/// So long a member waits for the others before it goes the long way, where all that may be wrong is found out. Longer than processes
/// that come together take where many share a core.
constexpr double kRollCallPatience = 0.01;
/// Of a time-out that the user has set, so much.
constexpr double kPartOfTimeout = 0.25;

class OnOwnNode final : public transport::RollMembers {
 public:
  OnOwnNode(const Process& process, const Group& group) : process_(process), group_(group) {}
  std::uint32_t size() const override { return static_cast<std::uint32_t>(group_.size()); }
  std::uint32_t slot_of(std::uint32_t rank) const override { return process_.slot_of(group_.at(static_cast<int>(rank))); }

 private:
  const Process& process_;
  const Group& group_;
};

/// Of what the leader brings, the first after its context base; its rank in the world all know.
enum Word : std::size_t { kIncarnation, kCounterLow, kCounterHigh, kLane };
static_assert(kLane + 1 == transport::kRollCallExtra);

std::array<std::uint32_t, 1 + transport::kRollCallExtra> words_of(std::uint32_t context_base, const base::ExtendedId& id, std::uint32_t lane) {
  return {context_base, static_cast<std::uint32_t>(id.leader), static_cast<std::uint32_t>(id.counter), static_cast<std::uint32_t>(id.counter >> 32), lane};
}

double patience_under(const base::Settings& settings) {
  return settings.create_timeout > 0 ? std::min(kRollCallPatience, settings.create_timeout * kPartOfTimeout) : kRollCallPatience;
}

}  // namespace

/// Not where others have been here by messages already.
bool Creations::may_sign(const CreationKey& key, AtRollCall& here) {
  std::lock_guard guard(mutex_);
  note_thread();
  if (find(key)) return false;
  at_roll_call_.push_back(&here);
  return true;
}

void Creations::end_sign(const AtRollCall& here) {
  std::lock_guard guard(mutex_);
  std::erase(at_roll_call_, &here);
}

/// A message about this creation has come: who waits for it at a roll call goes on by messages.
void Creations::send_on(const CreationKey& key) {
  for (AtRollCall* here : at_roll_call_)
    if (here->key == key) here->by_messages.store(true, std::memory_order_relaxed);
}

/// A root that waits by messages: who comes now does not wait for it there.
void Creations::call_off_roll_call(const Creation& creation) {
  if (creation.name.empty() || process_.roll_calls() == nullptr) return;
  const OnOwnNode members(process_, *creation.group);
  process_.roll_calls()->call_off({process_.slot_of(process_.self()), creation.name, members, static_cast<std::uint32_t>(creation.roles.self)});
}

base::Result<Agreement> Creations::agreement_of(const Call& call, const transport::RollCall& complete, std::uint32_t own_base) const {
  const auto members = static_cast<std::size_t>(call.group->size());
  std::vector<std::uint32_t> bases(members);
  for (std::size_t rank = 0; rank < members; ++rank) bases[rank] = complete.brought(rank);
  const std::uint64_t leader = call.group->at(0).rank;
  const base::ExtendedId id{.leader = leader << 32 | complete.brought(members + kIncarnation),
                            .counter = std::uint64_t{complete.brought(members + kCounterHigh)} << 32 | complete.brought(members + kCounterLow)};
  return Agreement{id, bases_of(std::move(bases)), own_base, complete.brought(members + kLane)};
}

std::optional<base::Result<Agreement>> Creations::by_roll_call(const Call& call) {
  if (process_.roll_calls() == nullptr || !process_.has_on_node(*call.group)) return std::nullopt;
  call.operation.begin(base::Phase::roll_call);
  const CreationKey key = key_of(call.scope, call.tag, *call.group);
  AtRollCall here{key};
  auto agreed = may_sign(key, here) ? sign(call, here) : std::nullopt;
  end_sign(here);
  call.operation.end(base::Phase::roll_call);
  return agreed;
}

std::optional<base::Result<Agreement>> Creations::sign(const Call& call, const AtRollCall& here) {
  const auto name = bytes_of(here.key);
  const int rank = call.group->rank_of(process_.self());
  const OnOwnNode members(process_, *call.group);
  const std::uint32_t base = process_.take_context_base();
  const auto words = rank == 0 ? words_of(base, process_.make_extended_id(), usable_lane(call.lane)) : words_of(base, {}, 0);
  const auto [answer, signature] = process_.roll_calls()->sign({members.slot_of(0), name, members, static_cast<std::uint32_t>(rank)},
                                                               std::span(words).first(rank == 0 ? words.size() : 1));
  if (signature && is_complete_soon(*signature, here)) return in_open_lane(agreement_of(call, *signature, base), base);
  process_.skip_base(base);
  if (answer == transport::RollCalls::Answer::signed_before) return called_twice(call);
  return std::nullopt;
}

/// Else it is off.
bool Creations::is_complete_soon(const transport::RollCall& signature, const AtRollCall& here) {
  const auto is_over = [&] { return signature.is_complete() || signature.is_off() || here.by_messages.load(std::memory_order_relaxed); };
  // what goes wrong with messages meanwhile is found out by those who need them
  (void)process_.engine().wait_until(is_over, base::Deadline::after_seconds(patience_under(process_.settings())));
  signature.call_off();
  return signature.is_complete();
}

}  // namespace shim::sessions
