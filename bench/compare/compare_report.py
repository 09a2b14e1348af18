# SPDX-License-Identifier: BSD-3-Clause
"""Writes the results of bench/compare as Markdown, CSV and figures."""
import csv
import dataclasses
import re
import statistics

import compare_figures
import compare_jobs
import figures
import measuring
from compare_jobs import (
    BETWEEN_NODES,
    CORE_TO_CORE,
    LIBRARY,
    OURS,
    OVERSUBSCRIBED,
    PRELOADED,
    PROVIDER_MATCHING,
    RAW_LIBFABRIC,
    RAW_TCP,
    WORLD,
    Row,
)

CSV_FIELDS = (
    "mpi",
    "part",
    "what",
    "bytes",
    "processes",
    "nodes",
    "system",
    "median_us",
    "low_us",
    "high_us",
    "repetitions",
    "core_latency_ns",
    "ratio_of",
    "ratio_to",
    "ratio",
    "ratio_low",
    "ratio_high",
)


def _is_rate(row):
    return row.what.startswith(("bandwidth", "rate"))


@dataclasses.dataclass(frozen=True)
class Goal:
    """A limit of the ratio of two systems' times.

    Reports show the inverse ratio for bandwidth and rate.
    """

    measure: str
    other: str  # a system, or BETTER
    ratio: float
    rows: dict  # allowed values of a row's fields; other fields are not tested
    ours: str = OURS  # the system that has the goal
    least: float = 0.0  # lower limit of the ratio, if the times should be equal

    def applies(self, row):
        """True if the goal is one of this row."""
        return all(getattr(row, field) in values for field, values in self.rows.items())

    def title(self, row):
        """Return the name of the goal for one row."""
        what, over, path = row.what.partition(" over ")
        return row.what if self.other == BETTER else self.measure.format(what=what) + over + path

    def is_met(self, ratios):
        """True if the median of the ratios is within the limits."""
        return self.least <= statistics.median(ratios) <= self.ratio

    def text(self, is_rate=False):
        """Return the limit as text."""
        if self.least:
            return f"{(self.ratio + self.least) / 2:.2f} ± {(self.ratio - self.least) / 2:.2f}"
        return f"≥ {1 / self.ratio:.2g}" if is_rate else f"≤ {self.ratio:.2g}"


def _messages(what, *sizes, part="messages"):
    return {"part": (part,), "what": (what,), "bytes": sizes, "processes": (2,)}


_SHORT_OVER_ALL_PATHS = {"part": ("fabric",), "bytes": (8,)}
BETTER = "the better of world and native sessions"
_BETTER_ROWS = ("Allreduce", "Bcast", "Barrier", "Alltoall")
GOALS = (
    Goal("8-byte latency", WORLD, 0.9, _messages("latency", 8)),
    Goal("8-byte latency", CORE_TO_CORE, 1.6, _messages("latency", 8)),
    Goal("bandwidth", WORLD, 1 / 1.1, _messages("bandwidth", 1 << 20, 4 << 20)),
    Goal("8-byte message rate, window 64", WORLD, 1 / 1.2, _messages("rate", 8)),
    Goal(
        "collectives",
        BETTER,
        1.0,
        {"part": ("collectives",), "what": _BETTER_ROWS, "processes": (2, 8)},
    ),
    Goal(
        f"{OVERSUBSCRIBED} processes, yielding: {{what}}",
        WORLD,
        1.0,
        {"part": ("oversubscribed",)},
    ),
    Goal(
        "8-byte latency between nodes",
        WORLD,
        1.0,
        _messages("latency", 8, part="internode_messages"),
    ),
    Goal(
        "bandwidth between nodes",
        WORLD,
        1.0,
        _messages("bandwidth", 1 << 20, part="internode_messages"),
    ),
    Goal("8-byte latency between nodes", RAW_TCP, 1.1, _SHORT_OVER_ALL_PATHS),
    Goal("8-byte latency between nodes", RAW_LIBFABRIC, 1.1, _SHORT_OVER_ALL_PATHS),
    Goal(
        "8-byte latency between nodes, provider matching,",
        RAW_LIBFABRIC,
        1.1,
        _SHORT_OVER_ALL_PATHS,
        ours=PROVIDER_MATCHING,
    ),
    *(
        Goal(
            f"library preloaded, not used: {what}",
            WORLD,
            1.02,
            _messages(what, size),
            ours=PRELOADED,
            least=0.98,
        )
        for what, size in (
            ("MPI_Comm_rank", 0),
            ("latency", 8),
            ("latency", 65536),
            ("bandwidth", 1 << 20),
            ("rate", 8),
        )
    ),
)
# Goals of the median of many noisy rows.
SUMMED_GOALS = (
    Goal(
        "library preloaded, not used: medians of {count} rows of collectives (quartiles)",
        WORLD,
        1.02,
        {"part": ("collectives",)},
        ours=PRELOADED,
        least=0.98,
    ),
)


