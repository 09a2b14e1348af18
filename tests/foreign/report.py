# SPDX-License-Identifier: BSD-3-Clause
"""Turns results into text: a table for each folder, differences between two modes, a document."""
import collections
import csv
import dataclasses
import io
import json
import pathlib

import rules
from job import FAIL, NOT_COMPILED, NOT_RUNNABLE, PASS, TIMEOUT
from modes import MODES


@dataclasses.dataclass(frozen=True)
class Result:
    """One test in one mode."""

    mpi: str
    mode: str
    folder: str
    name: str
    result: str
    detail: str = ""
    seconds: float = 0.0
    expected_to_fail: str = ""

    @property
    def runnable(self) -> bool:
        return self.result != NOT_RUNNABLE


def load(path: pathlib.Path) -> dict[str, Result]:
    """Return the results by the test's name; none if the file does not exist."""
    if not path.exists():
        return {}
    found = (Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    return {result.name: result for result in found}


def save(path: pathlib.Path, results: list[Result]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(dataclasses.asdict(result)) + "\n" for result in results),
        encoding="utf-8",
    )


def _top_folder(result: Result) -> str:
    return result.folder.split("/")[0]


def _share(passed: int, runnable: int) -> str:
    return f"{100 * passed / runnable:.1f} %" if runnable else "–"


_SUMS = {
    "all": lambda result: True,
    "all but errors": lambda result: _top_folder(result) != "errors",
    "all but xfail": lambda result: not result.expected_to_fail,
}


def folder_rows(results: list[Result]) -> list[tuple[str, int, int, str]]:
    """Return (folder, runnable, passed, share) of each folder, and of sums over folders."""
    by_folder = collections.defaultdict(list)
    for result in results:
        by_folder[_top_folder(result)].append(result)
    if results:
        by_folder.update({name: list(filter(belongs, results)) for name, belongs in _SUMS.items()})
    rows = []
    for folder, found in by_folder.items():
        runnable = sum(result.runnable for result in found)
        passed = sum(result.result == PASS for result in found)
        rows.append((folder, runnable, passed, _share(passed, runnable)))
    return rows


def table(results: list[Result]) -> str:
    """Return the numbers as a table for the terminal."""
    lines = [f"{'folder':<15}{'runnable':>9}{'passed':>8}{'share':>9}"]
    lines += [
        f"{folder:<15}{runnable:>9}{passed:>8}{share:>9}"
        for folder, runnable, passed, share in folder_rows(results)
    ]
    counts = collections.Counter(result.result for result in results)
    return "\n".join(
        [*lines, ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))]
    )


def differences(one: dict[str, Result], other: dict[str, Result]) -> list[str]:
    """Return one line for each test that passes in only one of two modes."""
    return [
        f"{name}: {one[name].mode} {one[name].result}, {other[name].mode} {other[name].result}"
        for name in sorted(one.keys() & other.keys())
        if (one[name].result == PASS) != (other[name].result == PASS)
    ]


def missing(results: list[Result]) -> list[str]:
    """Return one line for each folder without a runnable row, with the most frequent reason."""
    by_folder = collections.defaultdict(dict)
    for result in results:
        by_folder[_top_folder(result)][result.name] = result
    lines = []
    for folder, found in by_folder.items():
        if not any(result.runnable for result in found.values()):
            reason, _ = collections.Counter(result.detail for result in found.values()).most_common(
                1
            )[0]
            lines.append(f"- `{folder}`, {len(found)} rows: {reason}")
    return lines


def _numbers(mpi: str, by_mode: dict[str, list[Result]]) -> list[str]:
    modes = [mode for mode in MODES if by_mode.get(mode)]
    columns = {mode: {row[0]: row for row in folder_rows(by_mode[mode])} for mode in modes}
    folders = [
        *dict.fromkeys(folder for mode in modes for folder in columns[mode] if folder not in _SUMS),
        *_SUMS,
    ]
    lines = ["| folder | " + " | ".join(modes) + " |", "|---|" + "---:|" * len(modes)]
    for folder in folders:
        cells = [columns[mode].get(folder) for mode in modes]
        shown = [
            (f"{cell[2]} of {cell[1]} ({cell[3]})" if cell[1] else "none can run") if cell else ""
            for cell in cells
        ]
        lines.append(f"| {folder} | " + " | ".join(shown) + " |")
    return lines


def _grouped(results: list[tuple[str, str]], with_names: bool) -> list[str]:
    """Return (reason, test) as a list by reason, the most frequent first."""
    groups = collections.defaultdict(list)
    for reason, name in results:
        groups[reason].append(name)
    lines = []
    for reason, names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        if with_names:
            lines += ["", f"- {len(names)}: {reason}:", "  " + ", ".join(names)]
        else:
            lines.append(f"- {len(names)}: {reason}")
    return lines if with_names else ["", *lines]


