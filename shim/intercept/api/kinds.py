# SPDX-License-Identifier: BSD-3-Clause
"""What the kinds of parameters mean to the generator."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Handle:
    c_type: str
    has_twin: bool = False  # an object of ours of this kind can stand in for itself in the library below


HANDLES = {
    "COMMUNICATOR": Handle("MPI_Comm"),
    "GROUP": Handle("MPI_Group"),
    "REQUEST": Handle("MPI_Request"),
    "MESSAGE": Handle("MPI_Message"),
    "SESSION": Handle("MPI_Session"),
    "WINDOW": Handle("MPI_Win"),
    "FILE": Handle("MPI_File"),
    "INFO": Handle("MPI_Info", has_twin=True),
    "ERRHANDLER": Handle("MPI_Errhandler", has_twin=True),
    "DATATYPE": Handle("MPI_Datatype", has_twin=True),
    "OPERATION": Handle("MPI_Op", has_twin=True),
}

# Whose error handler an error goes to, the strongest first (MPI-4.1 §9.3; a handler given in the call where there is no object
# yet). Requests, messages and groups lead to the communicator or session that they came from.
SUBJECTS = ("COMMUNICATOR", "WINDOW", "FILE", "SESSION", "ERRHANDLER", "REQUEST", "MESSAGE", "GROUP")

# Which type takes the place of int or MPI_Aint in the large-count form (MPI-4.1 §19.2, table of polymorphic kinds).
_LARGE_AINT = ("POLYDISPLACEMENT", "POLYRMA_DISPLACEMENT")


def large_declaration(declaration, kind):
    if not kind.startswith("POLY"):
        return declaration
    if kind == "POLYFUNCTION":
        return re.sub(r"\b(MPI_\w+_function)\b", r"\1_c", declaration)
    if kind in _LARGE_AINT:
        return re.sub(r"\bint\b", "MPI_Aint", declaration)
    return re.sub(r"\b(int|MPI_Aint)\b", "MPI_Count", declaration)
