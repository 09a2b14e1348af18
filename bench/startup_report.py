# SPDX-License-Identifier: BSD-3-Clause
"""What bench/startup has measured, as Markdown, CSV and figures."""
import csv
import os
import re
import statistics

import measuring
import stacked_bars
from stacked_bars import Bar, Group

WORLD, OURS, SPARSE = "MPI_Init", "sessions", "sparse sessions"
CSV_FIELDS = ("mpi", "cores", "system", "nodes", "per_node", "phase", "quantity", "median", "low", "high", "repetitions")
# the phases until there are communicators, of whichever system, with the names they have in the figures
STARTING = {"world_init": "MPI_Init", "session_init": "MPI_Session_init", "self_comm": "self", "world_comm": "world",
            "sparse_comms": "sparse world"}
NEXT = "what comes next"
LATER = ("allreduce_first", "allreduce", "second_comm", "dup", "first_message")


def total_of(system):
    """The phase that says how long it took until there was a communicator of the world."""
    return "world_init" if system == WORLD else "session_total"


def _number(value, scale=1.0):
    return "" if value is None else f"{value * scale:.3g}" if abs(value * scale) < 1000 else f"{value * scale:.0f}"


def _spread(values):
    if not values:
        return ""
    return f"**{statistics.median(values):.3g}** ({min(values):.3g}–{max(values):.3g})"


def _where(place):
    return [str(place[0]), str(place[1])]


def _is_measured(measured, system, place, quantity="max_ms"):
    return bool(measured.series(system, place, total_of(system), quantity))


def beyond_launcher(measured, place, of="mean_kib"):
    """KiB per process that a session and the communicator of the world hold, less what the launcher's client holds alone where there is one:
    in the mean, or of the largest process (max_kib) beside the mean of what it was before, and of the client."""
    def added(system, phase, of="mean_kib"):
        after, before = measured.middle(system, place, phase, of), measured.middle(system, place, "start", "mean_kib")
        return None if after is None or before is None else after - before
    ours, client = added(OURS, "world_comm", of), added("launcher's client", "launcher_init")
    if ours is None or client is None or not measured.middle(OURS, place, "created.launcher_connections", "mean_count"):
        return ours
    return ours - client


def _verdict(reached):
    return "yes" if reached else "**no**"


def _goal_of_ratio(measured, what, place, other, limit, text):
    ratios = measured.ratios((OURS, "session_total"), (other, total_of(other)), place)
    if not ratios:
        return []
    ours, theirs = measured.middle(OURS, place, "session_total", "max_ms"), measured.middle(other, place, total_of(other), "max_ms")
    return [[what, *_where(place), f"{_number(ours)} ms", f"{_number(theirs)} ms", _spread(ratios), text,
             _verdict(statistics.median(ratios) <= limit)]]


def _goal_of_value(measured, what, place, value, other, unit, limit, text):
    if value is None:
        return []
    beside = "" if other is None else f"{_number(other)} {unit}"
    return [[what, *_where(place), f"{_number(value)} {unit}", beside, "", text, _verdict(value < limit)]]


def goals(measured):
    """What is to be reached, beside what is."""
    rows = []
    for place in measured.places:
        nodes, per_node = place
        if nodes == 1 and per_node <= 64:
            rows += _goal_of_ratio(measured, "session + world communicator / MPI_Init", place, WORLD, 0.1, "≤ 0.1")
            for other in measured.systems:
                if other.startswith("native"):
                    rows += _goal_of_ratio(measured, f"the same / {other}", place, other, 1, "< 1")
        elif nodes == 8:
            rows += _goal_of_ratio(measured, "session + world communicator / MPI_Init", place, WORLD, 0.5, "≤ 0.5")
        micro = lambda phase, system: (lambda ms: None if ms is None else ms * 1e3)(measured.middle(system, place, phase, "max_ms"))
        if nodes == 1 and per_node in (2, 32):
            rows += _goal_of_value(measured, "second communicator of the same processes", place, micro("second_comm", OURS),
                                   micro("second_comm", WORLD), "µs", 100, "< 100 µs")
        if nodes == 1:
            rows += _goal_of_value(measured, "MPI_Comm_dup", place, micro("dup", OURS), micro("dup", WORLD), "µs", 2, "< 2 µs")
        if nodes * per_node == 256:
            for what, of in (("memory per process beyond PMIx", "mean_kib"), ("the same, of the largest process", "max_kib")):
                rows += _goal_of_value(measured, what, place, beyond_launcher(measured, place, of), None, "KiB", 1024, "< 1024 KiB")
    return measuring.table(("", "nodes", "per node", "ours", "other", "ratio (spread)", "to reach", "reached"), rows)


