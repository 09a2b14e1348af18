# SPDX-License-Identifier: BSD-3-Clause
"""Generates docs/developer/modules.dot, the picture of the modules, from shim/CMakeLists.txt."""
import pathlib
import re

from pages import drawing

_MODULE = re.compile(r"^intersession_module\((\w+)\s*([^)]*)\)", re.MULTILINE)
_DEPENDS = re.compile(r"\bDEPENDS((?:\s+[a-z][a-z0-9_]*\b)+)")
_TOP = "intercept"


def modules_of(cmake: str) -> dict[str, set[str]]:
    """Return each module with the modules that it may include; the top module may include all."""
    modules = {}
    for name, words in _MODULE.findall(cmake):
        depends = _DEPENDS.search(words)
        modules[name] = set(depends[1].split()) if depends else set()
    if not modules:
        raise ValueError("shim/CMakeLists.txt: no intersession_module() found")
    modules[_TOP] = set(modules) - {"info"}
    return modules


def direct(modules: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the transitive reduction: leave out dependencies that follow from others."""
    return {
        name: {one for one in lower if not any(one in modules[other] for other in lower - {one})}
        for name, lower in modules.items()
    }


def dot(top: pathlib.Path) -> str:
    """Return docs/developer/modules.dot."""
    modules = modules_of((top / "shim/CMakeLists.txt").read_text(encoding="utf-8"))
    lines = drawing.head(
        "modules",
        "shim/CMakeLists.txt",
        (0.4, 0.45),
        (
            "An arrow leads from a module to a module that it may include. Arrows that follow from",
            "others are left out.",
        ),
    )
    for name in modules:
        lines.append(f'  "{name}" [label="shim/{name}"];')
    for name, lower in direct(modules).items():
        lines += [f'  "{name}" -> "{one}";' for one in sorted(lower)]  # node is a word of dot
    for outside, user, label in (
        ("launcher", "bootstrap", "launcher (PMIx, PMI-1)"),
        ("network", "transport", "shared memory, TCP, libfabric"),
    ):
        lines.append(f'  {outside} [label="{label}", fillcolor=white, style="rounded,dashed"];')
        lines.append(f'  "{user}" -> {outside} [style=dashed];')
    lines.append('  program [label="program (MPI_…)", fillcolor=white, style="rounded,dashed"];')
    lines.append(
        '  substrate [label="substrate (PMPI_…)", fillcolor=white, style="rounded,dashed"];'
    )
    lines += ["  program -> intercept [style=dashed];", "  intercept -> substrate [style=dashed];"]
    return "\n".join(lines + ["}"]) + "\n"
