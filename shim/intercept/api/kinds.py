# SPDX-License-Identifier: BSD-3-Clause
"""Defines the kinds of parameters that the generator distinguishes."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Handle:
    c_type: str
    name: str  # in abi::HandleKind
    has_native_handle: bool = False  # objects of ours of this kind can get a native handle
    test: str = ""  # predicate of abi for handles that must not be forwarded; empty: is_ours
    is_number: bool = False  # an integer without an abi::HandleKind


HANDLES = {
    "COMMUNICATOR": Handle("MPI_Comm", "comm"),
    "GROUP": Handle("MPI_Group", "group", has_native_handle=True),
    "REQUEST": Handle("MPI_Request", "request"),
    "MESSAGE": Handle("MPI_Message", "message"),
    "SESSION": Handle("MPI_Session", "session"),
    "WINDOW": Handle("MPI_Win", "win"),
    "FILE": Handle("MPI_File", "file"),
    "INFO": Handle("MPI_Info", "info", has_native_handle=True),
    "ERRHANDLER": Handle(
        "MPI_Errhandler", "errhandler", has_native_handle=True, test="ours_or_abort"
    ),
    "DATATYPE": Handle("MPI_Datatype", "datatype", has_native_handle=True),
    "OPERATION": Handle("MPI_Op", "op", has_native_handle=True),
    "KEYVAL": Handle(
        "int", "keyval", has_native_handle=True, test="is_key_of_ours", is_number=True
    ),
}

# Kind of a parameter in which tools pass the address of any kind of handle.
TOOL_OBJECT = "TOOL_MPI_OBJ"

# Kinds of objects whose error handler handles errors of a call, by descending priority (MPI-4.1
# §9.3; an error handler argument counts if there is no object yet). Requests, messages and groups
# refer to the communicator or session that they were made from.
SUBJECTS = (
    "COMMUNICATOR",
    "WINDOW",
    "FILE",
    "SESSION",
    "ERRHANDLER",
    "REQUEST",
    "MESSAGE",
    "GROUP",
)

# Kinds whose int becomes MPI_Aint in the large-count form; in other kinds int and MPI_Aint become
# MPI_Count (MPI-4.1 §19.2, table of polymorphic kinds).
_LARGE_AINT = ("POLYDISPLACEMENT", "POLYRMA_DISPLACEMENT")


def large_declaration(declaration, kind):
    if not kind.startswith("POLY"):
        return declaration
    if kind == "POLYFUNCTION":
        return re.sub(r"\b(MPI_\w+_function)\b", r"\1_c", declaration)
    if kind in _LARGE_AINT:
        return re.sub(r"\bint\b", "MPI_Aint", declaration)
    return re.sub(r"\b(int|MPI_Aint)\b", "MPI_Count", declaration)
