/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of MPICH's test utilities that this miniature suite uses. */
#pragma once
#include <mpi.h>
#include "mpitestconf.h"
#include "mtest_mpix.h"
#ifndef HAVE_STDLIB_H
#error "the probes have not found stdlib.h"
#endif

void MTest_Init(int* argc, char*** argv);
void MTest_Finalize(int errors);
