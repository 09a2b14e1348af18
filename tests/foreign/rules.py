# SPDX-License-Identifier: BSD-3-Clause
"""Looks up a test in the tables rules.toml and causes.toml."""
import dataclasses
import functools
import pathlib
import re
import tomllib

from suite import Test

_HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Rule:
    """One entry of a table: the tests, modes and MPIs to which it applies, and its other keys."""

    tests: re.Pattern
    keys: dict
    modes: tuple[str, ...] = ()
    mpis: tuple[str, ...] = ()

    def applies_to(self, name: str, mode: str, mpi: str) -> bool:
        return (
            bool(self.tests.search(name))
            and (not self.modes or mode in self.modes)
            and (not self.mpis or mpi in self.mpis)
        )


def _rule(entry: dict) -> Rule:
    keys = {key: value for key, value in entry.items() if key not in ("tests", "modes", "mpis")}
    return Rule(
        re.compile(entry["tests"], re.VERBOSE),
        keys,
        tuple(entry.get("modes", ())),
        tuple(entry.get("mpis", ())),
    )


@functools.cache
def table(file: str) -> dict[str, list[Rule]]:
    """Return the lists of entries in a file, by name."""
    content = tomllib.loads((_HERE / file).read_text(encoding="utf-8"))
    return {
        name: [_rule(entry) for entry in entries]
        for name, entries in content.items()
        if entries and isinstance(entries, list) and isinstance(entries[0], dict)
    }


def ignored_output() -> tuple[str, ...]:
    return tuple(
        tomllib.loads((_HERE / "rules.toml").read_text(encoding="utf-8"))["ignored_output"]
    )


def why_not_runnable(test: Test, mode: str, mpi: str, memory: float) -> str:
    """Return the reason not to run a test, or an empty text."""
    for rule in table("rules.toml")["not_runnable"]:
        if rule.applies_to(test.name, mode, mpi):
            return rule.keys["reason"]
    if test.memory > memory:
        return "needs more memory than allowed (--memory)"
    return ""


def repeats(test: Test, others: set[str]) -> bool:
    """True if the row differs from another one only in variables of MPICH, which are ignored."""
    kept = [word for word in test.environment if not word.startswith("MPIR_CVAR_")]
    return (
        len(kept) < len(test.environment)
        and dataclasses.replace(test, environment=tuple(kept)).name in others
    )


def variables(test: Test, mode: str, mpi: str) -> dict[str, str]:
    """Return the environment of the test, with the variables that the table adds."""
    found = dict(word.split("=", 1) for word in test.environment)
    for rule in table("rules.toml").get("environment", []):
        if rule.applies_to(test.name, mode, mpi):
            found |= rule.keys["variables"]
    return found


def cause(name: str, result: str, mode: str, mpi: str, output: str = "") -> str:
    """Return the cause of a failure in the hand-written table, or an empty text."""
    for rule in table("causes.toml").get("cause", []):
        found = re.search(rule.keys.get("output", ""), output)
        if (
            found
            and rule.applies_to(name, mode, mpi)
            and result in rule.keys.get("results", [result])
        ):
            return found.expand(rule.keys["reason"])
    return ""
