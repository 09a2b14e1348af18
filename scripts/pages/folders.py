# SPDX-License-Identifier: BSD-3-Clause
"""Generates docs/developer/intercept_folders.dot, the picture of the folders of shim/intercept.

Also finds includes against their order; scripts/check-modules reports these.
"""
import pathlib
import re

from pages import drawing, modules

_MODULE = "shim/intercept"
_SUFFIXES = (".hpp", ".cpp", ".h")
_ORDER = re.compile(r"^set\(intercept_folders\s+([^)]+)\)", re.MULTILINE)
_INCLUDE = re.compile(rf'^\s*#\s*include\s*"{_MODULE}/([^"]+)"', re.MULTILINE)
# Folders of generated headers: they declare functions that these folders and higher ones define.
_GENERATED = {
    "generated/prototypes.hpp": "abi",
    "generated/table.hpp": "native",
    "generated/impl.hpp": "impl",
}
# Subfolders of abi/<substrate>: they implement headers of these folders for one substrate.
_OF_SUBSTRATE = {"native": "native", "entries": "abi/entries"}


def order_of(cmake: str) -> list[str]:
    """Return the folders, lowest first, from shim/intercept/CMakeLists.txt."""
    found = _ORDER.search(cmake)
    if not found:
        raise ValueError(f"{_MODULE}/CMakeLists.txt: no set(intercept_folders …) found")
    return found[1].split()


def folder_of(path: str) -> str:
    """Return the folder, as in the order, of a file with this path inside the module."""
    if path in _GENERATED:
        return _GENERATED[path]
    parts = path.split("/")[:-1]
    if len(parts) == 3 and parts[0] == "abi":
        return _OF_SUBSTRATE.get(parts[2], "/".join(parts))
    if len(parts) == 2 and parts[0] == "abi" and parts[1] != "entries":
        return "abi"
    return "/".join(parts) or "."


def includes(top: pathlib.Path) -> list[tuple[str, str]]:
    """Return (file, included file) for each include of the module, as paths inside the module."""
    module = top / _MODULE
    return [
        (source.relative_to(module).as_posix(), included)
        for source in sorted(path for path in module.rglob("*") if path.suffix in _SUFFIXES)
        for included in _INCLUDE.findall(source.read_text(encoding="utf-8"))
    ]


def wrong_includes(top: pathlib.Path, order: list[str]) -> list[str]:
    """Return one line for each include of a higher folder, or of a folder without a place."""
    found = []
    for source, included in includes(top):
        folder, other = folder_of(source), folder_of(included)
        unknown = [name for name in (folder, other) if name not in order]
        if unknown:
            found.append(
                f"{_MODULE}/{source} includes {included}: "
                f"intercept_folders of {_MODULE}/CMakeLists.txt does not list {unknown[0]}"
            )
        elif order.index(other) > order.index(folder):
            found.append(
                f"{_MODULE}/{source} includes {included}: "
                f"{folder} may not include from {other}, which is a higher folder"
            )
    return found


def below(top: pathlib.Path, order: list[str]) -> dict[str, set[str]]:
    """Return each folder with all folders that it includes from, also through others."""
    arrows = {name: set() for name in order}
    for source, included in includes(top):
        folder, other = folder_of(source), folder_of(included)
        if folder != other:
            arrows[folder].add(other)
    for name in order:  # lower folders are complete
        arrows[name] |= {one for other in arrows[name] for one in arrows[other]}
    return arrows


def dot(top: pathlib.Path) -> str:
    """Return docs/developer/intercept_folders.dot."""
    order = order_of((top / _MODULE / "CMakeLists.txt").read_text(encoding="utf-8"))
    arrows = below(top, order)
    lines = drawing.head(
        "folders",
        f"the includes of {_MODULE}",
        (0.3, 0.4),
        (
            "An arrow leads from a folder to a folder that it includes from. Arrows that follow",
            "from others are left out.",
        ),
    )
    lines.append('  "." [label="dispatch, errors,\\nlifetime"];')
    for name, lower in modules.direct(arrows).items():
        lines += [f'  "{name}" -> "{one}";' for one in sorted(lower)]
    return "\n".join(lines + ["}"]) + "\n"
