# SPDX-License-Identifier: BSD-3-Clause
"""Prints the number of tests that ctest ran, failed tests, and skipped tests by their reasons.

    summary.py FOLDER

FOLDER has the output of each command in the files 0, 1, …, and the logs of ctest in 0.tests,
1.tests, …
"""
import collections
import pathlib
import re
import sys

_RESULT = re.compile(
    r"^ *\d+/\d+ Test +#\d+: (\S+) \.*(?: +|\*\*\*)"
    r"(Passed|Skipped|Failed|Timeout|Not Run|Exception: \S+|Exception)",
    re.MULTILINE,
)
_OUTPUT = re.compile(
    r"^\d+/\d+ Test: (\S+)\n.*?\nOutput:\n-+\n(.*?)<end of output>", re.MULTILINE | re.DOTALL
)
# Skipped tests in the output of a test program, which passes: of GoogleTest, and of Python's
# unittest with and without --verbose.
_INSIDE = (
    re.compile(r"^\S+:\d+: Skipped\n(.+)", re.MULTILINE),
    re.compile(r"\.\.\. skipped (['\"])(.+)\1$", re.MULTILINE),
    re.compile(r"^OK \((skipped=\d+)\)$", re.MULTILINE),
)
_SHOWN = 3  # number of names shown in a list


def results_of(printed: str) -> dict[str, str]:
    """Return the result of each test in the output of ctest."""
    return {name: result for name, result in _RESULT.findall(printed)}


def reason_of(output: str) -> str:
    """Return the reason in the output of a skipped test."""
    reasons = re.findall(r"skipped: (.+)", output)
    lines = output.split("\n")
    return (
        reasons[-1]
        if reasons
        else next((line for line in reversed(lines) if line.strip()), "no reason printed")
    ).strip()


def skips_inside(output: str) -> list[str]:
    """Return the reasons of the tests that a test program has skipped."""
    reasons = [
        match.groups()[-1].strip() for pattern in _INSIDE[:2] for match in pattern.finditer(output)
    ]
    return reasons or [f"without a reason ({match[1]})" for match in _INSIDE[2].finditer(output)]


def _names(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (
        f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    )


def summary(printed: str, logs: str) -> str:
    """Return a summary of the tests of one command; empty if it ran none."""
    results, outputs = results_of(printed), dict(_OUTPUT.findall(logs))
    if not results:
        return ""
    failed = {
        name: result for name, result in results.items() if result not in ("Passed", "Skipped")
    }
    skipped, inside = collections.defaultdict(list), collections.defaultdict(list)
    for name, result in results.items():
        if result == "Skipped":
            skipped[reason_of(outputs.get(name, ""))].append(name)
        else:
            for reason in dict.fromkeys(skips_inside(outputs.get(name, ""))):
                inside[reason].append(name)
    passed = sum(result == "Passed" for result in results.values())
    lines = [
        f"{len(results)} tests: {passed} passed, {len(failed)} failed, "
        f"{sum(map(len, skipped.values()))} skipped"
    ]
    lines += [f"failed: {name} ({result})" for name, result in failed.items()]
    for what, reasons in (("skipped", skipped), ("skipped a part", inside)):
        lines += [
            f"{what}: {len(names)}, {reason}: {_names(names)}"
            for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1]))
        ]
    return "\n".join(f"  {line}" for line in lines)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    for printed in sorted(
        (path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
    ):
        logs = folder / f"{printed.name}.tests"
        text = summary(
            printed.read_text(encoding="utf-8", errors="replace"),
            logs.read_text(encoding="utf-8", errors="replace") if logs.exists() else "",
        )
        if text:
            print(text)


if __name__ == "__main__":
    main()
