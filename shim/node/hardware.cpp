// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/hardware.hpp"

#include <dlfcn.h>
#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "shim/base/descriptor.hpp"

namespace shim::node {
namespace {

using base::Error;
using base::ErrorClass;

/// hwloc's functions, resolved at run time: a process that does not query the hardware never loads
/// the library.
struct HwlocLibrary {
  decltype(&hwloc_topology_init) init = nullptr;
  decltype(&hwloc_topology_load) load = nullptr;
  decltype(&hwloc_topology_destroy) destroy = nullptr;
  decltype(&hwloc_topology_get_depth) depth = nullptr;
  decltype(&hwloc_get_depth_type) depth_type = nullptr;
  decltype(&hwloc_get_nbobjs_by_depth) count = nullptr;
  decltype(&hwloc_get_obj_by_depth) object = nullptr;
  decltype(&hwloc_obj_type_string) type_name = nullptr;
  decltype(&hwloc_topology_set_flags) set_flags = nullptr;
  decltype(&hwloc_bitmap_next) next = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

base::Result<HwlocLibrary> load_library() {
  void* file = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (file == nullptr)
    return Error(ErrorClass::other, std::string("hwloc cannot be loaded (") + ::dlerror() +
                                        "); install libhwloc15 on every node");
  HwlocLibrary found;
  const bool complete = find(file, "hwloc_topology_init", found.init) &&
                        find(file, "hwloc_topology_load", found.load) &&
                        find(file, "hwloc_topology_destroy", found.destroy) &&
                        find(file, "hwloc_topology_get_depth", found.depth) &&
                        find(file, "hwloc_get_depth_type", found.depth_type) &&
                        find(file, "hwloc_get_nbobjs_by_depth", found.count) &&
                        find(file, "hwloc_get_obj_by_depth", found.object) &&
                        find(file, "hwloc_obj_type_string", found.type_name) &&
                        find(file, "hwloc_topology_set_flags", found.set_flags) &&
                        find(file, "hwloc_bitmap_next", found.next);
  ::dlclose(file);  // RTLD_NODELETE keeps it loaded
  if (!complete)
    return Error(ErrorClass::other,
                 "libhwloc.so.15 lacks a function of hwloc 2; install libhwloc15");
  return found;
}

class HwlocTopology {
 public:
  explicit HwlocTopology(const HwlocLibrary& library)
      : library_(library), topology_(nullptr, library.destroy) {}

  base::Status discover() {
    hwloc_topology_t made = nullptr;
    if (library_.init(&made) != 0)
      return Error(ErrorClass::no_mem, "hwloc has no memory for the topology of this node");
    topology_.reset(made);
    if (!set_flags(made) || library_.load(made) != 0)
      return Error(ErrorClass::other, "hwloc cannot detect the hardware of this node");
    return {};
  }

  HardwareMap map() const {
    std::vector<HardwareMap::ResourceType> kinds;
    for (int depth = 0; depth < library_.depth(topology_.get()); ++depth)
      kinds.push_back(kind_at(depth));
    kinds.insert(kinds.begin() + depth_below_numa_nodes(), kind_at(HWLOC_TYPE_DEPTH_NUMANODE));
    return HardwareMap(std::move(kinds));
  }

 private:
  /// Include all cores of the machine, and do not migrate the calling thread: otherwise hwloc moves
  /// it over all cores to read their CPUID, although the system has files with this data. hwloc
  /// before 2.5 rejects the second flag, and its header does not have it.
  bool set_flags(hwloc_topology_t made) const {
    const unsigned long all = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
    // HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING
    constexpr unsigned long kDontChangeBinding = 1ul << 6;
    return library_.set_flags(made, all | kDontChangeBinding) == 0 ||
           library_.set_flags(made, all) == 0;
  }

  /// Return the depth of the first kind that is smaller than a NUMA node, or is the Group that
  /// hwloc makes for each NUMA node. NUMA nodes are not part of hwloc's main levels.
  int depth_below_numa_nodes() const {
    const auto count_at = [&](int depth) { return library_.count(topology_.get(), depth); };
    const auto nodes = count_at(HWLOC_TYPE_DEPTH_NUMANODE);
    int depth = 1;  // below the machine
    for (; depth < library_.depth(topology_.get()); ++depth) {
      const bool is_group = library_.depth_type(topology_.get(), depth) == HWLOC_OBJ_GROUP;
      if (count_at(depth) > nodes || (count_at(depth) == nodes && is_group)) break;
    }
    return depth;
  }

  /// Return the kind at a depth. A core in several instances, for example near two kinds of memory,
  /// counts as part of the first.
  HardwareMap::ResourceType kind_at(int depth) const {
    HardwareMap::ResourceType kind{
        .type = library_.type_name(library_.depth_type(topology_.get(), depth)), .instance_of = {}};
    const unsigned count = std::min<unsigned>(library_.count(topology_.get(), depth),
                                              HardwareMap::kNowhere);
    for (unsigned i = 0; i < count; ++i) {
      const hwloc_const_bitmap_t cores = library_.object(topology_.get(), depth, i)->cpuset;
      for (int core = library_.next(cores, -1);
           core >= 0 && core < static_cast<int>(HardwareMap::kMaxCores);
           core = library_.next(cores, core)) {
        const auto at = static_cast<std::size_t>(core);
        if (kind.instance_of.size() <= at) kind.instance_of.resize(at + 1, HardwareMap::kNowhere);
        if (kind.instance_of[at] == HardwareMap::kNowhere)
          kind.instance_of[at] = static_cast<std::uint16_t>(i);
      }
    }
    return kind;
  }

  const HwlocLibrary library_;
  std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology_;
};

}  // namespace

base::Result<HardwareMap> discover_hardware() {
  const base::StandardStreamsHeld streams;
  SHIM_TRY_ASSIGN(const HwlocLibrary library, load_library());
  HwlocTopology topology(library);
  SHIM_TRY(topology.discover());
  return topology.map();
}

}  // namespace shim::node
