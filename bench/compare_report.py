# SPDX-License-Identifier: BSD-3-Clause
"""What bench/compare has measured, as Markdown, CSV and figures."""
import csv
import dataclasses
import re
import statistics

import compare_jobs
import compare_plots
import measuring
import ratio_dots
from compare_jobs import BETWEEN_NODES, CROWD, LIBRARY, MATCHED, OURS, PRELOADED, RAW, RAW_CONNECTION, RAW_LIBFABRIC, WORLD, Row

CSV_FIELDS = ("mpi", "part", "what", "bytes", "processes", "nodes", "system", "median_us", "low_us", "high_us", "repetitions", "word_ns",
              "ratio_of", "ratio_to", "ratio", "ratio_low", "ratio_high")


def _is_rate(row):
    return row.what.startswith(("bandwidth", "rate"))


@dataclasses.dataclass(frozen=True)
class Goal:
    """ratio: of times, ours to the other's, at most. Bandwidth and rate are told as what they are: the other way round."""
    measure: str
    other: str            # a system, or BETTER
    ratio: float
    rows: dict            # what a row's fields may be; those that are not named do not matter
    ours: str = OURS      # the system that is to reach it
    least: float = 0.0    # of the ratio, where it is to be the same and not only no more

    def applies(self, row):
        return all(getattr(row, field) in values for field, values in self.rows.items())

    def title(self, row):
        """Collectives are many, and so may be the ways between nodes: told one by one. A measure may name the row it is of."""
        what, over, way = row.what.partition(" over ")
        return row.what if self.other == BETTER else self.measure.format(what=what) + over + way

    def is_reached(self, ratios):
        return self.least <= statistics.median(ratios) <= self.ratio

    def text(self, is_rate=False):
        if self.least:
            return f"{(self.ratio + self.least) / 2:.2f} ± {(self.ratio - self.least) / 2:.2f}"
        return f"≥ {1 / self.ratio:.2g}" if is_rate else f"≤ {self.ratio:.2g}"


def _messages(what, *sizes, part="messages"):
    return {"part": (part,), "what": (what,), "bytes": sizes, "processes": (2,)}


_SHORT_OVER_ALL_WAYS = {"part": ("fabric",), "bytes": (8,)}
BETTER = "the better of world and native sessions"
_TOGETHER = ("Allreduce", "Bcast", "Barrier", "Alltoall")
GOALS = (
    Goal("8-byte latency", WORLD, 0.9, _messages("latency", 8)),
    Goal("8-byte latency", RAW, 1.6, _messages("latency", 8)),
    Goal("bandwidth", WORLD, 1 / 1.1, _messages("bandwidth", 1 << 20, 4 << 20)),
    Goal("8-byte message rate, window 64", WORLD, 1 / 1.2, _messages("rate", 8)),
    Goal("collectives", BETTER, 1.0, {"part": ("collectives",), "what": _TOGETHER, "processes": (2, 8)}),
    Goal(f"{CROWD} processes, those that wait give their core away: {{what}}", WORLD, 1.0, {"part": ("crowded",)}),
    Goal("8-byte latency between nodes", WORLD, 1.0, _messages("latency", 8, part="nodes")),
    Goal("bandwidth between nodes", WORLD, 1.0, _messages("bandwidth", 1 << 20, part="nodes")),
    Goal("8-byte latency between nodes", RAW_CONNECTION, 1.1, _SHORT_OVER_ALL_WAYS),
    Goal("8-byte latency between nodes", RAW_LIBFABRIC, 1.1, _SHORT_OVER_ALL_WAYS),
    Goal("8-byte latency between nodes, matched by the provider,", RAW_LIBFABRIC, 1.1, _SHORT_OVER_ALL_WAYS, ours=MATCHED),
    *(Goal(f"a program without sessions, with the library preloaded: {what}", WORLD, 1.02, _messages(what, size), ours=PRELOADED, least=0.98)
      for what, size in (("MPI_Comm_rank", 0), ("latency", 8), ("latency", 65536), ("bandwidth", 1 << 20), ("rate", 8))),
)
# Of rows that are many, and each of them noisy: told in one line, of the rows' medians.
SUMMED_GOALS = (
    Goal("a program without sessions, with the library preloaded: {count} rows of collectives, their medians (quartiles)", WORLD, 1.02,
         {"part": ("collectives",)}, ours=PRELOADED, least=0.98),
)


def size_text(size):
    return measuring.size_text(size, "B") if size else ""


def _value(row, microseconds):
    """In the unit in which one speaks of it."""
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
    told = [1 / ratio for ratio in ratios] if is_rate else ratios
    return f"**{statistics.median(told):.3g}** ({min(told):.3g}–{max(told):.3g})"


def _quartiles(ratios):
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"**{middle:.3g}** ({low:.3g}–{high:.3g})"


def _yes_or_no(is_reached):
    return "yes" if is_reached else "**no**"


