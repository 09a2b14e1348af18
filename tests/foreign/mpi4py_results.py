# SPDX-License-Identifier: BSD-3-Clause
"""Evaluates the records of mpi4py_in_session.py, and finds causes in mpi4py_causes.toml."""
import dataclasses
import re

PASS, FAIL, SKIP, TIMEOUT, DIED = "pass", "fail", "skip", "time-out", "ended the job"


@dataclasses.dataclass(frozen=True)
class Result:
    mpi: str
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


def cause_of(result: Result, causes: list[dict]) -> str:
    """Return the cause of the result in the table, or an empty text."""
    for cause in causes:
        if (
            re.search(cause["tests"], result.test, re.VERBOSE)
            and result.mpi in cause.get("mpis", [result.mpi])
            and result.processes in cause.get("processes", [result.processes])
            and re.search(cause.get("output", ""), result.detail, re.VERBOSE)
        ):
            return cause["reason"]
    return ""
