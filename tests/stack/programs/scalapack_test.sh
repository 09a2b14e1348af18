#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a test program of ScaLAPACK in its folder, which has its input files.
# Usage: scalapack_test.sh FOLDER PROGRAM
cd "$1" && OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 exec "./$2"
