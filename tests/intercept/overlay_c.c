/* SPDX-License-Identifier: BSD-3-Clause
   Tests the overlay in a C program: it must compile without warnings. overlay_cxx.cpp tests C++. */
#include "tests/intercept/overlay.h"
