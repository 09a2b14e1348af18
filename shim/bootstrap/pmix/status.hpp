// SPDX-License-Identifier: BSD-3-Clause
// Maps PMIx's status codes; the only place that interprets them.
#pragma once

#include <pmix_common.h>

#include <string_view>

#include "shim/base/error.hpp"

namespace shim::bootstrap::pmix {

enum class Meaning {
  accepted,   ///< success; a non-blocking call has started and will call the callback
  completed,  ///< success of a non-blocking call at once, without callback
  not_there,  ///< not published yet, or the server timed out: retry
  refused,    ///< not supported by the server
  failed,
};
Meaning meaning_of(pmix_status_t status);

/// Return an Error for a failure status. `what` names the action and its object; `name` is PMIx's
/// name of the status. Classes: no_mem, access, arg, unsupported_operation, name (not found),
/// proc_aborted, other.
base::Error pmix_error(pmix_status_t status, std::string_view what, std::string_view name);

}  // namespace shim::bootstrap::pmix
