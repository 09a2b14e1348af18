# SPDX-License-Identifier: BSD-3-Clause
"""Evaluates the records of mpi4py_in_session.py, and finds causes in mpi4py_causes.toml."""
import dataclasses
import functools
import pathlib
import re
import tomllib

PASS, FAIL, SKIP, TIMEOUT, DIED = "pass", "fail", "skip", "time-out", "ended the job"


@dataclasses.dataclass(frozen=True)
class Result:
    mpi: str
    mode: str
    processes: int
    test: str
    result: str
    detail: str = ""


def worst(events: list[list[dict]]) -> dict[str, tuple[str, str]]:
    """Return the worst result of each test over all processes."""
    order, found = [PASS, SKIP, FAIL], {}
    for of_process in events:
        for event in of_process:
            if event["event"] not in order:
                continue
            before = found.get(event["test"], (PASS, ""))
            worse = order.index(event["event"]) > order.index(before[0])
            found[event["test"]] = (event["event"], event["detail"]) if worse else before
    return found


def unfinished(events: list[list[dict]]) -> list[str]:
    """Return the tests that a process has begun and not ended."""
    found = []
    for of_process in events:
        last = of_process[-1] if of_process else {"event": "over", "test": ""}
        if last["event"] not in ("over", "ended"):
            found.append(last["test"])
    return found


@functools.cache
def _table() -> dict[str, list[dict]]:
    path = pathlib.Path(__file__).resolve().parent / "mpi4py_causes.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def causes() -> list[dict]:
    """Return the causes of failures in the table."""
    return _table()["cause"]


def not_runnable(mode: str) -> list[str]:
    """Return the modules and tests that are not run in this mode."""
    return [
        entry["tests"] for entry in _table()["not_runnable"] if mode in entry.get("modes", [mode])
    ]


def cause_of(result: Result, causes: list[dict]) -> str:
    """Return the cause of the result in the table, or an empty text."""
    for cause in causes:
        if (
            re.search(cause["tests"], result.test, re.VERBOSE)
            and result.mpi in cause.get("mpis", [result.mpi])
            and result.mode in cause.get("modes", [result.mode])
            and result.processes in cause.get("processes", [result.processes])
            and re.search(cause.get("output", ""), result.detail, re.VERBOSE)
        ):
            return cause["reason"]
    return ""
