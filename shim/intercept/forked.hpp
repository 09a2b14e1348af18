// SPDX-License-Identifier: BSD-3-Clause
// A child made by fork() cannot use its parent's sessions: shared memory and connections are the parent's.
#pragma once

#include <string>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// From the next fork() on, the child finds no communicator, session, request or message of its parent. Called before
/// the first of them is made; repeated calls have no effect. Costs the parent's calls nothing.
void watch_forks();

/// True in a child, and in its children, whose parent had called watch_forks().
bool is_forked_child() noexcept;

/// Return the error of a call in a child that needs what only the parent has; `object` names that.
base::Error forked_error(base::ErrorClass error_class, const std::string& object);

}  // namespace shim::intercept
