# SPDX-License-Identifier: BSD-3-Clause
"""What a suite in the manner of MPICH's test/mpi says of itself: rows of its testlists, and how its Makefile.am files build
programs whose source has another name or needs options of its own."""
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
        """Tells the row from all others."""
        return " ".join([self.path, str(self.processes), *self.arguments, *self.environment])


# The keywords of a row, and where they go; those that a row may have more than once are lists.
_LISTS = {"arg": "arguments", "env": "environment", "mpiexecarg": "launcher_arguments"}
_VALUES = {"timeLimit": ("limit", float), "resultTest": ("verdict", str), "mem": ("memory", float),
           "xfail": ("expected_to_fail", str), "mpiversion": ("version", str)}


def row(folder: str, line: str) -> Test:
    """`line` is "program [processes [keyword=value …]]", as the suite's runtests reads it: other words mean nothing."""
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
    return Test("/".join(filter(None, (folder, below))), program, processes, **{k: tuple(v) for k, v in lists.items()}, **values)


def _lines_of(folder: pathlib.Path) -> list[str]:
    """Of the folder's testlist, and of the one that is meant for machines with a GPU: some of its rows do without."""
    plain = next((folder / name for name in ("testlist.in", "testlist") if (folder / name).exists()), None)
    lists = [path for path in (plain, folder / "testlist.gpu") if path and path.exists()]
    return [line for path in lists for line in path.read_text(encoding="utf-8").splitlines()]


def _folder_named(word: str, above: pathlib.Path) -> str:
    """A line that names a folder below, maybe by the placeholder that configure would fill in (@rmadir@); else nothing."""
    name = re.sub(r"^@(\w+?)dir@$", r"\1", word)
    return name if (above / name).is_dir() else ""


def tests_of(top: pathlib.Path, folder: str) -> list[Test]:
    """The rows of the folder's testlist and of the folders that it names, in their order; equal ones once."""
    place = top / folder
    found: dict[str, Test] = {}
    for line in _lines_of(place):
        line = line.partition("#")[0].strip()
        if not line or line.startswith("!"):
            continue
        if below := _folder_named(line.split()[0], place):
            found |= {test.name: test for test in tests_of(top, f"{folder}/{below}")}
        elif rest := _PLACEHOLDER.sub("", line).strip():  # the placeholder stands for "" or for "#", as configure decides
            test = row(folder, rest)
            found.setdefault(test.name, test)
    return list(found.values())


@functools.cache
def _makefile(folder: pathlib.Path) -> dict[tuple[str, str], list[str]]:
    path = folder / "Makefile.am"
    text = path.read_text(encoding="utf-8").replace("\\\n", " ") if path.exists() else ""
    return {(program, what): words.split() for program, what, words in _VARIABLE.findall(text)}


def sources_of(top: pathlib.Path, test: Test) -> list[pathlib.Path]:
    """The source files of the test's program; those that are missing included."""
    folder = top / test.folder
    names = _makefile(folder).get((re.sub(r"\W", "_", test.program), "SOURCES"), [test.program + ".c"])
    return [folder / name for name in names if not name.endswith(".h")]


def definitions_of(top: pathlib.Path, test: Test) -> list[str]:
    """The preprocessor's options for the test's program alone."""
    words = _makefile(top / test.folder).get((re.sub(r"\W", "_", test.program), "CPPFLAGS"), [])
    return [word for word in words if word.startswith("-D")]


def is_threaded(top: pathlib.Path, test: Test) -> bool:
    path = top / test.folder / "Makefile.am"
    return path.exists() and "Makefile_threads.mtest" in path.read_text(encoding="utf-8")
