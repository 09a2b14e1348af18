#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate_calls.py <folder of the API description> <calls.txt> <output.cpp>: the functions of the tool, one for each call of calls.txt.

Prototypes come from the same description that Intersession's own entry points come from. Standard library only.
"""
import dataclasses
import fnmatch
import pathlib
import sys


class TableError(Exception):
    """A row of calls.txt that cannot be what was meant."""


@dataclasses.dataclass(frozen=True)
class Recorded:
    """One call: its function in the description, its kind, and the parameter whose text is recorded ("": none)."""
    function: object
    kind: str
    text: str


def rows_of(table: str) -> list[tuple[str, str, str]]:
    """(pattern, kind, parameter) of each row."""
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
    """The calls of the table, in the order of the description."""
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
    return [f"int {function.mpi_name}({function.signature_parameters}) {{",
            f'  static const timeline::Below<int({", ".join(p.c_type for p in function.parameters)})> below("P{function.mpi_name}");',
            f'  timeline::Call call("{function.mpi_name}", "{call.kind}", {text});',
            f"  return call.ended(below.function({function.arguments}));",
            "}"]


def source(calls: list[Recorded]) -> str:
    lines = ["// SPDX-License-Identifier: BSD-3-Clause", "// Generated from pmpi_tools/timeline/calls.txt.", "#include <mpi.h>", "",
             '#include "pmpi_tools/timeline/recorder/below.hpp"', '#include "pmpi_tools/timeline/recorder/record.hpp"', "",
             '#pragma GCC visibility push(default)', 'extern "C" {', ""]
    for call in calls:
        lines += body_of(call) + [""]
    return "\n".join(lines + ['}  // extern "C"', "#pragma GCC visibility pop", ""])


def main(words: list[str]) -> int:
    api, table, output = (pathlib.Path(word) for word in words)
    sys.path.insert(0, str(api))
    import description  # pylint: disable=import-outside-toplevel

    functions, _ = description.parse((api / "mpi_api.txt").read_text(encoding="utf-8"))
    try:
        output.write_text(source(select(functions, table.read_text(encoding="utf-8"))), encoding="utf-8")
    except TableError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
