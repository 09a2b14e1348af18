// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/communicator.hpp"

#include <algorithm>
#include <string_view>

#include "shim/sessions/consensus.hpp"
#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

/// Assertions and requests about the use of a communicator (MPI-4.1 §7.4.4, §12.4.3).
static constexpr std::string_view kHints[] = {"mpi_assert_no_any_tag",
                                              "mpi_assert_no_any_source",
                                              "mpi_assert_exact_length",
                                              "mpi_assert_allow_overtaking",
                                              "mpi_assert_strict_persistent_collective_ordering",
                                              "mpi_assert_memory_alloc_kinds"};

namespace {

std::shared_ptr<CommunicatorLabel> label_of(const Process& process,
                                            const Communicator::Parts& parts) {
  const bool records_origin = process.log().wants(base::LogLevel::debug);
  return std::make_shared<CommunicatorLabel>(
      parts.name, CommunicatorLabel::Facts{
                      .tag = parts.tag,
                      .is_derived = parts.is_derived,
                      .rank = parts.context.own_rank,
                      .size = parts.group->size(),
                      .remote_size = parts.remote != nullptr ? parts.remote->size() : -1,
                      .made_at = records_origin ? base::current_call_site() : base::CallSite()});
}

p2p::ContextSpec labelled(p2p::ContextSpec spec, std::shared_ptr<const p2p::ContextLabel> label) {
  spec.label = std::move(label);
  return spec;
}

}  // namespace

Communicator::Communicator(Process& process, Parts parts)
    : process_(&process),
      parts_(std::move(parts)),
      rank_(parts_.context.own_rank),
      size_(parts_.group->size()),
      peers_(parts_.context.members->size()),
      label_(label_of(process, parts_)),
      context_(process.vcis().engine(parts_.vci).make_context(labelled(parts_.context, label_))),
      coll_(process.vcis().engine(parts_.vci), *context_, process.scratch(), rank_, peers_,
            parts_.local ? &parts_.local->coll() : nullptr, this, process.coll_table()),
      children_(is_inter() ? 1 : 0) {
  if (!parts_.info) parts_.info = std::make_shared<Info>();
}

Communicator::~Communicator() {
  if (consensuses_.load(std::memory_order_relaxed) > 0)
    process_->consensuses().close(scope_of(*this));
}

namespace {

/// Return what the collectives of a communicator use, from which the table of algorithms selects.
const char* collectives_text(const coll::Comm& comm) {
  if (comm.sharing() != coll::MemorySharing::nothing)
    return "shared memory, or messages within the node";
  return comm.nodes() != nullptr ? "messages, first within each node" : "messages";
}

}  // namespace

std::shared_ptr<Communicator> Communicator::make(Process& process, Parts parts) {
  auto communicator = std::make_shared<Communicator>(process, std::move(parts));
  communicator->session()->register_object(communicator);
  process.log().write_if_wanted(base::LogLevel::debug, [&] {
    return "created " + communicator->description_with_origin() + " in VCI " +
           std::to_string(communicator->vci()) + "; collectives over " +
           collectives_text(communicator->coll());
  });
  return communicator;
}

ErrorHandlerPtr Communicator::error_handler() const {
  std::lock_guard guard(mutex_);
  return parts_.error_handler;
}

void Communicator::set_error_handler(ErrorHandlerPtr handler) {
  std::lock_guard guard(mutex_);
  parts_.error_handler = std::move(handler);
}

base::Status Communicator::adopt_hints(const InfoPtr& hints) {
  if (!hints) return {};
  for (std::string_view key : kHints)
    if (auto value = hints->get(key)) SHIM_TRY(parts_.info->set(key, *value));
  return {};
}

namespace {

coll::MemorySharing sharing_within_node(const base::Settings& settings) {
  return settings.single_copy ? coll::MemorySharing::memory : coll::MemorySharing::segment;
}

}  // namespace

/// Describe the processes that ranks refer to.
coll::MemorySharing Communicator::sharing() const {
  return process_->node().has_on_node(*parts_.context.members)
             ? sharing_within_node(process_->settings())
             : coll::MemorySharing::nothing;
}

/// Return the nodes of the launcher's node map, which all members have; this process's own routes
/// to the others may differ between members.
std::unique_ptr<const coll::Nodes> Communicator::nodes() const {
  const p2p::Members& members = *parts_.context.members;
  if (process_->uses_fabric_only()) return nullptr;
  for (int rank = 0; rank < members.size(); ++rank)
    if (members.at(rank).world != 0) return nullptr;  // nodes of other worlds are unknown
  const auto& map = process_->bootstrap().node_map();
  return coll::Nodes::of(
      members.size(), rank_, [&](int rank) { return map.node_of(members.at(rank).rank); },
      sharing_within_node(process_->settings()));
}

std::optional<node::ShmCollSegmentId> Communicator::allocate_coll_segment() const {
  return process_->node().coll_segments()->allocate(
      process_->node().slots_of(*parts_.context.members));
}

std::unique_ptr<node::ShmCollHandle> Communicator::open_coll_segment(
    node::ShmCollSegmentId segment_id) const {
  return process_->node().coll_segments()->open(segment_id,
                                                process_->node().slots_of(*parts_.context.members),
                                                rank_, process_->vcis().area(parts_.vci));
}

std::optional<base::ContextPath> Communicator::next_child_path() {
  if (!has_child_path()) return std::nullopt;  // do not count further
  return path().child(children_.fetch_add(1, std::memory_order_relaxed) + 1);
}

Comparison compare(const Communicator& a, const Communicator& b) {
  if (&a == &b) return Comparison::identical;
  if (a.is_inter() != b.is_inter()) return Comparison::unequal;
  Comparison groups = compare(*a.group(), *b.group());
  if (a.is_inter()) groups = std::max(groups, compare(*a.remote_group(), *b.remote_group()));
  return groups == Comparison::identical ? Comparison::congruent : groups;
}

}  // namespace shim::sessions