def cause(result: Result, plain: dict[str, Result]) -> str:
    """Return the known cause of a failure, or an empty text."""
    alone = plain.get(result.name)
    if result.mode in ("plain", "native") or (
        result.mode == "world" and alone and alone.result != PASS
    ):
        return "With the MPI alone, without Intersession"
    return rules.cause(result.name, result.result, result.mode, result.mpi, result.detail)


def _failures(results: list[Result]) -> list[Result]:
    return [result for result in results if result.result in (FAIL, TIMEOUT, NOT_COMPILED)]


def without_cause(results: list[Result], plain: dict[str, Result]) -> list[str]:
    """Return one line for each failure of which no cause is known."""
    return [f"{r.name}: {r.mode} {r.result}" for r in _failures(results) if not cause(r, plain)]


def _exceptions(results: list[Result], plain: dict[str, Result], with_names: bool) -> list[str]:
    return _grouped(
        [
            (cause(r, plain) or "**Cause not known yet**", f"`{r.name}` ({r.result})")
            for r in _failures(results)
        ],
        with_names,
    )


def _agreement(by_mode: dict[str, list[Result]]) -> list[str]:
    one, other = (
        {result.name: result for result in by_mode.get(mode, [])} for mode in ("plain", "world")
    )
    if not one or not other:
        return []
    different = differences(one, other)
    if not different:
        return ["", "`world` and `plain` pass exactly the same tests."]
    return ["", "`world` and `plain` differ in:", "", *(f"- {text}" for text in different)]


def _skipped(results: dict[tuple[str, str], list[Result]], with_names: bool) -> list[str]:
    """Return, for each reason, the number of rows, and the names of their programs."""
    by_reason = collections.defaultdict(set)
    for found in results.values():
        for r in found:
            if not r.runnable:
                by_reason[r.detail].add(r.name)
    lines = []
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        programs = ", ".join(sorted({f"`{name.split()[0]}`" for name in names}))
        lines.append(f"- {reason}: {len(names)} rows" + (f" ({programs})" if with_names else ""))
    return lines


def document(
    results: dict[tuple[str, str], list[Result]],
    suite: str,
    versions: dict[str, str],
    note: str = "",
    is_summary: bool = False,
    title: str = "Results of a foreign test suite",
) -> str:
    """Return the page of results: numbers by MPI library, folder and mode, and each exception."""
    lines = [
        f"# {title}",
        "",
        f"`tests/foreign/run-suite` generates this page from runs of {suite},",
        "which is not part of this repository. Each number is the tests that passed, of the tests "
        "that",
        "can run, by the suite's own rules; each row of its lists is one test. The tests in the "
        "folder",
        "`errors` make wrong calls; the tests marked `xfail` are expected to fail by the suite "
        "itself.",
        "",
        *(
            f"- `{mode.name}`: {mode.meaning}"
            for mode in MODES.values()
            if any(run == mode.name for _, run in results)
        ),
        *(["", note] if note else []),
    ]
    for mpi in dict.fromkeys(mpi for mpi, _ in results):
        by_mode = {mode: found for (of, mode), found in results.items() if of == mpi}
        lines += [
            "",
            f"## Over {versions.get(mpi, mpi)}",
            "",
            *_numbers(mpi, by_mode),
            *_agreement(by_mode),
        ]
        plain = {result.name: result for result in by_mode.get("plain", [])}
        for mode in (mode for mode in MODES if by_mode.get(mode)):
            with_names = not is_summary or MODES[mode].asks_causes
            if exceptions := _exceptions(by_mode[mode], plain, with_names):
                lines += ["", f"### `{mode}`: tests that do not pass", *exceptions]
    if folders := missing([result for found in results.values() for result in found]):
        lines += ["", "## Folders without a test that can run", "", *folders]
    return (
        "\n".join([*lines, "", "## Tests that cannot run", "", *_skipped(results, not is_summary)])
        + "\n"
    )


def machine_readable(results: dict[tuple[str, str], list[Result]]) -> str:
    """Return the results as CSV, one line for each test and mode."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["mpi", "mode", "test", "result", "reason"])
    for (mpi, _), found in results.items():
        plain = {result.name: result for result in results.get((mpi, "plain"), [])}
        for r in found:
            reason = r.detail if not r.runnable else "" if r.result == PASS else cause(r, plain)
            writer.writerow([r.mpi, r.mode, r.name, r.result, reason])
    return out.getvalue()
