// SPDX-License-Identifier: BSD-3-Clause
// Creates a communicator of one node through a shared-memory rendezvous, without messages. All
// uncommon cases fall back to messages: a slow or dead member, an earlier message about this
// creation, a long key. If one member falls back, all do: a member that has arrived aborts the
// rendezvous. Any other sends its contribution to rank 0, which then aborts it. Rank 0 also aborts
// it while it waits for contributions itself.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

/// 10 ms that a member waits before it falls back to messages, which diagnose errors. Longer than
/// processes that arrive together need if many share a core.
constexpr double kRendezvousTimeout = 0.01;
/// The wait takes at most this fraction of the setting create_timeout.
constexpr double kFractionOfTimeout = 0.25;

class LocalMembers final : public transport::RendezvousMembers {
 public:
  LocalMembers(const Process& process, const Group& group) : process_(process), group_(group) {}
  std::uint32_t size() const override { return static_cast<std::uint32_t>(group_.size()); }
  std::uint32_t slot_of(std::uint32_t rank) const override {
    return process_.slot_of(group_.at(static_cast<int>(rank)));
  }

 private:
  const Process& process_;
  const Group& group_;
};

/// Payload words that rank 0 adds to its context base: the extended id, without the world rank of
/// rank 0, which all members know, and the VCI.
enum Word : std::size_t { kReservedBase, kCounterLow, kCounterHigh, kVci };
static_assert(kVci + 1 == transport::kRendezvousExtraWords);

std::array<std::uint32_t, 1 + transport::kRendezvousExtraWords> leader_words(
    std::uint32_t context_base, const base::ExtendedId& id, std::uint32_t vci) {
  return {context_base, static_cast<std::uint32_t>(id.leader),
          static_cast<std::uint32_t>(id.counter), static_cast<std::uint32_t>(id.counter >> 32),
          vci};
}

double rendezvous_timeout(const base::Settings& settings) {
  return settings.create_timeout > 0
             ? std::min(kRendezvousTimeout, settings.create_timeout * kFractionOfTimeout)
             : kRendezvousTimeout;
}

}  // namespace

/// Register the wait. False if this process has state of this creation, e.g. from earlier messages.
bool Creations::begin_rendezvous(const CreationKey& key, RendezvousWait& wait) {
  std::lock_guard guard(mutex_);
  record_thread();
  if (find(key)) return false;
  rendezvous_waits_.push_back(&wait);
  return true;
}

void Creations::end_rendezvous(const RendezvousWait& wait) {
  std::lock_guard guard(mutex_);
  std::erase(rendezvous_waits_, &wait);
}

/// Make the rendezvous waits of this creation fall back to messages. Called when a message about it
/// has arrived.
void Creations::divert_to_messages(const CreationKey& key) {
  for (RendezvousWait* wait : rendezvous_waits_)
    if (wait->key == key) wait->by_messages.store(true, std::memory_order_relaxed);
}

/// Abort the rendezvous if this process is rank 0, which now waits for messages, so that members
/// that call later do not wait at the rendezvous.
void Creations::abort_rendezvous(const TrackedCreation& creation) {
  if (creation.name.empty() || process_.rendezvous_table() == nullptr) return;
  const LocalMembers members(process_, *creation.group());
  process_.rendezvous_table()->abort({process_.slot_of(process_.self()), creation.name, members,
                                      static_cast<std::uint32_t>(creation.roles().self)});
}

base::Result<Agreement> Creations::agreement_of(const Call& call,
                                                const transport::ShmRendezvous& complete,
                                                std::uint32_t own_base) const {
  const auto members = static_cast<std::size_t>(call.group->size());
  std::vector<std::uint32_t> bases(members);
  for (std::size_t rank = 0; rank < members; ++rank) bases[rank] = complete.payload_at(rank);
  const std::uint64_t leader = call.group->at(0).rank;
  const base::ExtendedId id{
      .leader = leader << 32 | complete.payload_at(members + kReservedBase),
      .counter = std::uint64_t{complete.payload_at(members + kCounterHigh)} << 32 |
                 complete.payload_at(members + kCounterLow)};
  return Agreement{id, bases_of(std::move(bases)), own_base, complete.payload_at(members + kVci)};
}

std::optional<base::Result<Agreement>> Creations::try_rendezvous(const Call& call) {
  if (process_.rendezvous_table() == nullptr || !process_.has_on_node(*call.group))
    return std::nullopt;
  call.operation.begin(base::Phase::shm_rendezvous);
  const CreationKey key = key_of(call.scope, call.tag, *call.group, call.topology);
  std::optional<base::Result<Agreement>> agreed;
  {
    RendezvousWait wait(*this, key);
    if (begin_rendezvous(key, wait)) agreed = rendezvous(call, wait);
  }
  call.operation.end(base::Phase::shm_rendezvous);
  return agreed;
}

std::optional<base::Result<Agreement>> Creations::rendezvous(const Call& call,
                                                             const RendezvousWait& wait) {
  const auto name = bytes_of(wait.key);
  const int rank = call.group->rank_of(process_.self());
  const LocalMembers members(process_, *call.group);
  OfferedBase base(process_, process_.take_context_base());
  const auto words = rank == 0 ? leader_words(base.base, process_.make_extended_id(),
                                              usable_vci(call.vci))
                               : leader_words(base.base, {}, 0);
  const auto [status, rendezvous] = process_.rendezvous_table()->arrive(
      {members.slot_of(0), name, members, static_cast<std::uint32_t>(rank)},
      std::span(words).first(rank == 0 ? words.size() : 1));
  if (rendezvous && wait_until_complete(*rendezvous, wait))
    return with_open_vci(agreement_of(call, *rendezvous, base.base), base);
  if (status == transport::ShmRendezvousTable::ArriveStatus::arrived_before)
    return called_twice(call);
  return std::nullopt;
}

/// Wait until the rendezvous ends. True if all members arrived; else it is aborted for all.
bool Creations::wait_until_complete(const transport::ShmRendezvous& rendezvous,
                                    const RendezvousWait& wait) {
  const auto is_over = [&] {
    return rendezvous.is_complete() || rendezvous.is_aborted() ||
           wait.by_messages.load(std::memory_order_relaxed);
  };
  // message errors are returned to the operations that they affect
  (void)process_.engine().wait_until(
      is_over, base::Deadline::after_seconds(rendezvous_timeout(process_.settings())));
  rendezvous.abort();  // no effect if it is complete
  return rendezvous.is_complete();
}

}  // namespace shim::sessions