def size_text(size):
    """Return a number of bytes with its unit; empty for 0."""
    return measuring.size_text(size, "B") if size else ""


def _value(row, microseconds):
    """Return the time in the usual unit of the row."""
    if row.what.startswith("bandwidth"):
        return f"{row.bytes / microseconds / 1e3:.3g} GB/s"
    if row.what.startswith("rate"):
        return f"{1 / microseconds:.3g} M/s"
    if microseconds >= 1e4:
        return f"{microseconds / 1e3:.3g} ms"
    if microseconds < 0.1:
        return f"{microseconds * 1e3:.3g} ns"
    return f"{microseconds:.3g} µs"


def _ratio(ratios, is_rate):
    shown = [1 / ratio for ratio in ratios] if is_rate else ratios
    return f"**{statistics.median(shown):.3g}** ({min(shown):.3g}–{max(shown):.3g})"


def _quartiles(ratios):
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"**{middle:.3g}** ({low:.3g}–{high:.3g})"


def _yes_or_no(is_met):
    return "yes" if is_met else "**no**"


def _median(measured, row, system):
    series = measured.series(row, system)
    return statistics.median(series) if series else None


def _other(measured, row, goal):
    """Return the system that a goal compares with in a row; None if it was not measured."""
    if goal.other != BETTER:
        return goal.other if measured.series(row, goal.other) else None
    others = [
        name
        for name in measured.systems
        if name not in (OURS, LIBRARY, PRELOADED) and measured.ratios(row, goal.ours, name)
    ]
    return max(
        others,
        key=lambda name: statistics.median(measured.ratios(row, goal.ours, name)),
        default=None,
    )


def _rows_of(goal, measured):
    """Yield (row, other, ratios) of all rows of a goal."""
    for row in measured.values:
        other = _other(measured, row, goal) if goal.applies(row) else None
        ratios = measured.ratios(row, goal.ours, other) if other else []
        if ratios:
            yield row, other, ratios


def verdicts(measured):
    """Yield (goal, row, other, ratios, is_met) of all goals of single rows."""
    for goal in GOALS:
        for row, other, ratios in _rows_of(goal, measured):
            yield goal, row, other, ratios, goal.is_met(ratios)


def summed_verdicts(measured):
    """Yield (goal, medians of its rows' ratios, processes, is_met) of goals of many rows."""
    for goal in SUMMED_GOALS:
        rows = list(_rows_of(goal, measured))
        medians = [statistics.median(ratios) for _, _, ratios in rows]
        if len(medians) > 1:
            yield goal, medians, sorted({row.processes for row, _, _ in rows}), goal.is_met(medians)


def goals(measured):
    """Return the table of goals, and a sentence about collectives that meet theirs."""
    rows = []
    better = []
    for goal, row, other, ratios, is_met in verdicts(measured):
        if goal.other == BETTER:
            better.append(is_met)
            if is_met:
                continue
        rows.append(
            [
                goal.title(row),
                size_text(row.bytes),
                str(row.processes),
                _value(row, _median(measured, row, goal.ours)),
                other,
                _value(row, _median(measured, row, other)),
                _ratio(ratios, _is_rate(row)),
                goal.text(_is_rate(row)),
                _yes_or_no(is_met),
            ]
        )
    for goal, medians, processes, is_met in summed_verdicts(measured):
        rows.append(
            [
                goal.measure.format(count=len(medians)),
                "",
                ", ".join(map(str, processes)),
                "",
                goal.other,
                "",
                _quartiles(medians),
                goal.text(),
                _yes_or_no(is_met),
            ]
        )
    head = ("measure", "bytes", "processes", "value", "compared with", "its value")
    text = measuring.table((*head, "ratio (spread)", "goal", "met"), rows)
    if better:
        text += (
            f"\n\n{sum(better)} of {len(better)} rows of {', '.join(_BETTER_ROWS)} with 2 and 8 "
            f"processes take at most 1.0 times the time of {BETTER}; the table has the others."
        )
    return text


