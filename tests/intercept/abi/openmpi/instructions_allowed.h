// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Number of instructions of a forwarded call. Without handles: load the table, and jump. With
/// handles: combine all of them, and test the sign of the result.
constexpr int instructions_allowed(int handles) { return handles == 0 ? 2 : 3 + handles; }
