# SPDX-License-Identifier: BSD-3-Clause
"""Counts the tests that ctest ran and prints the failed tests, and the skipped tests by their reasons.

    summary.py FOLDER    with what each command printed in the files 0, 1, …, and the logs of ctest in 0.tests, 1.tests, …
"""
import collections
import pathlib
import re
import sys

_RESULT = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*(?: +|\*\*\*)(Passed|Skipped|Failed|Timeout|Not Run|Exception: \S+|Exception)", re.MULTILINE)
_OUTPUT = re.compile(r"^\d+/\d+ Test: (\S+)\n.*?\nOutput:\n-+\n(.*?)<end of output>", re.MULTILINE | re.DOTALL)
# A test program that skips some of its tests passes all the same: GoogleTest, and Python's unittest with --verbose and without.
_INSIDE = (re.compile(r"^\S+:\d+: Skipped\n(.+)", re.MULTILINE), re.compile(r"\.\.\. skipped (['\"])(.+)\1$", re.MULTILINE),
           re.compile(r"^OK \((skipped=\d+)\)$", re.MULTILINE))
_SHOWN = 3  # names of a list


def results_of(printed: str) -> dict[str, str]:
    """What ctest printed of each test: the test's name and its result."""
    return {name: result for name, result in _RESULT.findall(printed)}


def reason_of(output: str) -> str:
    """The reason in the output of a skipped test."""
    said = re.findall(r"skipped: (.+)", output)
    lines = output.split("\n")
    return (said[-1] if said else next((line for line in reversed(lines) if line.strip()), "no reason printed")).strip()


def skips_inside(output: str) -> list[str]:
    """The reasons of the tests that a test program has skipped by itself."""
    reasons = [match.groups()[-1].strip() for pattern in _INSIDE[:2] for match in pattern.finditer(output)]
    return reasons or [f"without a reason ({match[1]})" for match in _INSIDE[2].finditer(output)]


def _names(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def summary(printed: str, logs: str) -> str:
    """Text about the tests of one command; empty if it ran none."""
    results, outputs = results_of(printed), dict(_OUTPUT.findall(logs))
    if not results:
        return ""
    failed = {name: result for name, result in results.items() if result not in ("Passed", "Skipped")}
    skipped, inside = collections.defaultdict(list), collections.defaultdict(list)
    for name, result in results.items():
        if result == "Skipped":
            skipped[reason_of(outputs.get(name, ""))].append(name)
        else:
            for reason in dict.fromkeys(skips_inside(outputs.get(name, ""))):
                inside[reason].append(name)
    passed = sum(result == "Passed" for result in results.values())
    lines = [f"{len(results)} tests: {passed} passed, {len(failed)} failed, {sum(map(len, skipped.values()))} skipped"]
    lines += [f"failed: {name} ({result})" for name, result in failed.items()]
    for what, reasons in (("skipped", skipped), ("skipped a part", inside)):
        lines += [f"{what}: {len(names)}, {reason}: {_names(names)}" for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1]))]
    return "\n".join(f"  {line}" for line in lines)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    for printed in sorted((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)):
        logs = folder / f"{printed.name}.tests"
        text = summary(printed.read_text(encoding="utf-8", errors="replace"),
                       logs.read_text(encoding="utf-8", errors="replace") if logs.exists() else "")
        if text:
            print(text)


if __name__ == "__main__":
    main()
