// SPDX-License-Identifier: BSD-3-Clause
// Library holds libfabric's few exported symbols, loaded at first use.
//
// All else of its interface are calls through its objects.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "shim/base/result.hpp"

namespace shim::transport {

class OfiLibrary {
 public:
  /// Load libfabric. It is not linked, because a linked program runs its start-up even if libfabric
  /// is unused. It is never unloaded, because its start-up would run again, and its threads and
  /// exit handlers do not support that.
  static base::Result<OfiLibrary> load();

  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;

  /// Return "doing this: libfabric's text (number)". Accepts codes of either sign, as fi_errno(3)
  /// has both. FI_ENOMEM gives no_mem, the rest other.
  base::Error error(int code, const std::string& doing) const;

 private:
  OfiLibrary() = default;
};

/// A libfabric description with its list.
using InfoList = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

}  // namespace shim::transport
