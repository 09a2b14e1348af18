# SPDX-License-Identifier: BSD-3-Clause
"""Lists the project's own test programs that call a function by its name."""

import collections
import pathlib
import re

_NAME = re.compile(r"\bMPIX?_[A-Z]\w*")
_INCLUDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
# forms.h makes six calls from three names: RUN(form, X, IX, X_init, …) calls the blocking, the
# non-blocking and the persistent form with both sizes of counts.
_FORMS = re.compile(r"\bRUN(?:_V)?\(\w+,\s*([A-Z]\w*),\s*([A-Z]\w*),\s*([A-Z]\w*),")
_OF_ALL = "session_world.h"  # included by every program, so its calls are not attributed


def _text(path):
    text = path.read_text(encoding="utf-8")
    headers = [path.parent / name for name in _INCLUDE.findall(text) if name != _OF_ALL]
    return text + "".join(
        header.read_text(encoding="utf-8") for header in headers if header.exists()
    )


def programs(folder: pathlib.Path) -> dict[str, list[str]]:
    """Return the names of programs by function, in alphabetical order."""
    found = collections.defaultdict(set)
    for path in folder.rglob("*.c"):
        text = _text(path)
        forms = [
            "MPI_" + name + size
            for names in _FORMS.findall(text)
            for name in names
            for size in ("", "_c")
        ]
        for name in _NAME.findall(text) + forms:
            found[name].add(path.stem)
    return {name: sorted(stems) for name, stems in found.items()}
