# SPDX-License-Identifier: BSD-3-Clause
"""What the kinds of parameters mean to the generator."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Handle:
    c_type: str
    name: str  # in abi::Kind
    has_twin: bool = False  # an object of ours of this kind can stand in for itself in the library below
    test: str = ""  # what tells those that must not go down, where that is more than being ours
    is_number: bool = False  # an integer of its own kind, which abi::Kind does not know


HANDLES = {
    "COMMUNICATOR": Handle("MPI_Comm", "comm"),
    "GROUP": Handle("MPI_Group", "group"),
    "REQUEST": Handle("MPI_Request", "request"),
    "MESSAGE": Handle("MPI_Message", "message"),
    "SESSION": Handle("MPI_Session", "session"),
    "WINDOW": Handle("MPI_Win", "win"),
    "FILE": Handle("MPI_File", "file"),
    "INFO": Handle("MPI_Info", "info", has_twin=True),
    "ERRHANDLER": Handle("MPI_Errhandler", "errhandler", has_twin=True, test="ours_or_abort"),
    "DATATYPE": Handle("MPI_Datatype", "datatype", has_twin=True),
    "OPERATION": Handle("MPI_Op", "op", has_twin=True),
    "KEYVAL": Handle("int", "keyval", has_twin=True, test="is_key_of_ours", is_number=True),
}

# The address of any kind of handle, as tools give it.
TOOL_OBJECT = "TOOL_MPI_OBJ"

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
