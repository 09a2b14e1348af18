// SPDX-License-Identifier: BSD-3-Clause
// Task: a collective in progress, a coroutine that suspends where it waits for messages.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "shim/base/result.hpp"

namespace shim::coll {

/// Owns a coroutine of type base::Status. Starts suspended. Tasks may await tasks.
class Task;

}  // namespace shim::coll
