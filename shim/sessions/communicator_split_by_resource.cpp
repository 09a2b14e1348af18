// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Comm_split_type (MPI-4.1 §7.4.2): by node, by hardware below it, by process set.
// Each is a split whose color every member computes locally.
#include <algorithm>
#include <array>
#include <functional>

#include "shim/node/hardware.hpp"
#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/pset_names.hpp"

namespace shim::sessions {
namespace {

constexpr std::string_view kSharedMemory = "mpi_shared_memory", kHwloc = "hwloc://";
/// At most 32 kinds of hardware on one machine; hwloc has fewer than 20 types.
constexpr std::size_t kMaxKinds = 32;

int own_node(Process& process) {
  return static_cast<int>(process.bootstrap().node_map().node_of(process.self().rank));
}

/// Return the hardware this process is bound to; none without hwloc.
std::vector<node::HardwareResource> own_hardware(Process& process) {
  auto found = process.node().own_hardware();
  return found ? *std::move(found) : std::vector<node::HardwareResource>();
}

/// Return a color that no caller of split() can pass. Processes with one text get one color; two
/// texts get one with a probability of 2^-62. The order of colors does not matter.
std::int64_t color_of_text(std::string_view text) {
  constexpr std::int64_t kFirst = std::int64_t{1} << 62;
  const auto hash = static_cast<std::int64_t>(std::hash<std::string_view>()(text) & (kFirst - 1));
  return kFirst + hash;
}

/// kUndefined if the process is bound to no instance of this kind.
std::int64_t color_of_hardware(Process& process, const std::string& kind) {
  const std::string on_node = kind + " " + std::to_string(own_node(process));
  if (kind == kSharedMemory) return color_of_text(on_node);
  if (!kind.starts_with(kHwloc)) return kUndefined;
  for (const auto& resource : own_hardware(process))
    if (resource.type == kind.substr(kHwloc.size()) && resource.is_restricted)
      return color_of_text(on_node + " " + std::to_string(resource.instance));
  return kUndefined;
}

/// Sets with one name may differ, for example mpi://SELF of two processes, and a name may have
/// several spellings.
std::int64_t color_of_set(const std::string& name, const Group& members) {
  std::string text = "set " + canonical_pset_name(name);
  for (const ProcessRange& range : members.ranges())
    for (const std::int64_t number : {std::int64_t{range.world}, std::int64_t{range.start},
                                      std::int64_t{range.count}, std::int64_t{range.stride}})
      text += " " + std::to_string(number);
  return color_of_text(text);
}

/// Instances that a process is bound to, the node first; -1 if it is bound to none.
using Instances = std::array<int, kMaxKinds>;

base::Result<std::vector<Instances>> exchange_instances(Communicator& parent,
                                                        const Instances& own) {
  const types::Type* number = types::find_predefined("MPI_INT");
  std::vector<Instances> all(static_cast<std::size_t>(parent.size()));
  SHIM_TRY(coll::run(parent.coll(), coll::allgather(parent.coll(), {own.data(), own.size(), number},
                                                    {all.data(), own.size(), number})));
  return all;
}

}  // namespace

base::Result<CommunicatorPtr> split_by_node(const CommunicatorPtr& parent, int key) {
  return split(parent, own_node(parent->process()), key);
}

base::Result<CommunicatorPtr> split_by_hardware(const CommunicatorPtr& parent,
                                                const std::string& kind, int key) {
  return split_by_color(parent, color_of_hardware(parent->process(), kind), key);
}

base::Result<HardwareLevel> split_at_next_level(const CommunicatorPtr& parent, int key) {
  const auto hardware = own_hardware(parent->process());
  const std::size_t kinds = std::min(hardware.size(), kMaxKinds - 1);
  Instances own;
  own.fill(-1);
  own[0] = own_node(parent->process());
  for (std::size_t i = 0; i < kinds; ++i) own[i + 1] = hardware[i].instance;
  SHIM_TRY_ASSIGN(const std::vector<Instances> all, exchange_instances(*parent, own));
  // skip levels at which all members have one instance: each part must be smaller than the parent,
  // so that repeated splits end
  for (std::size_t level = 0; level < kMaxKinds; ++level) {
    const int first = all.front()[level];
    if (std::ranges::all_of(all,
                            [&](const Instances& instances) { return instances[level] == first; }))
      continue;
    const bool takes_part = own[level] >= 0;
    SHIM_TRY_ASSIGN(CommunicatorPtr part, split(parent, takes_part ? own[level] : kUndefined, key));
    // this process may lack hardware of this kind, so `hardware` may not have its name
    if (!takes_part) return HardwareLevel{};
    return HardwareLevel{
        level == 0 ? std::string(kSharedMemory) : std::string(kHwloc) + hardware[level - 1].type,
        std::move(part)};
  }
  return HardwareLevel{};
}

base::Result<CommunicatorPtr> split_by_pset(const CommunicatorPtr& parent, const std::string& name,
                                            int key) {
  Process& process = parent->process();
  auto members = process.sets().find(name);
  const bool is_in_it = members && (*members)->rank_of(process.self()) != kUndefined;
  return split_by_color(parent, is_in_it ? color_of_set(name, **members) : kUndefined, key);
}

}  // namespace shim::sessions
