/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of compare.h in a program that knows sessions and nothing else. */
#include "compare_in_session.h"

int main(int argc, char **argv) { return compare_rows_in_session(argc, argv); }
