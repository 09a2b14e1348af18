# SPDX-License-Identifier: BSD-3-Clause
"""Decides whether a program of a library had the expected result, and writes the document."""
import dataclasses
import json
import pathlib
import re

from libraries import MODES, Library, version_of

WORKS, REFUSES, FAILS, TIMEOUT, CANNOT_BUILD = (
    "works",
    "refuses",
    "fails",
    "time-out",
    "cannot build",
)
_KEPT_LINES = 40
# In the log of a process whose MPI_COMM_WORLD Intersession serves.
_CREATED_WORLD = '"intersession://MPI_COMM_WORLD"'


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a library's program over an MPI library in a mode."""

    name: str
    mpi: str
    mode: str
    result: str
    detail: str = ""
    calls_init: bool = False
    seconds: float = 0.0
    version: str = ""
    commit: str = ""
    date: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.name, self.mpi, self.mode

    @property
    def is_good(self) -> bool:
        return self.result in (WORKS, REFUSES)


def _failed(reason: str, lines: list[str]) -> tuple[str, str]:
    return FAILS, "\n".join([reason, *lines[:_KEPT_LINES]])


def _judge_refusal(pattern: str, code: int, lines: list[str]) -> tuple[str, str]:
    """The program must fail with the message of the library."""
    messages = [found[0].strip() for line in lines if (found := re.search(pattern, line))]
    if code == 0:
        return _failed(f"no refusal, expected {pattern!r}", lines)
    if not messages:
        return _failed(f"exit code {code} without the message {pattern!r}", lines)
    return REFUSES, messages[0]


def same_lines(library: Library, lines: list[str]) -> list[str]:
    """Return the lines that must be equal in all modes."""
    return [line.strip() for line in lines if re.search(library.same_output, line)]


def _missing_library(mode: str, lines: list[str]) -> str:
    """Return the reason if the program has run without Intersession, otherwise an empty text."""
    if any("cannot be preloaded" in line for line in lines):
        return "Intersession cannot be preloaded"
    if MODES[mode].serves_program and not any(_CREATED_WORLD in line for line in lines):
        return "Intersession has not created the communicator of MPI_COMM_WORLD"
    return ""


def judge(
    library: Library, mode: str, code: int | None, lines: list[str], native: list[str] | None = None
) -> tuple[str, str]:
    """Return the result and its detail.

    `code` is the exit code, None after the limit; `native` is the output in mode native, of a
    library with the key same_output.
    """
    if code is None:
        return TIMEOUT, "\n".join(lines[:_KEPT_LINES])
    if pattern := library.refuses.get(mode):
        return _judge_refusal(pattern, code, lines)
    if code != 0:
        return _failed(f"exit code {code}", lines)
    if missing := _missing_library(mode, lines):
        return _failed(missing, lines)
    if library.same_output:
        found = same_lines(library, lines)
        expected = same_lines(library, native if native is not None else lines)
        if not found or found != expected:
            return _failed(
                "numbers differ from those in mode native", [*found, "native:", *expected]
            )
        return WORKS, ""
    if not any(re.fullmatch(r"passed: \d+ checks", line) for line in lines):
        return _failed("exit code 0 without passed checks", lines)
    runs_native = MODES[mode].initializes_native or (mode == "session" and library.calls_init)
    state = f"native MPI: {'' if runs_native else 'not '}initialized"
    if state not in lines:
        return _failed(f"not as expected: {state}", lines)
    return WORKS, ""


def load(path: pathlib.Path) -> dict[tuple[str, str, str], Result]:
    """Return the results of earlier runs."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {result.key: result for result in (Result(**row) for row in rows)}


def save(path: pathlib.Path, results: dict[tuple[str, str, str], Result]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(dataclasses.asdict(result)) for result in results.values()]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _cell(result: Result | None, refusals: list[str]) -> str:
    """Return the cell of a result; append the message of a refusal to the notes below."""
    if result is None:
        return "–"
    if result.result == REFUSES:
        if result.detail not in refusals:
            refusals.append(result.detail)
        return f"refuses [{refusals.index(result.detail) + 1}]"
    if result.result == WORKS and result.calls_init and result.mode == "session":
        return "works, calls `MPI_Init`"
    return result.result if result.result == WORKS else f"**{result.result}**"


def document(
    libraries: list[Library], results: dict[tuple[str, str, str], Result], names: dict[str, str]
) -> str:
    """Return the page with the results; `names` are those of the MPI libraries."""
    commits = sorted({(result.date, result.commit) for result in results.values()})
    refusals: list[str] = []
    rows = []
    for library in libraries:
        for mpi in library.mpi:
            of_modes = [results.get((library.name, mpi, mode)) for mode in MODES]
            version = next((each.version for each in of_modes if each and each.version), "")
            cells = [_cell(result, refusals) for result in of_modes]
            rows.append(f"| {' | '.join([library.name, version, names[mpi], *cells])} |")
    lines = [
        "# Results of libraries",
        "",
        "`tests/stack/run` wrote this page: programs of 4 processes hand a communicator to",
        "libraries of Debian 12, and check the numbers that these compute.",
        f"Run on {', '.join(f'{date} (commit {commit})' for date, commit in commits)}.",
        "",
        "| mode | communicator |",
        "|---|---|",
        *(f"| {mode.name} | {mode.meaning} |" for mode in MODES.values()),
        "",
        "An application calls `MPI_Init` itself; in mode world it runs on the MPI library, with",
        "Intersession preloaded.",
        "",
        f"| library | Debian package | over | {' | '.join(MODES)} |",
        "|---|---|---|" + "---|" * len(MODES),
        *rows,
    ]
    if refusals:
        lines += ["", "Messages of the libraries that refuse:", ""]
        lines += [f"{number}. `{message}`" for number, message in enumerate(refusals, 1)]
    return "\n".join(lines) + "\n"


def version_shown(library: Library) -> str:
    """Return the name and version of the library's first package."""
    if not library.packages:
        return ""
    return f"{library.packages[0]} {version_of(library.packages[0])}".strip()
