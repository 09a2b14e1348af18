# SPDX-License-Identifier: BSD-3-Clause
"""Parses a suite in the format of MPICH's test/mpi.

Reads the rows of its testlists, and from its Makefile.am files the programs whose sources have
other names or need their own options.
"""

import dataclasses
import functools
import pathlib
import re

_PLACEHOLDER = re.compile(r"@(\w+)@")
_VARIABLE = re.compile(r"^(\w+)_(SOURCES|CPPFLAGS)\s*=\s*(.*)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Test:
    """One row of a testlist: one job."""

    folder: str
    program: str
    processes: int
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    launcher_arguments: tuple[str, ...] = ()
    limit: float | None = None
    verdict: str = "TestNormal"
    memory: float = 0.0
    expected_to_fail: str = ""
    version: str = ""

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.program}"

    @property
    def name(self) -> str:
        """The unique name of the row."""
        return " ".join([self.path, str(self.processes), *self.arguments, *self.environment])


# The keywords of a row, and the fields of Test; keywords that a row may repeat are lists.
_LISTS = {"arg": "arguments", "env": "environment", "mpiexecarg": "launcher_arguments"}
_VALUES = {
    "timeLimit": ("limit", float),
    "resultTest": ("verdict", str),
    "mem": ("memory", float),
    "xfail": ("expected_to_fail", str),
    "mpiversion": ("version", str),
}


def row(folder: str, line: str) -> Test:
    """Parse a line "program [processes [keyword=value …]]"; like runtests, ignore other words."""
    program, *rest = line.split()
    below, _, program = program.rpartition("/")
    processes = int(rest[0]) if rest and rest[0].isdigit() else 2
    lists: dict[str, list[str]] = {name: [] for name in _LISTS.values()}
    values = {}
    for word in rest[1:]:
        key, equals, value = word.partition("=")
        if equals and key in _LISTS:
            lists[_LISTS[key]].append(value)
        elif equals and key in _VALUES:
            name, kind = _VALUES[key]
            values[name] = kind(value)
    return Test(
        "/".join(filter(None, (folder, below))),
        program,
        processes,
        **{k: tuple(v) for k, v in lists.items()},
        **values,
    )


def _lines_of(folder: pathlib.Path) -> list[str]:
    """Return the lines of the folder's testlist, and of the GPU one: some of its rows need none."""
    plain = next(
        (folder / name for name in ("testlist.in", "testlist") if (folder / name).exists()), None
    )
    lists = [path for path in (plain, folder / "testlist.gpu") if path and path.exists()]
    return [line for path in lists for line in path.read_text(encoding="utf-8").splitlines()]


def _folder_named(word: str, above: pathlib.Path) -> str:
    """Return the subfolder that a line names, also by a placeholder (@rmadir@), or ""."""
    name = re.sub(r"^@(\w+?)dir@$", r"\1", word)
    return name if (above / name).is_dir() else ""


def tests_of(top: pathlib.Path, folder: str) -> list[Test]:
    """Return the rows of the folder's testlist and of its subfolders, in order, without repeats."""
    place = top / folder
    found: dict[str, Test] = {}
    for line in _lines_of(place):
        line = line.partition("#")[0].strip()
        if not line or line.startswith("!"):
            continue
        if below := _folder_named(line.split()[0], place):
            found |= {test.name: test for test in tests_of(top, f"{folder}/{below}")}
        elif rest := _PLACEHOLDER.sub(
            "", line
        ).strip():  # configure replaces the placeholder by "" or "#"
            test = row(folder, rest)
            found.setdefault(test.name, test)
    return list(found.values())


@functools.cache
def _makefile(folder: pathlib.Path) -> dict[tuple[str, str], list[str]]:
    path = folder / "Makefile.am"
    text = path.read_text(encoding="utf-8").replace("\\\n", " ") if path.exists() else ""
    return {(program, what): words.split() for program, what, words in _VARIABLE.findall(text)}


def sources_of(top: pathlib.Path, test: Test) -> list[pathlib.Path]:
    """Return the source files of the test's program, including missing ones."""
    folder = top / test.folder
    names = _makefile(folder).get(
        (re.sub(r"\W", "_", test.program), "SOURCES"), [test.program + ".c"]
    )
    return [folder / name for name in names if not name.endswith(".h")]


def definitions_of(top: pathlib.Path, test: Test) -> list[str]:
    """Return the preprocessor options of the test's program."""
    words = _makefile(top / test.folder).get((re.sub(r"\W", "_", test.program), "CPPFLAGS"), [])
    return [word for word in words if word.startswith("-D")]


def is_threaded(top: pathlib.Path, test: Test) -> bool:
    path = top / test.folder / "Makefile.am"
    return path.exists() and "Makefile_threads.mtest" in path.read_text(encoding="utf-8")
