// SPDX-License-Identifier: BSD-3-Clause
// Invalidates objects of Intersession in children of fork(). A child cannot use its parent's shared
// memory and connections.
#pragma once

#include <string>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// Make sure that a child of the next fork() finds no communicator, session, request or message of
/// its parent. Call before the first of them is made; repeated calls have no effect. Costs nothing
/// in calls of the parent.
void watch_forks();

/// True in a child, and in its descendants, of a parent that had called watch_forks().
bool is_forked_child() noexcept;

/// Return the error of a call in a child that needs an object of the parent; `object` names it.
base::Error forked_error(base::ErrorClass error_class, const std::string& object);

}  // namespace shim::intercept