# Systems of the summary table with the system that each is compared with.
_SUMMARIES = ((OURS, WORLD), (OURS, "native"), (PRELOADED, WORLD))


def summary(measured):
    """Return a table of the ratios of times, by part and number of processes."""
    rows = []
    shapes = dict.fromkeys((row.part, row.processes) for row in measured.values)
    for part, processes in shapes:
        here = [r for r in measured.values if (r.part, r.processes) == (part, processes)]
        for ours, prefix in _SUMMARIES:
            for other in (name for name in measured.systems if name.startswith(prefix)):
                if other == ours or prefix == WORLD != other:
                    continue
                medians = {
                    row: statistics.median(ratios)
                    for row in here
                    if (ratios := measured.ratios(row, ours, other))
                }
                if not medians:
                    continue
                worst = max(medians, key=medians.get)
                rows.append(
                    [
                        part,
                        str(processes),
                        f"{ours} / {other}",
                        str(len(medians)),
                        str(sum(ratio <= 1 for ratio in medians.values())),
                        _quartiles([*medians.values()]) if len(medians) > 1 else "",
                        f"{medians[worst]:.3g}: "
                        + ", ".join(filter(None, (worst.what, size_text(worst.bytes)))),
                    ]
                )
    head = ("part", "processes", "ratio of", "rows", "at most 1.0")
    return measuring.table((*head, "median (quartiles)", "largest"), rows)


def _compared(system):
    """Return the two systems whose ratio a system's column shows, and the ratio's title."""
    return (
        (PRELOADED, WORLD, "its ratio to world")
        if system == PRELOADED
        else (OURS, system, "sessions' ratio to it")
    )


def _all(measured, part):
    """Return the table of all rows of a part."""
    rows = []
    others = [name for name in measured.systems if name != OURS]
    for row in (row for row in measured.values if row.part == part):
        cells = [row.what, size_text(row.bytes), str(row.processes)]
        ours = _median(measured, row, OURS)
        cells.append("" if ours is None else _value(row, ours))
        for other in others:
            of, to, _ = _compared(other)
            value, ratios = _median(measured, row, other), measured.ratios(row, of, to)
            cells.append(
                ""
                if value is None
                else _value(row, value) + (f"; {_ratio(ratios, _is_rate(row))}" if ratios else "")
            )
        if any(cells[3:]):
            rows.append(cells)
    used = [3 + i for i in range(len(others) + 1) if any(row[3 + i] for row in rows)]
    head = [
        "row",
        "bytes",
        "processes",
        OURS,
        *(f"{name}; {_compared(name)[2]}" for name in others),
    ]
    keep = [0, 1, 2, *used]
    return measuring.table([head[i] for i in keep], [[row[i] for i in keep] for row in rows])


TITLES = {
    "messages": "Messages between pairs of processes, one node",
    "collectives": "Blocking collectives, one node",
    "nonblocking": "Non-blocking collectives, one node",
    "persistent": "Persistent collectives, one node",
    "no_single_copy": "Long messages and collectives without single copy, one node",
    "oversubscribed": "More processes than cores, one node, yielding",
    "ring_exchange": "Exchange with both neighbours in a ring, one node",
    "first_use": "First operations of a job, one node",
    "startup": "Start-up, one node",
    "internode_messages": "Messages between two nodes",
    "internode_collectives": "Collectives on two nodes",
    "threads": "Message rate of several threads, each with its own communicator",
    "fabric": "Messages between two nodes over each path, compared with raw TCP and libfabric",
}
# Destination, row of one thread, row of two threads.
_THREADS = (
    (
        "to another process",
        Row("threads", "rate, 1 thread (multiple)", 8, 2, 1),
        Row("threads", "rate, 2 threads", 8, 2, 1),
    ),
    (
        "to another node",
        Row("threads", "rate, 1 thread (multiple)" + BETWEEN_NODES, 8, 2, 2),
        Row("threads", "rate, 2 threads" + BETWEEN_NODES, 8, 2, 2),
    ),
    (
        "to themselves",
        Row("threads", "rate to itself, 1 thread", 8, 1, 1),
        Row("threads", "rate to itself, 2 threads", 8, 1, 1),
    ),
)


