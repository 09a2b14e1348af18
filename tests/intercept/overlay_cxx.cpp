// SPDX-License-Identifier: BSD-3-Clause
// The overlay as a C++ program sees it: compiling it without a warning is the test.
#include "tests/intercept/overlay.h"
