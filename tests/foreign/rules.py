# SPDX-License-Identifier: BSD-3-Clause
"""What the tables rules.toml and causes.toml say of a test."""
import dataclasses
import functools
import pathlib
import re
import tomllib

from suite import Test

_HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Rule:
    """One entry of a table: the tests that it speaks of, where it holds, and what it says."""
    tests: re.Pattern
    says: dict
    modes: tuple[str, ...] = ()
    mpis: tuple[str, ...] = ()

    def speaks_of(self, name: str, mode: str, mpi: str) -> bool:
        return (bool(self.tests.search(name)) and (not self.modes or mode in self.modes)
                and (not self.mpis or mpi in self.mpis))


def _rule(entry: dict) -> Rule:
    says = {key: value for key, value in entry.items() if key not in ("tests", "modes", "mpis")}
    return Rule(re.compile(entry["tests"], re.VERBOSE), says, tuple(entry.get("modes", ())), tuple(entry.get("mpis", ())))


@functools.cache
def table(file: str) -> dict[str, list[Rule]]:
    """The lists of entries in the file, by name."""
    content = tomllib.loads((_HERE / file).read_text(encoding="utf-8"))
    return {name: [_rule(entry) for entry in entries] for name, entries in content.items()
            if entries and isinstance(entries, list) and isinstance(entries[0], dict)}


def ignored_output() -> tuple[str, ...]:
    return tuple(tomllib.loads((_HERE / "rules.toml").read_text(encoding="utf-8"))["ignored_output"])


def why_not_runnable(test: Test, mode: str, mpi: str, memory: float) -> str:
    """The reason not to run the test here, or nothing."""
    for rule in table("rules.toml")["not_runnable"]:
        if rule.speaks_of(test.name, mode, mpi):
            return rule.says["reason"]
    if test.memory > memory:
        return "needs more memory or time than is set aside (--memory)"
    return ""


def repeats(test: Test, others: set[str]) -> bool:
    """Whether the row is one of the others but for variables of MPICH, which mean nothing here."""
    kept = [word for word in test.environment if not word.startswith("MPIR_CVAR_")]
    return len(kept) < len(test.environment) and dataclasses.replace(test, environment=tuple(kept)).name in others


def variables(test: Test, mode: str, mpi: str) -> dict[str, str]:
    """The test's own environment and what the table adds to it."""
    found = dict(word.split("=", 1) for word in test.environment)
    for rule in table("rules.toml").get("environment", []):
        if rule.speaks_of(test.name, mode, mpi):
            found |= rule.says["variables"]
    return found


def cause(name: str, result: str, mode: str, mpi: str, output: str = "") -> str:
    """Why the test fails, by the hand-written table; nothing where nobody has said it yet."""
    for rule in table("causes.toml").get("cause", []):
        found = re.search(rule.says.get("output", ""), output)
        if found and rule.speaks_of(name, mode, mpi) and result in rule.says.get("results", [result]):
            return found.expand(rule.says["reason"])
    return ""
