// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/hardware.hpp"

#include <dlfcn.h>
#include <hwloc.h>

#include <memory>

namespace shim::bootstrap {
namespace {

using base::Error;
using base::ErrorClass;

/// hwloc's functions, found at run time: a process that asks nothing about the hardware never loads the library.
struct Library {
  decltype(&hwloc_topology_init) init = nullptr;
  decltype(&hwloc_topology_load) load = nullptr;
  decltype(&hwloc_topology_destroy) destroy = nullptr;
  decltype(&hwloc_topology_get_depth) depth = nullptr;
  decltype(&hwloc_get_depth_type) depth_type = nullptr;
  decltype(&hwloc_get_nbobjs_by_depth) count = nullptr;
  decltype(&hwloc_get_obj_by_depth) object = nullptr;
  decltype(&hwloc_obj_type_string) type_name = nullptr;
  decltype(&hwloc_get_cpubind) get_cpubind = nullptr;
  decltype(&hwloc_bitmap_alloc) bitmap_alloc = nullptr;
  decltype(&hwloc_bitmap_free) bitmap_free = nullptr;
  decltype(&hwloc_bitmap_isincluded) is_included = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

base::Result<Library> load_library() {
  void* file = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (file == nullptr) return Error(ErrorClass::other, "hwloc cannot be loaded; install libhwloc15 on every node");
  Library found;
  const bool complete =
      find(file, "hwloc_topology_init", found.init) && find(file, "hwloc_topology_load", found.load) &&
      find(file, "hwloc_topology_destroy", found.destroy) && find(file, "hwloc_topology_get_depth", found.depth) &&
      find(file, "hwloc_get_depth_type", found.depth_type) && find(file, "hwloc_get_nbobjs_by_depth", found.count) &&
      find(file, "hwloc_get_obj_by_depth", found.object) && find(file, "hwloc_obj_type_string", found.type_name) &&
      find(file, "hwloc_get_cpubind", found.get_cpubind) && find(file, "hwloc_bitmap_alloc", found.bitmap_alloc) &&
      find(file, "hwloc_bitmap_free", found.bitmap_free) && find(file, "hwloc_bitmap_isincluded", found.is_included);
  ::dlclose(file);  // RTLD_NODELETE keeps it
  if (!complete) return Error(ErrorClass::other, "libhwloc.so.15 lacks a function of hwloc 2");
  return found;
}

class Topology {
 public:
  explicit Topology(const Library& library)
      : library_(library), bound_(library.bitmap_alloc(), library.bitmap_free), topology_(nullptr, library.destroy) {}

  base::Status discover() {
    hwloc_topology_t made = nullptr;
    if (library_.init(&made) != 0) return Error(ErrorClass::no_mem, "hwloc has no memory for a topology");
    topology_.reset(made);
    if (library_.load(made) != 0 || library_.get_cpubind(made, bound_.get(), HWLOC_CPUBIND_PROCESS) != 0)
      return Error(ErrorClass::other, "hwloc cannot tell the hardware of this machine");
    return {};
  }

  std::vector<HardwareResource> resources() const {
    std::vector<HardwareResource> all;
    for (int depth = 0; depth < library_.depth(topology_.get()); ++depth) all.push_back(at(depth));
    all.push_back(at(HWLOC_TYPE_DEPTH_NUMANODE));  // has no place among the others
    return all;
  }

 private:
  HardwareResource at(int depth) const {
    HardwareResource found{.type = library_.type_name(library_.depth_type(topology_.get(), depth))};
    for (unsigned i = 0; i < library_.count(topology_.get(), depth) && !found.is_restricted; ++i) {
      if (library_.is_included(bound_.get(), library_.object(topology_.get(), depth, i)->cpuset) == 0) continue;
      found.is_restricted = true;
      found.instance = static_cast<int>(i);
    }
    return found;
  }

  const Library library_;
  std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> bound_;
  std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology_;
};

}  // namespace

base::Result<std::vector<HardwareResource>> hardware_resources() {
  SHIM_TRY_ASSIGN(const Library library, load_library());
  Topology topology(library);
  SHIM_TRY(topology.discover());
  return topology.resources();
}

}  // namespace shim::bootstrap
