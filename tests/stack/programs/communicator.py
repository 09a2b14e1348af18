# SPDX-License-Identifier: BSD-3-Clause
"""The functions of communicator.h for programs in Python.

STACK_HELPER is the path of communicator.c, compiled as a shared library.
"""
import ctypes
import os
import sys

import mpi4py

# communicator.c begins and ends MPI.
mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402

_library = ctypes.CDLL(os.environ["STACK_HELPER"])
_library.stack_check_value.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.c_double]


def begin() -> MPI.Comm:
    """Return the communicator of the mode."""
    return MPI.Comm.f2py(_library.stack_begin_fortran())


def check(what: str, error: float, bound: float) -> None:
    """Check that no process has an error above the bound; collective."""
    _library.stack_check_value(what.encode(), float(error), bound)


def end() -> None:
    """End MPI and exit the program."""
    sys.stdout.flush()
    sys.exit(_library.stack_end_program())