def _middle(measured, row, system):
    series = measured.series(row, system)
    return statistics.median(series) if series else None


def _other(measured, row, goal):
    """The system that the goal compares with, in this row; None where it was not measured."""
    if goal.other != BETTER:
        return goal.other if measured.series(row, goal.other) else None
    others = [name for name in measured.systems if name not in (OURS, LIBRARY, PRELOADED) and measured.ratios(row, goal.ours, name)]
    return max(others, key=lambda name: statistics.median(measured.ratios(row, goal.ours, name)), default=None)


def _rows_of(goal, measured):
    """(row, other, ratios) of all that the goal is of."""
    for row in measured.values:
        other = _other(measured, row, goal) if goal.applies(row) else None
        ratios = measured.ratios(row, goal.ours, other) if other else []
        if ratios:
            yield row, other, ratios


def verdicts(measured):
    """(goal, row, other, ratios, is it reached) of all that has a goal by itself."""
    for goal in GOALS:
        for row, other, ratios in _rows_of(goal, measured):
            yield goal, row, other, ratios, goal.is_reached(ratios)


def summed_verdicts(measured):
    """(goal, medians of its rows' ratios, processes, is it reached)"""
    for goal in SUMMED_GOALS:
        rows = list(_rows_of(goal, measured))
        medians = [statistics.median(ratios) for _, _, ratios in rows]
        if len(medians) > 1:
            yield goal, medians, sorted({row.processes for row, _, _ in rows}), goal.is_reached(medians)


def _goals(measured):
    rows = []
    for goal, row, other, ratios, is_reached in verdicts(measured):
        if goal.other == BETTER and is_reached:
            continue   # they are many; those that are not are told one by one
        rows.append([goal.title(row), size_text(row.bytes), str(row.processes), _value(row, _middle(measured, row, goal.ours)), other,
                     _value(row, _middle(measured, row, other)), _ratio(ratios, _is_rate(row)), goal.text(_is_rate(row)), _yes_or_no(is_reached)])
    for goal, medians, processes, is_reached in summed_verdicts(measured):
        rows.append([goal.measure.format(count=len(medians)), "", ", ".join(map(str, processes)), "", goal.other, "", _quartiles(medians),
                     goal.text(), _yes_or_no(is_reached)])
    together = [is_reached for goal, _, _, _, is_reached in verdicts(measured) if goal.other == BETTER]
    text = measuring.table(("measure", "bytes", "processes", "", "against", "", "ratio (spread)", "to reach", "reached"), rows)
    if together:
        text += (f"\n\nOf {len(together)} rows of {', '.join(_TOGETHER)} with 2 and 8 processes {sum(together)} are at most "
                 f"1.0 of {BETTER}; the others are in the table.")
    return text


def _compared(system):
    """Whose ratio to whom stands beside a system's figure, and how that is called."""
    return (PRELOADED, WORLD, "its ratio to world") if system == PRELOADED else (OURS, system, "sessions' ratio to it")


def _all(measured, part):
    rows = []
    others = [name for name in measured.systems if name != OURS]
    for row in (row for row in measured.values if row.part == part):
        cells = [row.what, size_text(row.bytes), str(row.processes)]
        ours = _middle(measured, row, OURS)
        cells.append("" if ours is None else _value(row, ours))
        for other in others:
            of, to, _ = _compared(other)
            value, ratios = _middle(measured, row, other), measured.ratios(row, of, to)
            cells.append("" if value is None else _value(row, value) + (f"; {_ratio(ratios, _is_rate(row))}" if ratios else ""))
        if any(cells[3:]):
            rows.append(cells)
    used = [3 + i for i in range(len(others) + 1) if any(row[3 + i] for row in rows)]
    head = ["", "bytes", "processes", OURS, *(f"{name}; {_compared(name)[2]}" for name in others)]
    keep = [0, 1, 2, *used]
    return measuring.table([head[i] for i in keep], [[row[i] for i in keep] for row in rows])


_TITLES = {"messages": "Messages between pairs of processes, one node", "collectives": "Collectives, one node",
           "nonblocking": "Non-blocking collectives, started and waited for, one node",
           "persistent": "Persistent collectives, made once, started and waited for, one node",
           "copied": "Long messages and collectives where no process reads another's memory, one node",
           "crowded": "More processes than cores, one node, all with their own yielding",
           "rings": "Rings, one node: to either neighbour in turn", "first": "What is the first of its kind in a job, one node", "startup": "Start-up, one node", "nodes": "Messages between two nodes",
           "spanning": "Collectives of two nodes",
           "threads": "Threads, each with a communicator of its own: messages of all of them, to another process and to themselves",
           "fabric": "Messages between two nodes, over each way beside what lies below it"}
