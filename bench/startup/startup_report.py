# SPDX-License-Identifier: BSD-3-Clause
"""Writes the results of bench/startup as Markdown, CSV and figures."""
import csv
import os
import re
import statistics

import figures
import measuring
from figures import Bar, Group

WORLD, OURS, SPARSE = "MPI_Init", "sessions", "sparse sessions"
SERVED = "MPI_Init on sessions"
CSV_FIELDS = (
    "mpi",
    "cores",
    "system",
    "nodes",
    "per_node",
    "phase",
    "quantity",
    "median",
    "low",
    "high",
    "repetitions",
)
# Phases until the communicators exist, with their names in the figures.
STARTING = {
    "world_init": "MPI_Init",
    "session_init": "MPI_Session_init",
    "self_comm": "self",
    "world_comm": "world",
    "sparse_comms": "sparse world",
}
NEXT = "first operations"
LATER = ("allreduce_first", "allreduce", "second_comm", "dup", "first_message")


def total_of(system):
    """Return the phase that lasts until the world communicator exists."""
    return "world_init" if system in (WORLD, SERVED) else "session_total"


def _number(value, scale=1.0):
    return (
        ""
        if value is None
        else f"{value * scale:.3g}"
        if abs(value * scale) < 1000
        else f"{value * scale:.0f}"
    )


def _spread(values):
    if not values:
        return ""
    return f"**{statistics.median(values):.3g}** ({min(values):.3g}–{max(values):.3g})"


def _where(shape):
    return [str(shape[0]), str(shape[1])]


def _is_measured(measured, system, shape, quantity="max_ms"):
    return bool(measured.series(system, shape, total_of(system), quantity))


def beyond_launcher(measured, shape, of="mean_kib"):
    """Return the KiB of a process for a session and the world communicator, without the client.

    The launcher's client is subtracted if the process has one. of: mean_kib, or max_kib for the
    largest process; the size before the first step and the client's size are always means.
    """

    def added(system, phase, of="mean_kib"):
        after, before = measured.middle(system, shape, phase, of), measured.middle(
            system, shape, "start", "mean_kib"
        )
        return None if after is None or before is None else after - before

    ours, client = added(OURS, "world_comm", of), added("launcher's client", "launcher_init")
    if (
        ours is None
        or client is None
        or not measured.middle(OURS, shape, "created.launcher_connections", "mean_count")
    ):
        return ours
    return ours - client


def _verdict(is_met):
    return "yes" if is_met else "**no**"


def _goal_of_ratio(measured, what, shape, other, limit, text, system=OURS):
    ratios = measured.ratios((system, total_of(system)), (other, total_of(other)), shape)
    if not ratios:
        return []
    ours, theirs = measured.middle(system, shape, total_of(system), "max_ms"), measured.middle(
        other, shape, total_of(other), "max_ms"
    )
    return [
        [
            what,
            *_where(shape),
            f"{_number(ours)} ms",
            f"{_number(theirs)} ms",
            _spread(ratios),
            text,
            _verdict(statistics.median(ratios) <= limit),
        ]
    ]


def _goal_of_value(measured, what, shape, value, other, unit, limit, text):
    if value is None:
        return []
    beside = "" if other is None else f"{_number(other)} {unit}"
    return [
        [
            what,
            *_where(shape),
            f"{_number(value)} {unit}",
            beside,
            "",
            text,
            _verdict(value < limit),
        ]
    ]


def goals(measured):
    """Return the table of goals."""
    rows = []
    for shape in measured.shapes:
        nodes, per_node = shape
        if nodes == 1 and per_node <= 64:
            rows += _goal_of_ratio(
                measured, "session + world communicator / MPI_Init", shape, WORLD, 0.1, "≤ 0.1"
            )
            rows += _goal_of_ratio(
                measured, "MPI_Init on sessions / MPI_Init", shape, WORLD, 0.1, "≤ 0.1", SERVED
            )
            for other in measured.systems:
                if other.startswith("native"):
                    rows += _goal_of_ratio(
                        measured, f"session + world communicator / {other}", shape, other, 1, "< 1"
                    )
        elif nodes == 8:
            rows += _goal_of_ratio(
                measured, "session + world communicator / MPI_Init", shape, WORLD, 0.5, "≤ 0.5"
            )
        micro = lambda phase, system: (lambda ms: None if ms is None else ms * 1e3)(
            measured.middle(system, shape, phase, "max_ms")
        )
        if nodes == 1 and per_node in (2, 32):
            rows += _goal_of_value(
                measured,
                "second communicator of the same processes",
                shape,
                micro("second_comm", OURS),
                micro("second_comm", WORLD),
                "µs",
                100,
                "< 100 µs",
            )
        if nodes == 1:
            rows += _goal_of_value(
                measured,
                "MPI_Comm_dup",
                shape,
                micro("dup", OURS),
                micro("dup", WORLD),
                "µs",
                2,
                "< 2 µs",
            )
        if nodes * per_node == 256:
            for what, of in (
                ("memory per process beyond PMIx", "mean_kib"),
                ("memory of the largest process beyond PMIx", "max_kib"),
            ):
                rows += _goal_of_value(
                    measured,
                    what,
                    shape,
                    beyond_launcher(measured, shape, of),
                    None,
                    "KiB",
                    1024,
                    "< 1024 KiB",
                )
    return measuring.table(
        ("measure", "nodes", "per node", "sessions", "other", "ratio (spread)", "goal", "met"), rows
    )


