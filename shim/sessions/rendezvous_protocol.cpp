// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/rendezvous_protocol.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "shim/node/shm_rendezvous.hpp"
#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

/// 10 ms that a member waits before it falls back to messages, which diagnose errors. Longer than
/// processes that arrive together need if many share a core.
constexpr double kRendezvousTimeout = 0.01;
/// The wait takes at most this fraction of the setting create_timeout.
constexpr double kFractionOfTimeout = 0.25;

class LocalMembers final : public node::RendezvousMembers {
 public:
  LocalMembers(const Process& process, const Group& group) : process_(process), group_(group) {}
  std::uint32_t size() const override { return static_cast<std::uint32_t>(group_.size()); }
  std::uint32_t slot_of(std::uint32_t rank) const override {
    return process_.node().slot_of(group_.at(static_cast<int>(rank)));
  }

 private:
  const Process& process_;
  const Group& group_;
};

/// Payload words that rank 0 adds to its context base: the extended id, without the world rank of
/// rank 0, which all members know, and the VCI.
enum Word : std::size_t { kReservedBase, kCounterLow, kCounterHigh, kVci };
static_assert(kVci + 1 == node::kRendezvousExtraWords);

std::array<std::uint32_t, 1 + node::kRendezvousExtraWords> root_words(std::uint32_t context_base,
                                                                      const base::ExtendedId& id,
                                                                      std::uint32_t vci) {
  return {context_base, static_cast<std::uint32_t>(id.root), static_cast<std::uint32_t>(id.counter),
          static_cast<std::uint32_t>(id.counter >> 32), vci};
}

double rendezvous_timeout(const base::Settings& settings) {
  return settings.create_timeout > 0
             ? std::min(kRendezvousTimeout, settings.create_timeout * kFractionOfTimeout)
             : kRendezvousTimeout;
}

/// Return what the members of a complete rendezvous agree on.
Agreement agreement_of(const Group& group, const node::ShmRendezvous& complete,
                       std::uint32_t own_base) {
  const auto members = static_cast<std::size_t>(group.size());
  std::vector<std::uint32_t> bases(members);
  for (std::size_t rank = 0; rank < members; ++rank) bases[rank] = complete.payload_at(rank);
  const std::uint64_t root = group.at(0).rank;
  const base::ExtendedId id{
      .root = root << 32 | complete.payload_at(members + kReservedBase),
      .counter = std::uint64_t{complete.payload_at(members + kCounterHigh)} << 32 |
                 complete.payload_at(members + kCounterLow)};
  return {id, bases_of(std::move(bases)), own_base, complete.payload_at(members + kVci)};
}

}  // namespace

/// Call that waits at a rendezvous. An exception may end the wait.
class RendezvousProtocol::Wait {
 public:
  Wait(RendezvousProtocol& protocol, const CreationCall& call)
      : protocol_(protocol), key_(key_of(call)) {
    std::lock_guard guard(protocol_.mutex_);
    protocol_.waits_.push_back(this);
  }
  ~Wait() {
    std::lock_guard guard(protocol_.mutex_);
    std::erase(protocol_.waits_, this);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  const CreationKey& key() const { return key_; }
  /// Record that other members use messages, so that this call must, too.
  void divert() { is_diverted_.store(true, std::memory_order_relaxed); }
  bool is_diverted() const { return is_diverted_.load(std::memory_order_relaxed); }

 private:
  RendezvousProtocol& protocol_;
  const CreationKey key_;
  std::atomic<bool> is_diverted_{false};  ///< a hint, pairs with nothing
};

void RendezvousProtocol::divert(const CreationKey& key) {
  std::lock_guard guard(mutex_);
  for (Wait* wait : waits_)
    if (wait->key() == key) wait->divert();
}

std::optional<base::Result<Agreement>> RendezvousProtocol::agree(const CreationCall& call) {
  if (process_.node().rendezvous_table() == nullptr || !process_.node().has_on_node(*call.group))
    return std::nullopt;
  call.operation.begin(base::Phase::shm_rendezvous);
  std::optional<base::Result<Agreement>> agreed;
  {
    // registered before the question, so that a message after it diverts this call
    const Wait wait(*this, call);
    if (!is_by_messages_(wait.key())) agreed = arrive(call, wait);
  }
  call.operation.end(base::Phase::shm_rendezvous);
  return agreed;
}

std::optional<base::Result<Agreement>> RendezvousProtocol::arrive(const CreationCall& call,
                                                                  const Wait& wait) {
  const auto name = bytes_of(wait.key());
  const int rank = call.group->rank_of(process_.self());
  const LocalMembers members(process_, *call.group);
  OfferedBase base(process_, process_.context_ids().take_base());
  const auto words = rank == 0 ? root_words(base.value(), process_.context_ids().make_extended_id(),
                                            process_.vcis().open_or_default(call.vci))
                               : root_words(base.value(), {}, 0);
  const auto [status, rendezvous] = process_.node().rendezvous_table()->arrive(
      {members.slot_of(0), name, members, static_cast<std::uint32_t>(rank)},
      std::span(words).first(rank == 0 ? words.size() : 1));
  if (rendezvous && wait_until_complete(*rendezvous, wait))
    return base.used_by(agreement_of(*call.group, *rendezvous, base.value()));
  if (status == node::ShmRendezvousTable::ArriveStatus::arrived_before) return called_twice(call);
  return std::nullopt;
}

/// Wait until the rendezvous ends. True if all members arrived; else it is aborted for all.
bool RendezvousProtocol::wait_until_complete(const node::ShmRendezvous& rendezvous,
                                             const Wait& wait) {
  const auto is_over = [&] {
    return rendezvous.is_complete() || rendezvous.is_aborted() || wait.is_diverted();
  };
  // message errors are returned to the operations that they affect
  (void)process_.engine().wait_until(
      is_over, base::Deadline::after_seconds(rendezvous_timeout(process_.settings())));
  rendezvous.abort();  // no effect if it is complete
  return rendezvous.is_complete();
}

ClosedRendezvous::ClosedRendezvous(Process& process, const Creation& creation)
    : process_(process), group_(creation.group()) {
  const CreationRoles& roles = creation.roles();
  if (roles.is_node_leader() && !roles.spans_nodes && process.node().rendezvous_table() != nullptr)
    name_ = bytes_of(creation.key());
}

void ClosedRendezvous::abort() const {
  if (name_.empty()) return;
  const LocalMembers members(process_, *group_);
  process_.node().rendezvous_table()->abort(
      {process_.node().slot_of(process_.self()), name_, members, 0});
}

}  // namespace shim::sessions