def _mean_and_most(measured, system, place, phase, scale=1.0):
    mean, most = (measured.middle(system, place, phase, quantity) for quantity in ("mean_ms", "max_ms"))
    return "" if mean is None else f"{_number(mean, scale)}, {_number(most, scale)}"


def _times(measured, places, systems):
    rows = []
    for place in places:
        for system in systems:
            if not _is_measured(measured, system, place):
                continue
            ratios = measured.ratios((system, total_of(system)), (WORLD, "world_init"), place)
            made = "world_comm" if measured.middle(system, place, "world_comm", "mean_ms") is not None else "sparse_comms"
            rows.append([*_where(place), system, *(_mean_and_most(measured, system, place, phase)
                                                   for phase in ("session_init", "self_comm", made, total_of(system))),
                         "" if system == WORLD else _spread(ratios)])
    return measuring.table(("nodes", "per node", "", "session init", "self", "world or sparse", "all", "maximum / MPI_Init's (spread)"), rows)


def _later(measured):
    rows = []
    for place in measured.places:
        for system in measured.systems:
            values = [_mean_and_most(measured, system, place, phase, 1e3) for phase in LATER]
            if any(values):
                rows.append([*_where(place), system, *values])
    return measuring.table(("nodes", "per node", "", "first allreduce", "allreduce", "second communicator", "dup", "first message to all"), rows)


def memory_parts(measured, system, place):
    """KiB per process that each step has added, and of what one does next: the last of it less the last step."""
    before = measured.middle(system, place, "start", "mean_kib")
    parts = {}
    for phase, name in STARTING.items():
        now = measured.middle(system, place, phase, "mean_kib")
        if now is not None and before is not None:
            parts[name] = now - before
            before = now
    last = [measured.middle(system, place, phase, "mean_kib") for phase in LATER]
    last = [value for value in last if value is not None]
    if parts and last:
        parts[NEXT] = last[-1] - before
    return parts


def _memory(measured):
    rows = []
    for place in measured.places:
        client = [measured.middle("launcher's client", place, phase, "mean_kib") for phase in ("start", "launcher_init")]
        if None not in client:
            rows.append([*_where(place), "the launcher's client alone", "", "", "", _number(client[1] - client[0]), "", "", "", ""])
        for system in measured.systems:
            parts = memory_parts(measured, system, place)
            if not parts:
                continue
            created = next(p for p in ("world_init", "world_comm", "sparse_comms") if measured.series(system, place, p, "mean_kib"))
            shared = measured.middle(system, place, created, "shared_kib")
            most, start = measured.middle(system, place, created, "max_kib"), measured.middle(system, place, "start", "mean_kib")
            steps = [parts.get(name) for name in ("MPI_Session_init", "self")]
            made = next((parts[name] for name in ("world", "sparse world") if name in parts), None)
            until = sum(value for name, value in parts.items() if name != NEXT)
            rows.append([*_where(place), system, *(_number(s) for s in steps), _number(made), _number(until),
                         _number(most - start), _number(until * place[0] * place[1]), _number(parts.get(NEXT)), _number(shared)])
    return measuring.table(("nodes", "per node", "", "session init", "self", "world or sparse", "until then", "largest process",
                   "all processes", NEXT, "shared, all processes"), rows)


# what is told of counts when there are communicators, and after what comes next: the key, and of which process
COUNTS = {"created": (("launcher_publishes", "max"), ("launcher_lookups", "max"), ("launcher_sought", "max"), ("launcher_retries", "max"),
                      ("launcher_fences", "max"), ("contact_connections", "max"), ("contact_messages", "max"), ("contact_bytes", "max"),
                      ("fabric_open", "max"), ("node_connections", "mean"), ("control_messages", "max"),
                      ("control_messages", "mean"), ("control_bytes", "mean")),
          "used": (("launcher_lookups", "max"), ("contact_connections", "max"), ("fabric_connections", "max"), ("fabric_addresses", "max"),
                   ("fabric_packets", "mean"), ("fabric_bytes", "mean"), ("node_connections", "max"), ("node_packets", "mean"), ("node_bytes", "mean"))}