def _mean_and_most(measured, system, shape, phase, scale=1.0):
    mean, most = (
        measured.middle(system, shape, phase, quantity) for quantity in ("mean_ms", "max_ms")
    )
    return "" if mean is None else f"{_number(mean, scale)}, {_number(most, scale)}"


def _times(measured, shapes, systems):
    rows = []
    for shape in shapes:
        for system in systems:
            if not _is_measured(measured, system, shape):
                continue
            ratios = measured.ratios((system, total_of(system)), (WORLD, "world_init"), shape)
            made = (
                "world_comm"
                if measured.middle(system, shape, "world_comm", "mean_ms") is not None
                else "sparse_comms"
            )
            rows.append(
                [
                    *_where(shape),
                    system,
                    *(
                        _mean_and_most(measured, system, shape, phase)
                        for phase in ("session_init", "self_comm", made, total_of(system))
                    ),
                    "" if system == WORLD else _spread(ratios),
                ]
            )
    return measuring.table(
        (
            "nodes",
            "per node",
            "system",
            "session init",
            "self",
            "world or sparse",
            "all",
            "maximum / maximum of MPI_Init (spread)",
        ),
        rows,
    )


def _later(measured):
    rows = []
    for shape in measured.shapes:
        for system in measured.systems:
            values = [_mean_and_most(measured, system, shape, phase, 1e3) for phase in LATER]
            if any(values):
                rows.append([*_where(shape), system, *values])
    return measuring.table(
        (
            "nodes",
            "per node",
            "system",
            "first allreduce",
            "allreduce",
            "second communicator",
            "dup",
            "first message to each process",
        ),
        rows,
    )


def memory_parts(measured, system, shape):
    """Return the KiB that each step adds to a process, and what the first operations add."""
    before = measured.middle(system, shape, "start", "mean_kib")
    parts = {}
    for phase, name in STARTING.items():
        now = measured.middle(system, shape, phase, "mean_kib")
        if now is not None and before is not None:
            parts[name] = now - before
            before = now
    last = [measured.middle(system, shape, phase, "mean_kib") for phase in LATER]
    last = [value for value in last if value is not None]
    if parts and last:
        parts[NEXT] = last[-1] - before
    return parts


def _memory(measured):
    rows = []
    for shape in measured.shapes:
        client = [
            measured.middle("launcher's client", shape, phase, "mean_kib")
            for phase in ("start", "launcher_init")
        ]
        if None not in client:
            rows.append(
                [
                    *_where(shape),
                    "launcher's client alone",
                    "",
                    "",
                    "",
                    _number(client[1] - client[0]),
                    "",
                    "",
                    "",
                    "",
                ]
            )
        for system in measured.systems:
            parts = memory_parts(measured, system, shape)
            if not parts:
                continue
            created = next(
                p
                for p in ("world_init", "world_comm", "sparse_comms")
                if measured.series(system, shape, p, "mean_kib")
            )
            shared = measured.middle(system, shape, created, "shared_kib")
            most, start = measured.middle(system, shape, created, "max_kib"), measured.middle(
                system, shape, "start", "mean_kib"
            )
            steps = [parts.get(name) for name in ("MPI_Session_init", "self")]
            made = next((parts[name] for name in ("world", "sparse world") if name in parts), None)
            until = sum(value for name, value in parts.items() if name != NEXT)
            rows.append(
                [
                    *_where(shape),
                    system,
                    *(_number(s) for s in steps),
                    _number(made),
                    _number(until),
                    _number(most - start),
                    _number(until * shape[0] * shape[1]),
                    _number(parts.get(NEXT)),
                    _number(shared),
                ]
            )
    return measuring.table(
        (
            "nodes",
            "per node",
            "system",
            "session init",
            "self",
            "world or sparse",
            "sum",
            "largest process",
            "all processes",
            NEXT,
            "shared, all processes",
        ),
        rows,
    )


# Counts in the report, once the communicators exist and after the first operations: the key, and
# whether the mean or the largest value of all processes is shown.
COUNTS = {
    "created": (
        ("launcher_publishes", "max"),
        ("launcher_lookups", "max"),
        ("launcher_sought", "max"),
        ("launcher_retries", "max"),
        ("launcher_fences", "max"),
        ("contact_connections", "max"),
        ("contact_messages", "max"),
        ("contact_bytes", "max"),
        ("fabric_open", "max"),
        ("node_connections", "mean"),
        ("control_messages", "max"),
        ("control_messages", "mean"),
        ("control_bytes", "mean"),
    ),
    "used": (
        ("launcher_lookups", "max"),
        ("contact_connections", "max"),
        ("fabric_connections", "max"),
        ("fabric_addresses", "max"),
        ("fabric_packets", "mean"),
        ("fabric_bytes", "mean"),
        ("node_connections", "max"),
        ("node_packets", "mean"),
        ("node_bytes", "mean"),
    ),
}


