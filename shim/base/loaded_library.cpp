// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/loaded_library.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace shim::base {

std::string file_of(const void* function) {
  Dl_info found{};
  if (::dladdr(function, &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code error;
  const auto followed = std::filesystem::canonical(found.dli_fname, error);
  return error ? std::string(found.dli_fname) : followed.string();
}

}  // namespace shim::base
