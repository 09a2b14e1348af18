// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Nothing to compare: the table in force, and the jump. Else each handle has bits taken out, and these compared.
constexpr int instructions_allowed(int handles) { return handles == 0 ? 2 : 2 + 5 * handles; }