def _counts(measured, when):
    keys = COUNTS[when]
    rows = []
    for shape in measured.shapes:
        for system in measured.systems:
            values = [
                measured.middle(system, shape, f"{when}.{key}", f"{kind}_count")
                for key, kind in keys
            ]
            if any(value is not None for value in values):
                rows.append([*_where(shape), system, *(_number(value) for value in values)])
    return measuring.table(
        ["nodes", "per node", "system"]
        + [f"{key.replace('_', ' ')} ({kind})" for key, kind in keys],
        rows,
    )


def _without_folders(text):
    """Return a command and its failure without folders."""
    return re.sub(r"^.*/(startup_\w+)", r"\1", re.sub(r" memory=\S+", " memory", text))


def _failures(measured):
    if not measured.failures:
        return ""
    lines = [
        f"- {system}, {shape[0]} node(s) with {shape[1]} processes each: "
        f"{_without_folders(text.splitlines()[0])}"
        for system, shape, text in measured.failures
    ]
    return "\n\n## Failed jobs\n\n" + "\n".join(dict.fromkeys(lines))


def _by_kind(measured):
    """Return the shapes on one node and on several nodes in which anything was measured."""
    shapes = [
        shape
        for shape in measured.shapes
        if any(_is_measured(measured, system, shape) for system in measured.systems)
    ]
    return (
        ("processes", [shape for shape in shapes if shape[0] == 1]),
        ("nodes", [shape for shape in shapes if shape[0] > 1]),
    )


def markdown(measured, bench, options):
    """Return the report."""

    def images(kind):
        return "\n".join(
            f"![{kind}]({options.name}-{options.mpi}-{kind}-{over}.svg)\n"
            for over, shapes in _by_kind(measured)
            if shapes
        )

    parts = [
        f"{measuring.machine(bench.mpi)}; medians of {options.repetitions} repetitions, at most 3 "
        f"with {options.few} processes or more, 1 with {options.many} or more.",
        "## Goals\n\n" + goals(measured),
        "## Time until the communicators exist\n\n"
        "Milliseconds: mean over the processes, maximum.\n\n"
        + images("time")
        + "\n"
        + _times(measured, measured.shapes, measured.systems),
        "## First operations\n\nMicroseconds: mean over the processes, maximum.\n\n"
        + _later(measured),
        "## Memory\n\nKiB of proportional set size that a step adds to a process, in the mean; the "
        "largest process beside the mean of what it was before the first step. One job each.\n\n"
        + images("memory")
        + "\n"
        + _memory(measured),
        "## Counts\n\nOf one process, before the first message; the keys are those of "
        "docs/user/counts.md.\n\n" + _counts(measured, "created"),
        "After allreduces, another communicator, duplicates and the first messages:\n\n"
        + _counts(measured, "used"),
    ]
    return "\n\n".join(parts) + _failures(measured) + "\n"


def _figure(measured, kind, shapes):
    groups = []
    for shape in shapes:
        bars = []
        for system in measured.systems:
            if kind == "time":
                parts = {
                    name: measured.middle(system, shape, phase, "mean_ms")
                    for phase, name in STARTING.items()
                }
                parts = {name: value for name, value in parts.items() if value is not None}
                most = measured.middle(system, shape, total_of(system), "max_ms")
            else:
                parts = {
                    name: value / 1024
                    for name, value in memory_parts(measured, system, shape).items()
                }
                most = None
            if parts:
                bars.append(Bar(system, parts, most))
        groups.append(Group(f"{shape[0]} × {shape[1]}", bars))
    title = (
        "Time until the communicators exist: mean over the processes"
        if kind == "time"
        else "Memory added to a process: mean proportional set size"
    )
    return figures.draw_bars(
        f"{title} (nodes × processes on each)",
        "ms" if kind == "time" else "MiB",
        groups,
        (*STARTING.values(), NEXT),
    )


def write(measured, text, folder, name):
    """Write <name>.md, <name>.csv, and figures of time and of memory."""
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_FIELDS)
        for (system, nodes, per_node, phase, quantity), series in measured.values.items():
            known = [value for value in series if value is not None]
            writer.writerow(
                (
                    name.rpartition("-")[2],
                    os.cpu_count(),
                    system,
                    nodes,
                    per_node,
                    phase,
                    quantity,
                    *(f"{v:.6g}" for v in (statistics.median(known), min(known), max(known))),
                    len(known),
                )
            )
    for over, shapes in _by_kind(measured):
        for kind in ("time", "memory"):
            if shapes:
                figure = _figure(measured, kind, shapes)
                figures.save(figure, folder / f"{name}-{kind}-{over}.svg")
