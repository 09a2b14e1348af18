/* SPDX-License-Identifier: BSD-3-Clause
   The overlay as a C program sees it: compiling it without a warning is the test. overlay_cxx.cpp is the same for C++. */
#include "tests/intercept/overlay.h"
