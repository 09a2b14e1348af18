// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>

#include "shim/base/result.hpp"

namespace shim::transport {

/// A random number that is part of an address: who does not know it is a stranger. Errors: other.
inline base::Result<std::uint64_t> random_cookie() {
  std::uint64_t cookie = 0;
  if (::getrandom(&cookie, sizeof cookie, 0) != static_cast<ssize_t>(sizeof cookie))
    return base::system_error(errno, "getrandom for the secret of this process's address");
  return cookie;
}

}  // namespace shim::transport