def _gain_of_threads(measured):
    """Return the table of ratios of two threads' rates to one thread's."""
    rows = []
    for destination, one, two in _THREADS:
        for system in measured.systems:
            if ratios := measured.ratios_between((two, system), (one, system)):
                rows.append(
                    [
                        system,
                        destination,
                        *(_value(row, _median(measured, row, system)) for row in (one, two)),
                        _ratio(ratios, is_rate=True),
                    ]
                )
    return measuring.table(("system", "messages", "1 thread", "2 threads", "ratio of 2 to 1"), rows)


# Folders in paths; reports have names of programs only.
_FOLDERS = re.compile(r"(?<!\S)/(?:[^\s/]+/)+")


def _reason(why):
    """Return the first line of a failed job's output that is no row."""
    lines = [
        line for line in why.splitlines()[1:] if line.strip("-= ") and not compare_jobs.is_row(line)
    ]
    return _FOLDERS.sub("", (lines or why.splitlines())[0])[:200]


def _core_latency_text(measured):
    """Return a sentence about the core-to-core latencies."""
    latencies = measured.core_latencies()
    if not latencies:
        return ""
    return (
        f" Core-to-core latency between two processes was {min(latencies):.0f} to "
        f"{max(latencies):.0f} ns (median {statistics.median(latencies):.0f} ns). Ratios compare "
        "repetitions with similar core-to-core latency, if there are any; times are medians of all "
        "repetitions."
    )


def _not_run(measured):
    """Return one line for each system that was left out, and for each shape where one failed."""
    lines = [f"- {system}, {where}: {why}" for system, where, why in measured.left_out]
    return lines + [
        f"- {system}, {shape}: {_reason(why)}" for system, shape, why in measured.failures
    ]


def _head(measured, bench):
    return (
        f"{measuring.machine(bench.mpi)}; medians of {bench.options.repetitions} repetitions. All "
        "systems run in turn in each repetition. A ratio is the median of the ratios within "
        "repetitions, with the least and the largest. Larger ratios are better for bandwidth and "
        "rate, smaller ratios for all other rows." + _core_latency_text(measured)
    )


def summary_page(measured, bench):
    """Return the goals and the summary table, as Markdown."""
    return (
        "\n\n".join(
            (
                _head(measured, bench),
                "### Goals",
                goals(measured),
                "### All parts",
                "Ratios of times: less than 1 is better in all rows.",
                summary(measured),
            )
        )
        + "\n"
    )


def markdown(measured, bench):
    """Return the report: the goals, and tables of all rows."""
    parts = list(dict.fromkeys(row.part for row in measured.values))
    text = [_head(measured, bench), "## Goals", goals(measured)]
    for part in parts:
        text += [f"## {TITLES[part]}", _all(measured, part)]
        if part == "threads":
            text.append(_gain_of_threads(measured))
    if lines := _not_run(measured):
        text += ["## Not run", "\n".join(lines)]
    return "\n\n".join(text) + "\n"


def _spread(values):
    return [f"{value:.6g}" for value in (statistics.median(values), min(values), max(values))]


def _csv_figures(measured, row, system):
    """Return a system's values in the columns from median_us on; missing values are empty."""
    series = measured.series(row, system)
    latencies = [f.core_latency for f in measured.figures(row, system) if f.core_latency]
    of, to, _ = _compared(system)
    ratios = measured.ratios(row, of, to) if of != to else []
    return (
        *_spread(series),
        len(series),
        f"{statistics.median(latencies):.1f}" if latencies else "",
        *((of, to, *_spread(ratios)) if ratios else [""] * 5),
    )


def write(measured, text, summary_text, folder, name, figure_parts=None):
    """Write <name>.md, <name>-summary.md, <name>.csv and the figures of these parts (None: all)."""
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / f"{name}-summary.md").write_text(summary_text, encoding="utf-8")
    with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_FIELDS)
        for row, systems in measured.values.items():
            for system in systems:
                if measured.series(row, system):
                    writer.writerow(
                        (name.split("-")[-1], *row, system, *_csv_figures(measured, row, system))
                    )
    for suffix, figure in compare_figures.draw_all(measured, TITLES, figure_parts):
        figures.save(figure, folder / f"{name}-{suffix}.svg")
