// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creations.hpp"

#include "shim/sessions/caller_threads.hpp"
#include "shim/sessions/message_protocol.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/rendezvous_protocol.hpp"

namespace shim::sessions {

/// Check that all members are processes of world 0: a Group accepts any world and rank, but only
/// processes of world 0 can be reached.
static base::Status check_members(const Group& group, std::uint32_t world_size) {
  for (const ProcessRange& range : group.ranges())
    if (range.world != 0 || range.highest() >= world_size)
      return base::Error(base::ErrorClass::group,
                         "the group " + group.text() +
                             " contains processes outside mpi://WORLD, whose last rank is " +
                             std::to_string(world_size - 1));
  return {};
}

p2p::ContextSpec Agreement::context_of(const GroupPtr& group, base::ProcessId self) const {
  return {.members = group,
          .own_rank = group->rank_of(self),
          .bases = bases,
          .own_base = own_base,
          .path = {}};
}

Creations::Creations(Process& process)
    : process_(process),
      threads_(std::make_unique<CallerThreads>()),
      rendezvous_(std::make_unique<RendezvousProtocol>(
          process, [this](const CreationKey& key) { return messages_->knows(key); })),
      messages_(std::make_unique<MessageProtocol>(process, *threads_, *rendezvous_)) {}

Creations::~Creations() = default;

base::Result<Agreement> Creations::agree(const CreationCall& call) {
  SHIM_TRY(check_members(*call.group, process_.bootstrap().job().size));
  threads_->record_call();
  if (call.group->size() == 1) return agree_alone(call);
  auto agreed = rendezvous_->agree(call);
  if (!agreed) agreed = messages_->agree(call);
  return *std::move(agreed);
}

Agreement Creations::agree_alone(const CreationCall& call) {
  auto bases = std::make_shared<p2p::ContextBases>();
  bases->common = process_.context_ids().take_base();
  return {process_.context_ids().make_extended_id(), bases, bases->common,
          process_.vcis().open_or_default(call.vci)};
}

void Creations::close() { messages_->close(); }

void Creations::on_control(base::ProcessId from, std::span<const std::byte> bytes) {
  messages_->on_control(from, bytes);
}

std::size_t Creations::unnotified_failures() const { return messages_->unnotified_failures(); }

}  // namespace shim::sessions
