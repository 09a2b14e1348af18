// SPDX-License-Identifier: BSD-3-Clause
// What PMIx's status codes mean to us: the only place that looks at them.
#pragma once

#include <pmix_common.h>

#include <string_view>

#include "shim/base/error.hpp"

namespace shim::bootstrap::pmix {

enum class Meaning {
  accepted,   ///< done, or for a non-blocking call: the callback will come
  completed,  ///< done at once: no callback will come
  not_there,  ///< nobody has published this yet, or the server gave up waiting for it: ask again
  refused,    ///< the server does not offer this
  failed,
};
Meaning meaning_of(pmix_status_t status);

/// An Error from a status that means failure. `what` says what was attempted, on whom; `name` is PMIx's name of the
/// status. Classes: no_mem, access, arg, unsupported_operation, name (not found), proc_aborted, other.
base::Error pmix_error(pmix_status_t status, std::string_view what, std::string_view name);

}  // namespace shim::bootstrap::pmix
