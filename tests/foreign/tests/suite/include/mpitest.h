/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the interface of MPICH's test utilities that the programs of this miniature suite use. */
#pragma once
#include "mpitestconf.h"
#include <mpi.h>
#include "mtest_mpix.h"
#ifndef HAVE_STDLIB_H
#error "the probes have found no stdlib.h"
#endif

void MTest_Init(int *argc, char ***argv);
void MTest_Finalize(int errors);
