// SPDX-License-Identifier: BSD-3-Clause
// Makes cookies: random numbers that authenticate the peers that know them.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>

#include "shim/base/result.hpp"

namespace shim::base {

/// Return a random number that is part of an address: a peer that does not know it is not
/// authenticated. Errors: other.
inline base::Result<std::uint64_t> random_cookie() {
  std::uint64_t cookie = 0;
  if (::getrandom(&cookie, sizeof cookie, 0) != static_cast<ssize_t>(sizeof cookie))
    return base::system_error(errno,
                              "cannot create the secret of this process's address (getrandom)");
  return cookie;
}

}  // namespace shim::base
