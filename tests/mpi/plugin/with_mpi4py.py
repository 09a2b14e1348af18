# SPDX-License-Identifier: BSD-3-Clause
"""with_mpi4py.py LIBRARY: tests sessions in a process that uses mpi4py over the native MPI."""
import ctypes
import sys

try:
    from mpi4py import MPI
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

comm = MPI.COMM_WORLD
total = comm.allreduce(comm.rank)
gathered = comm.allgather({"rank": comm.rank})
session_failures = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL).plugin_run_session()
again = comm.bcast("still here" if comm.rank == 0 else None)
right = (
    total == comm.size * (comm.size - 1) // 2
    and [item["rank"] for item in gathered] == list(range(comm.size))
    and again == "still here"
)
if not right:
    print(f"wrong: {total} {gathered} {again}", file=sys.stderr)
sys.exit(session_failures or not right)
