# SPDX-License-Identifier: BSD-3-Clause
"""Draws the path of a call through the code from the table of steps in its page, and checks that
each step's file has the function.

A row of the table:

    | 3a | `shim/coll/selector.hpp` | `run_selected` | what the function does |

A step follows the step before it of the same letter, else the one without a letter."""
import pathlib
import re
import textwrap

from pages import drawing

# Picture and the page with its table.
PATHS = {
    "docs/developer/send_path.dot": "docs/developer/sending.md",
    "docs/developer/allreduce_path.dot": "docs/developer/collectives.md",
    "docs/developer/creation_path.dot": "docs/developer/communicator-creation.md",
}
_ROW = re.compile(r"^\| (\d+)([a-z]?) \| `([^`]+)` \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
_BREAK = "\\n "  # with a space: spelling checkers take the n for a part of the next word
_DESCRIPTION = "shim/intercept/api/mpi_api.txt"  # describes the generated functions


def steps_of(page: str, text: str) -> list[tuple[int, str, str, str, str]]:
    """Return (number, letter, file, function, what it does) of each step."""
    rows = [(int(row[0]), *row[1:]) for row in _ROW.findall(text)]
    if not rows:
        raise ValueError(f"{page}: no table of steps")
    return rows


def predecessor(steps, step):
    """Return the step that precedes this one; None for the first."""
    number, letter = step[:2]
    earlier = [each for each in steps if each[0] < number and each[1] in ("", letter)]
    return max(earlier, key=lambda each: (each[0], each[1]), default=None)


def check(top: pathlib.Path, page: str, steps) -> None:
    """Raise ValueError if a file lacks the function of its step."""
    wrong = []
    for number, letter, file, function, _ in steps:
        path, name = top / file, function.rsplit("::", 1)[-1]
        if not path.is_file():
            wrong.append(f"{page}: step {number}{letter}: no file {file}")
        elif not re.search(rf"\b{re.escape(name)}\b", path.read_text(encoding="utf-8")):
            wrong.append(f"{page}: step {number}{letter}: {file} has no {function}")
    if wrong:
        raise ValueError("\n".join(wrong))


def module_of(file: str) -> str:
    """Return the folder below shim/ that a file belongs to."""
    return "generated" if file == _DESCRIPTION else "/".join(file.split("/")[:2])


def dot_of(name: str, page: str, steps) -> str:
    """Return the picture of these steps."""
    lines = drawing.head(name, page, (0.4, 0.3))
    for step in steps:
        number, letter, file, function, does = step
        text = _BREAK.join(textwrap.wrap(re.sub(r"[`\\]", "", does), 44, break_on_hyphens=False))
        label = f"{number}{letter}  {function}  ({module_of(file)}){_BREAK}{text}"
        lines.append(f'  s{number}{letter} [label="{label}"];')
        before = predecessor(steps, step)
        if before is not None:
            lines.append(f"  s{before[0]}{before[1]} -> s{number}{letter};")
    return "\n".join(lines + ["}"]) + "\n"


def dot(top: pathlib.Path, picture: str) -> str:
    """Return the text of a picture of PATHS. Raise ValueError if a step does not exist."""
    page = PATHS[picture]
    steps = steps_of(page, (top / page).read_text(encoding="utf-8"))
    check(top, page, steps)
    return dot_of(pathlib.PurePath(picture).stem, page, steps)
