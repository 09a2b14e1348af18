// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type (MPI-4.1 §7.4.2): by nodes, by hardware below them, by process sets. Each is a split whose color every member
// finds by itself.
#include <algorithm>
#include <array>
#include <functional>

#include "shim/bootstrap/hardware.hpp"
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

constexpr std::string_view kSharedMemory = "mpi_shared_memory", kHwloc = "hwloc://";
/// Kinds of hardware that one machine may have; hwloc knows less than 20 types.
constexpr std::size_t kMostKinds = 32;
/// Instances of one kind on one node.
constexpr int kMostInstances = 4096;

int own_node(Process& process) { return static_cast<int>(process.bootstrap().node_map().node_of(process.self().rank)); }

/// Without hwloc there is no hardware to be bound to.
std::vector<bootstrap::HardwareResource> own_hardware(Process& process) {
  auto found = process.hardware();
  return found ? *std::move(found) : std::vector<bootstrap::HardwareResource>();
}

/// kUndefined where the process is bound to no instance of this kind.
int color_of(Process& process, const std::string& kind) {
  if (kind == kSharedMemory) return own_node(process);
  if (!kind.starts_with(kHwloc)) return kUndefined;
  for (const auto& resource : own_hardware(process))
    if (resource.type == kind.substr(kHwloc.size()) && resource.is_restricted && resource.instance < kMostInstances)
      return own_node(process) * kMostInstances + resource.instance;
  return kUndefined;
}

/// The instances that a process is bound to, the node first; -1 where it is bound to none.
using Places = std::array<int, kMostKinds>;

base::Result<std::vector<Places>> exchange_places(Communicator& parent, const Places& own) {
  const types::Type* number = types::find_predefined("MPI_INT");
  std::vector<Places> all(static_cast<std::size_t>(parent.size()));
  SHIM_TRY(coll::run(parent.coll(), coll::allgather(parent.coll(), {own.data(), own.size(), number}, {all.data(), own.size(), number})));
  return all;
}

/// Names need no order among their colors, only to be told apart.
int color_of_name(const std::string& name) { return static_cast<int>(std::hash<std::string>()(name) & 0x7fffffff); }

}  // namespace

base::Result<CommunicatorPtr> split_by_node(const CommunicatorPtr& parent, int key) {
  return split(parent, own_node(parent->process()), key);
}

base::Result<CommunicatorPtr> split_by_hardware(const CommunicatorPtr& parent, const std::string& kind, int key) {
  return split(parent, color_of(parent->process(), kind), key);
}

base::Result<Level> split_at_next_level(const CommunicatorPtr& parent, int key) {
  const auto hardware = own_hardware(parent->process());
  const std::size_t kinds = std::min(hardware.size(), kMostKinds - 1);
  Places own;
  own.fill(-1);
  own[0] = own_node(parent->process());
  for (std::size_t i = 0; i < kinds; ++i) own[i + 1] = hardware[i].instance;
  SHIM_TRY_ASSIGN(const std::vector<Places> all, exchange_places(*parent, own));
  // every part must be smaller than the whole, so that repeated splits come to an end
  for (std::size_t level = 0; level < kMostKinds; ++level) {
    const int first = all.front()[level];
    if (std::ranges::all_of(all, [&](const Places& places) { return places[level] == first; })) continue;
    const bool takes_part = own[level] >= 0;
    SHIM_TRY_ASSIGN(CommunicatorPtr part, split(parent, takes_part ? own[level] : kUndefined, key));
    if (!takes_part) return Level{};  // it may not have such hardware at all, nor know its name
    return Level{level == 0 ? std::string(kSharedMemory) : std::string(kHwloc) + hardware[level - 1].type, std::move(part)};
  }
  return Level{};
}

base::Result<CommunicatorPtr> split_by_pset(const CommunicatorPtr& parent, const std::string& name, int key) {
  Process& process = parent->process();
  auto members = process.sets().find(name);
  const bool is_in_it = members && (*members)->rank_of(process.self()) != kUndefined;
  return split(parent, is_in_it ? color_of_name(name) : kUndefined, key);
}

}  // namespace shim::sessions
