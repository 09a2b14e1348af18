/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of compare.h in a program that uses sessions alone. */
#include "bench/compare/compare_in_session.h"

int main(int argc, char** argv) { return compare_rows_in_session(argc, argv); }
