#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""older_header.py <folder of mpi.h> <overlay.txt> <output folder>: writes an mpi.h of MPI 3.1.

Removes from the installed mpi.h all names that the standard has had since version 4.0, all names in
the "until" blocks of the overlay's table, and all declarations that need one of these names; and
sets MPI_VERSION to 3. Used by a test, because no such library is installed.
"""
import pathlib
import re
import sys

_TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(_TOP / "shim" / "intercept" / "api"))
import description  # noqa: E402
import emit_overlay  # noqa: E402

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def later_names(overlay: str) -> set[str]:
    """Return functions, types, constants and enumerators that the older header lacks."""
    functions, _ = description.parse(
        (_TOP / "shim/intercept/api/mpi_api.txt").read_text(encoding="utf-8")
    )
    names = {
        prefix + f.name
        for f in functions
        if f.since >= "4.0"
        for prefix in ("MPI_", "PMPI_", "QMPI_")
    }
    in_block = False
    for word, name, value in emit_overlay.parse_rows(overlay):
        in_block = in_block or word == "until"
        if in_block and word != "until":
            names.add(name)
            names.update(item.split()[0] for item in value.split(", ") if word == "enum")
    return names


def whole(folder: pathlib.Path, name: str, inside: set[str]) -> str:
    """Return the header with its folder's headers included once, without comments and splices."""
    if name in inside:
        return ""
    inside.add(name)
    text = (folder / name).read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).replace("\\\n", " ")
    return re.sub(
        r'^\s*#\s*include\s+["<](mpi\w*\.h)[">]',
        lambda found: whole(folder, found[1], inside),
        text,
        flags=re.MULTILINE,
    )


def pieces(text: str) -> list[str]:
    """Return directives, braces of extern "C", and statements with all their lines."""
    found, statement = [], ""
    for line in text.splitlines():
        stripped = line.strip()
        if not statement and (stripped.startswith("#") or stripped in ("}", "", 'extern "C" {')):
            found.append(line)
            continue
        statement += line + "\n"
        if stripped.endswith(";") and statement.count("{") == statement.count("}"):
            found.append(statement)
            statement = ""
    return [*found, statement]


def is_later(piece: str, later: set[str]) -> bool:
    if piece.lstrip().startswith("#"):
        macro = re.match(r"\s*#\s*define\s+(\w+)", piece)
        return macro is not None and macro[1] in later
    return not later.isdisjoint(_IDENTIFIER.findall(piece))


def main(include: str, overlay: str, output: str) -> None:
    later = later_names(pathlib.Path(overlay).read_text(encoding="utf-8"))
    text = "\n".join(
        piece
        for piece in pieces(whole(pathlib.Path(include), "mpi.h", set()))
        if not is_later(piece, later)
    )
    text = re.sub(r"(#define MPI_VERSION +)\d+", r"\g<1>3", text)
    text = re.sub(r"(#define MPI_SUBVERSION +)\d+", r"\g<1>1", text)
    pathlib.Path(output).mkdir(parents=True, exist_ok=True)
    pathlib.Path(output, "mpi.h").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
