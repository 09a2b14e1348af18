// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Nothing to compare: the table in force, and the jump. Else all handles are put together, and the sign of that decides.
constexpr int instructions_allowed(int handles) { return handles == 0 ? 2 : 3 + handles; }
