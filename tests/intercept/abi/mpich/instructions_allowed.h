// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Number of instructions of a forwarded call. Without handles: load the table, and jump. For each
/// handle: extract its bits, and compare them.
constexpr int instructions_allowed(int handles) { return handles == 0 ? 2 : 2 + 5 * handles; }
