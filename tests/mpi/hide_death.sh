#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hide_death.sh PROGRAM ARGUMENTS...: runs a program and hides its exit status from the launcher.
# Open MPI's mpirun has --enable-recovery; Hydra ends all processes of a node with the first one
# that a signal kills, and reports each end with SIGUSR1.
trap '' USR1
"$@"
exit 0