def _counts(measured, when):
    keys = COUNTS[when]
    rows = []
    for place in measured.places:
        for system in measured.systems:
            values = [measured.middle(system, place, f"{when}.{key}", f"{kind}_count") for key, kind in keys]
            if any(value is not None for value in values):
                rows.append([*_where(place), system, *(_number(value) for value in values)])
    return measuring.table(["nodes", "per node", ""] + [f"{key.replace('_', ' ')} ({kind})" for key, kind in keys], rows)


def _without_folders(text):
    """The program's own words of a command, and what became of it."""
    return re.sub(r"^.*/(startup_\w+)", r"\1", re.sub(r" memory=\S+", " memory", text))


def _failures(measured):
    if not measured.failures:
        return ""
    lines = [f"- {system}, {place[0]} node(s) with {place[1]} processes each: {_without_folders(text.splitlines()[0])}"
             for system, place, text in measured.failures]
    return "\n\n## What did not run, or not to its end\n\n" + "\n".join(dict.fromkeys(lines))


def _by_kind(measured):
    """What figures go over, and the places of each, where anything was measured."""
    places = [place for place in measured.places if any(_is_measured(measured, system, place) for system in measured.systems)]
    return (("processes", [place for place in places if place[0] == 1]), ("nodes", [place for place in places if place[0] > 1]))


def markdown(measured, bench, options):
    figures = lambda kind: "" if not options.output else "\n".join(
        f"![{kind}]({options.name}-{options.mpi}-{kind}-{over}.svg)\n" for over, places in _by_kind(measured) if places)
    parts = [f"{measuring.machine(bench.mpi)}; medians of {options.repetitions} repetitions, 3 at most from {options.few} processes on, one "
             f"from {options.many} on",
             "## What is to be reached\n\n" + goals(measured),
             "## Time until there are communicators\n\nMilliseconds, the mean over the processes and the maximum.\n\n"
             + figures("time") + "\n" + _times(measured, measured.places, measured.systems),
             "## What comes next\n\nMicroseconds, the mean over the processes and the maximum.\n\n" + _later(measured),
             "## Memory\n\nKiB of proportional set size that a step adds to a process, in the mean; the largest process "
             "beside the mean of what it was before the first step. One job each.\n\n"
             + figures("memory") + "\n" + _memory(measured),
             "## Counts\n\nOf one process, before the first message; the keys are those of docs/counts.md.\n\n" + _counts(measured, "created"),
             "After allreduces, another communicator, duplicates and the first messages:\n\n" + _counts(measured, "used")]
    return "\n\n".join(parts) + _failures(measured) + "\n"


def _figure(measured, kind, places):
    groups = []
    for place in places:
        bars = []
        for system in measured.systems:
            if kind == "time":
                parts = {name: measured.middle(system, place, phase, "mean_ms") for phase, name in STARTING.items()}
                parts = {name: value for name, value in parts.items() if value is not None}
                most = measured.middle(system, place, total_of(system), "max_ms")
            else:
                parts = {name: value / 1024 for name, value in memory_parts(measured, system, place).items()}
                most = None
            if parts:
                bars.append(Bar(system, parts, most))
        groups.append(Group(f"{place[0]} × {place[1]}", bars))
    title = "Time until there are communicators: mean of the processes, and the slowest" if kind == "time" else \
        "Memory that a process has added: mean proportional set size"
    return stacked_bars.draw(f"{title} (nodes × processes on each)", "ms" if kind == "time" else "MiB", groups,
                             [*STARTING.values(), NEXT])


def write(measured, text, folder, name):
    """<name>.md, .csv, and a figure of time and of memory over processes on one node, and over nodes."""
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_FIELDS)
        for (system, nodes, per_node, phase, quantity), series in measured.values.items():
            known = [value for value in series if value is not None]
            writer.writerow((name.rpartition("-")[2], os.cpu_count(), system, nodes, per_node, phase, quantity,
                             *(f"{v:.6g}" for v in (statistics.median(known), min(known), max(known))), len(known)))
    for over, places in _by_kind(measured):
        for kind in ("time", "memory"):
            if places:
                (folder / f"{name}-{kind}-{over}.svg").write_text(_figure(measured, kind, places), encoding="utf-8")
