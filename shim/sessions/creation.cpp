// SPDX-License-Identifier: BSD-3-Clause
// A member's way through a creation: join, send the contribution, wait; as a node root, collect and pass on.
#include "shim/sessions/creation.hpp"

#include <algorithm>

#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

std::shared_ptr<const p2p::ContextBases> bases_of(const Entries& entries) {
  auto bases = std::make_shared<p2p::ContextBases>();
  bases->common = entries.begin()->second.context_base;
  const bool all_equal = std::all_of(entries.begin(), entries.end(),
                                     [&](const auto& e) { return e.second.context_base == bases->common; });
  if (!all_equal)
    for (const auto& [rank, entry] : entries) bases->by_rank.push_back(entry.context_base);
  return bases;
}

}  // namespace

Creations::Creations(Process& process) : process_(process) {
  process_.engine().set_control_handler(
      [this](base::ProcessId from, std::span<const std::byte> bytes) { on_control(from, bytes); });
}

Creations::~Creations() { process_.engine().set_control_handler({}); }

base::Result<Entry> Creations::own_entry(const CreationRoles& roles) {
  Entry entry{process_.take_context_base(), {}};
  if (roles.spans_nodes) {
    SHIM_TRY_ASSIGN(transport::Transport * fabric, process_.fabric());
    entry.address = fabric->address();
  }
  return entry;
}

base::Result<CreationPtr> Creations::join(const Call& call) {
  CreationKey key{call.scope, call.tag, {call.group->ranges().begin(), call.group->ranges().end()}};
  const auto roles =
      roles_in(*call.group, process_.bootstrap().node_map(), process_.self(), process_.everything_over_fabric());
  SHIM_TRY_ASSIGN(Entry entry, own_entry(roles));  // may open the fabric: not under the mutex

  std::lock_guard guard(mutex_);
  if (!first_thread_) first_thread_ = std::this_thread::get_id();
  if (*first_thread_ != std::this_thread::get_id()) several_threads_ = true;

  CreationPtr creation = find_or_begin(key);
  if (creation->failure && creation->untold.erase(roles.self) > 0) {
    auto failure = creation->failure->clone();
    if (creation->untold.empty()) forget(*creation);
    return failure;
  }
  if (creation->failure) {  // an older attempt of which we know; this is a new one
    forget(*creation);
    creation = find_or_begin(key);
  }
  if (creation->joined) {
    return base::Error(base::ErrorClass::arg, "another thread of this process is creating a communicator with the same "
                                              "group and the same tag \"" + call.tag + "\" (MPI-4.1 §7.4.2)");
  }
  creation->joined = true;
  creation->started = base::now_ns();
  creation->entries[roles.self] = std::move(entry);
  if (!roles.is_root()) {
    send(*creation, roles.root, Contribution{creation->key, {*creation->entries.find(roles.self)}});
  } else if (roles.spans_nodes) {
    std::vector<std::uint32_t> roots;
    for (int root : roles.roots) roots.push_back(creation->group->at(root).rank);
    std::optional<std::uint32_t> parent;
    if (roles.parent) parent = creation->group->at(*roles.parent).rank;
    creation->search = std::make_unique<AddressSearch>(process_, std::move(roots), parent);
  }
  return creation;
}

bool Creations::subtree_is_complete(const Creation& creation) const {
  return creation.joined && creation.contributed.size() == creation.roles.local.size() + creation.roles.children.size();
}

bool Creations::advance(const CreationPtr& creation) {
  std::lock_guard guard(mutex_);
  if (creation->is_over()) return true;
  if (creation->search) {
    auto found = creation->search->poll();
    if (!found) {
      fail(creation, found.error(), {creation->roles.self});
      return true;
    }
    if (*found) creation->search.reset();
  }
  if (creation->roles.is_root() && !creation->search && !creation->sent_up && subtree_is_complete(*creation)) {
    creation->sent_up = true;
    if (creation->roles.is_leader()) {
      const Entries all = creation->entries;
      finish(creation, process_.make_extended_id(), all);
    } else {
      send(*creation, *creation->roles.parent, Contribution{creation->key, creation->entries});
    }
  }
  if (!creation->is_over()) look_after(creation);
  return creation->is_over();
}

base::Result<Agreement> Creations::agree(const Call& call) {
  if (call.group->size() == 1) {
    auto bases = std::make_shared<p2p::ContextBases>();
    bases->common = process_.take_context_base();
    return Agreement{process_.make_extended_id(), bases, bases->common};
  }
  SHIM_TRY_ASSIGN(CreationPtr creation, join(call));
  SHIM_TRY(process_.engine().wait_until([&] { return advance(creation); }));
  std::lock_guard guard(mutex_);
  if (creation->failure) return creation->failure->clone();
  return *creation->agreement;
}

void Creations::finish(const CreationPtr& creation, base::ExtendedId id, const Entries& entries) {
  const Outcome outcome{creation->key, id, entries};
  for (const auto& [rank, entry] : entries)
    if (!entry.address.empty()) process_.learn_address(creation->group->at(rank), entry.address);
  for (int child : creation->roles.children) send(*creation, child, outcome);
  for (int member : creation->roles.local) send(*creation, member, outcome);
  creation->agreement = Agreement{id, bases_of(entries), entries.at(creation->roles.self).context_base};
  forget(*creation);
}

}  // namespace shim::sessions