# (what, of one thread, of two)
_THREADS = (("to another process", Row("threads", "rate, 1 thread (multiple)", 8, 2, 1), Row("threads", "rate, 2 threads", 8, 2, 1)),
            ("to another node", Row("threads", "rate, 1 thread (multiple)" + BETWEEN_NODES, 8, 2, 2),
             Row("threads", "rate, 2 threads" + BETWEEN_NODES, 8, 2, 2)),
            ("to themselves", Row("threads", "rate to itself, 1 thread", 8, 1, 1), Row("threads", "rate to itself, 2 threads", 8, 1, 1)))


def _gain_of_threads(measured):
    """What a second thread brings to each system."""
    rows = []
    for whom, one, two in _THREADS:
        for system in measured.systems:
            if ratios := measured.ratios_between((two, system), (one, system)):
                rows.append([system, whom, *(_value(row, _middle(measured, row, system)) for row in (one, two)), _ratio(ratios, is_rate=True)])
    return measuring.table(("", "", "1 thread", "2 threads", "ratio of 2 to 1"), rows)


# Of programs: where they lie on this machine is of no interest to others.
_FOLDERS = re.compile(r"(?<!\S)/(?:[^\s/]+/)+")


def _reason(why):
    """Of what a job that failed has printed, what it says first and what is no row."""
    told = [line for line in why.splitlines()[1:] if line.strip("-= ") and not compare_jobs.is_row(line)]
    return _FOLDERS.sub("", (told or why.splitlines())[0])[:200]


def _words(measured):
    """How far the two processes of a row were apart."""
    words = measured.words()
    if not words:
        return ""
    return (f" Between two processes a bare word took {min(words):.0f} to {max(words):.0f} ns, in the median {statistics.median(words):.0f}; ratios "
            "are of those of their figures for which it took about as long, as far as there are such, and times of all of them.")


def _not_run(measured):
    """One line for each system that was left out, and for each place where one failed."""
    lines = [f"- {system}, {where}: {why}" for system, where, why in measured.left_out]
    return lines + [f"- {system}, {place}: {_reason(why)}" for system, place, why in measured.failures]


def markdown(measured, bench):
    options = bench.options
    parts = list(dict.fromkeys(row.part for row in measured.values))
    text = [f"{measuring.machine(bench.mpi)}; medians of {options.repetitions} repetitions, in each of which all systems ran in turn. Ratios are "
            "the medians of the repetitions' own, with the least and the largest; of bandwidth and rate more is better, else less." + _words(measured),
            "## What is to be reached", _goals(measured)]
    for part in parts:
        text += [f"## {_TITLES[part]}", _all(measured, part)]
        if part == "threads":
            text.append(_gain_of_threads(measured))
    if lines := _not_run(measured):
        text += ["## What did not run", "\n".join(lines)]
    return "\n\n".join(text) + "\n"


def _figure(measured, part, ours, other):
    dots = []
    for row in (row for row in measured.values if row.part == part):
        if ratios := measured.ratios(row, ours, other):
            label = ", ".join(word for word in (row.what, size_text(row.bytes), f"{row.processes} processes") if word)
            dots.append(ratio_dots.Dot(label, statistics.median(ratios), min(ratios), max(ratios)))
    return ratio_dots.draw(f"{_TITLES[part]}: time of {ours} / {other}", dots) if dots else None


# Of each part that has both: whose ratio to whom is drawn, and how the file is called.
_FIGURES = ((OURS, WORLD, "world"), (PRELOADED, WORLD, "preloaded"), (OURS, RAW_CONNECTION, "connection"), (OURS, RAW_LIBFABRIC, "libfabric"),
            (MATCHED, RAW_LIBFABRIC, "matched"))


def _spread(values):
    return [f"{value:.6g}" for value in (statistics.median(values), min(values), max(values))]


def _csv_figures(measured, row, system):
    """The system's own, then the ratio of times that stands beside it in the tables; what there is not is empty."""
    series, words = measured.series(row, system), [figure.word for figure in measured.figures(row, system) if figure.word]
    of, to, _ = _compared(system)
    ratios = measured.ratios(row, of, to) if of != to else []
    return (*_spread(series), len(series), f"{statistics.median(words):.1f}" if words else "", *((of, to, *_spread(ratios)) if ratios else [""] * 5))


def write(measured, text, folder, name):
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_FIELDS)
        for row, systems in measured.values.items():
            for system in systems:
                if measured.series(row, system):
                    writer.writerow((name.split("-")[-1], *row, system, *_csv_figures(measured, row, system)))
    for part in dict.fromkeys(row.part for row in measured.values):
        for ours, other, word in (*_FIGURES, *((OURS, system, "native") for system in measured.systems if system.startswith("native"))):
            if figure := _figure(measured, part, ours, other):
                (folder / f"{name}-{part}-{word}.svg").write_text(figure, encoding="utf-8")
    for word, figure in compare_plots.draw_all(measured):
        (folder / f"{name}-{word}.svg").write_text(figure, encoding="utf-8")
