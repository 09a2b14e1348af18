// SPDX-License-Identifier: BSD-3-Clause
// libfabric's few real symbols, found when first needed. Everything else of its interface is calls through its objects.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "shim/base/result.hpp"

namespace shim::transport {

class Library {
 public:
  /// Loads libfabric. It is never linked, because a program that is does its start-up work even where nobody uses it; and it
  /// is never unloaded, because its start-up would be paid again, and its own threads and exit handlers do not expect it.
  static base::Result<Library> load();

  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;

  /// "doing this: libfabric's words (number)". Takes a code with either sign, as fi_errno(3) has both. FI_ENOMEM gives no_mem,
  /// the rest other.
  base::Error error(int code, const std::string& doing) const;

 private:
  Library() = default;
};

/// A libfabric description of something, with its list.
using InfoList = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

}  // namespace shim::transport
