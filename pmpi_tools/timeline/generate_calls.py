#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generates the functions of the recorder, one for each call of calls.txt.

    generate_calls.py FOLDER_OF_THE_API_DESCRIPTION CALLS_TXT OUTPUT_CPP

The prototypes are from the description of Intersession's entry points. Standard library only.
"""
import dataclasses
import fnmatch
import pathlib
import sys


class TableError(Exception):
    """An invalid row of calls.txt."""


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A recorded call: its function, its kind, and the recorded text parameter ("": none)."""

    function: object
    kind: str
    text: str


def rows_of(table: str) -> list[tuple[str, str, str]]:
    """Return (pattern, kind, parameter) of each row."""
    rows = []
    for number, line in enumerate(table.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not fields[0] or not fields[1]:
            raise TableError(f"calls.txt, line {number}: needs pattern, kind and parameter")
        rows.append(tuple(fields))
    return rows


def select(functions: list, table: str) -> list[Recorded]:
    """Return the calls of the table, in the order of the description."""
    rows = rows_of(table)
    chosen, used = [], set()
    for function in functions:
        row = next((row for row in rows if fnmatch.fnmatchcase(function.mpi_name, row[0])), None)
        if row is None or function.returns != "int":
            continue
        used.add(row)
        texts = [p.name for p in function.parameters if p.declaration.startswith("const char *")]
        if row[2] and row[2] not in texts:
            raise TableError(f"calls.txt: {function.mpi_name} has no text {row[2]}")
        chosen.append(Recorded(function, row[1], row[2]))
    for row in rows:
        if row not in used:
            raise TableError(f"calls.txt: {row[0]} is no function that returns an error code")
    return chosen


def body_of(call: Recorded) -> list[str]:
    function = call.function
    text = call.text or "nullptr"
    types = ", ".join(p.c_type for p in function.parameters)
    name = function.mpi_name
    return [
        f"int {function.mpi_name}({function.signature_parameters}) {{",
        f'  static const timeline::NextLayer<int({types})> next_layer("P{name}");',
        f'  timeline::Call call("{function.mpi_name}", "{call.kind}", {text});',
        f"  return call.ended(next_layer.function({function.arguments}));",
        "}",
    ]


def source(calls: list[Recorded]) -> str:
    # REUSE-IgnoreStart
    lines = [
        "// SPDX-License-Identifier: BSD-3-Clause",
        # REUSE-IgnoreEnd
        "// Generated from pmpi_tools/timeline/calls.txt.",
        "#include <mpi.h>",
        "",
        '#include "pmpi_tools/timeline/recorder/next_layer.hpp"',
        '#include "pmpi_tools/timeline/recorder/record.hpp"',
        "",
        "#pragma GCC visibility push(default)",
        'extern "C" {',
        "",
    ]
    for call in calls:
        lines += body_of(call) + [""]
    return "\n".join(lines + ['}  // extern "C"', "#pragma GCC visibility pop", ""])


def main(words: list[str]) -> int:
    api, table, output = (pathlib.Path(word) for word in words)
    sys.path.insert(0, str(api))
    import description  # pylint: disable=import-outside-toplevel

    functions, _ = description.parse((api / "mpi_api.txt").read_text(encoding="utf-8"))
    try:
        output.write_text(
            source(select(functions, table.read_text(encoding="utf-8"))), encoding="utf-8"
        )
    except TableError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
