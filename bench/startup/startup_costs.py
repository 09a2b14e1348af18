# SPDX-License-Identifier: BSD-3-Clause
"""Models start-up as amounts whose costs are fitted to the results of bench/startup.

There are two kinds of cost: waiting, and work. On simulated nodes all processes share the cores of
one machine, so work takes (processes / cores) times as long as with a core for each process. The
share of the work that is serial even with a core for each process, because one daemon of the node
does it, was not measured. A prediction is therefore a range: no serial work, and serial work only.

The cost of a message between nodes is read from communicators that are created when the connections
exist already. Connecting, and looking up addresses, counts as first contact.
"""
import collections
import csv
import dataclasses
import math

import least_squares


@dataclasses.dataclass(frozen=True)
class JobShape:
    nodes: int
    per_node: int

    @property
    def processes(self):
        return self.nodes * self.per_node


def tree_hops(nodes):
    """Return the number of messages up a binomial tree and down again."""
    return 2 * math.ceil(math.log2(nodes)) if nodes > 1 else 0


TABLE = "creation table"  # system in the rows of bench/creation_table

# How node leaders exchange addresses: messages between nodes in sequence, and members of a fence.
STRATEGIES = {
    "modex": lambda shape: {"hops": tree_hops(shape.nodes)},
    "ifence": lambda shape: {"hops": tree_hops(shape.nodes)},  # no process waits for its fence
    "ring": lambda shape: {"hops": shape.nodes},
    "fence": lambda shape: {
        "hops": tree_hops(shape.nodes),
        "fence": 1,
        "member of a fence": shape.nodes,
    },
    "world_fence": lambda shape: {
        "hops": tree_hops(shape.nodes),
        "fence": 1,
        "member of a fence": shape.processes,
    },
}


# Strategies in which the table passes along a chain of node leaders; else through a binomial tree.
_CHAINS = {"ring"}


def table_work(costs, strategy, shape, in_turn):
    """Return the milliseconds on the critical path of the member table (bench/creation_table).

    Up: each node leader reads the tables of the leaders below it and writes one table. Down: each
    reads and writes the whole table before the next leader has it. On the node: the processes read
    it, in sequence or concurrently. The network's time for the bytes is not included.
    """
    root, own = (
        costs["read by a node leader"] + costs["write to a node leader"],
        costs["write to its node"],
    )
    # Tables; in the tree, the largest have half of all members, a quarter, an eighth …
    up = shape.nodes / 2 if strategy in _CHAINS else 1
    down = shape.nodes - 1 if strategy in _CHAINS else tree_hops(shape.nodes) / 2
    each = costs["part"] + costs["read by its node"]
    return shape.processes * (
        (up + down) * root + costs["learn"] + own + each * (shape.per_node if in_turn else 1)
    )


@dataclasses.dataclass(frozen=True)
class Oversubscription:
    """Processes for each core, and launcher daemons (one a node) for each core."""

    processes: float
    daemons: float


def session_init(oversubscription):
    """Return the amounts of MPI_Session_init."""
    return {
        "beginning": 1,
        "beginning, work": oversubscription.processes,
        "beginning, work of a daemon": oversubscription.daemons,
    }


def messages(hops, oversubscription):
    """Return the amounts of messages in sequence."""
    return {"hop": hops, "hop, work": hops * oversubscription.processes}


def world_comm(asked, oversubscription):
    """Return the amounts of first contact and of the strategy, without its messages."""
    return {
        "first contact": 1,
        "first contact, work": oversubscription.processes,
        "first contact, work of a daemon": oversubscription.daemons,
        **{name: amount for name, amount in asked.items() if name != "hops"},
    }


def node_tables_kib(shape):
    """Return the KiB of a node's shared memory for all processes of the world.

    A record of the address table (node/address_table.hpp) and three words of the node map
    (bootstrap/node_map.hpp) for each. Known, not fitted: no process's own memory has it.
    """
    return shape.processes * (128 + 3 * 4) / 1024


def memory(shape):
    """Return the amounts of a process's memory."""
    return {
        "process": 1,
        "process of the node": shape.per_node,
        "process of the world": shape.processes,
    }


@dataclasses.dataclass
class Step:
    """Measurements of one step, and the costs fitted to them."""

    title: str
    unit: str
    labels: list = dataclasses.field(default_factory=list)
    features: list = dataclasses.field(default_factory=list)
    measured: list = dataclasses.field(default_factory=list)
    known: list = dataclasses.field(default_factory=list)  # parts that another step explains

    def add(self, label, features, value, known=0.0):
        """Add a measurement."""
        self.labels.append(label)
        self.features.append(features)
        self.measured.append(value)
        self.known.append(min(known, value * 0.99))

    def _unexplained(self):
        return [value - known for value, known in zip(self.measured, self.known)]

    def costs(self):
        """Return the cost of one unit of each feature."""
        return least_squares.fit(self.features, self._unexplained())

    def deviations(self):
        """Return (label, measured, predicted from the other measurements) of each measurement."""
        predicted = least_squares.leave_one_out(self.features, self._unexplained())
        return [
            (label, value, rest + known)
            for label, value, rest, known in zip(self.labels, self.measured, predicted, self.known)
        ]


def strategy_of(system):
    """Return the strategy of a system; None if the model does not have it."""
    if system == "sessions":
        return "modex"
    name = system.removeprefix("sessions, ")
    return name if name in STRATEGIES and name != system else None


@dataclasses.dataclass
class Found:
    """Medians of all runs.

    values[system, shape][phase, quantity] is a median; the key "cores" has the machine's cores.
    files[system, shape] are the files that have the run, in the order of the command line; the
    model uses the last one.
    """

    values: dict
    files: dict

    def items(self):
        """Return the items of values."""
        return self.values.items()

    def measured_again(self):
        """Return (system, shape, files) of runs of the model that several files have."""
        return [
            (system, shape, files)
            for (system, shape), files in self.files.items()
            if len(files) > 1
            and (system == TABLE or (strategy_of(system) is not None and shape.nodes > 1))
        ]


def _read_one(name, lines):
    found = collections.defaultdict(dict)
    for row in csv.DictReader(lines):
        run = found[row["system"], JobShape(int(row["nodes"]), int(row["per_node"]))]
        what = row["phase"], row["quantity"]
        if what in run:
            raise SystemExit(
                f"startup_model: {name} has {row['system']}, {row['nodes']} x {row['per_node']}, "
                f"{what[0]}, {what[1]} twice"
            )
        run["cores"] = int(row["cores"])
        run[what] = float(row["median"])
    return found


def read(files):
    """Read (name, lines) of each file.

    Of a run that several files have, all values are taken from the last file, so that no mixture of
    two runs is fitted.
    """
    found = Found({}, collections.defaultdict(list))
    for name, lines in files:
        for run, values in _read_one(name, lines).items():
            found.values[run] = values
            found.files[run].append(name)
    return found


def table_costs(found, wanted="ms"):
    """Return the quantity for each member in the largest measured group, by operation.

    None if no group was measured.
    """
    shapes = [shape for system, shape in found.values if system == TABLE]
    if not shapes:
        return None
    largest = max(shapes, key=lambda shape: shape.processes)
    return {
        phase: value / largest.processes
        for (phase, quantity), value in (
            (key, value) for key, value in found.values[TABLE, largest].items() if key != "cores"
        )
        if quantity == wanted
    }


@dataclasses.dataclass
class Steps:
    """All steps of start-up."""

    init: Step
    another: Step
    world: Step
    held: Step
    table: dict = None  # milliseconds for each member
    table_bytes: dict = None

    def table_held_kib(self, shape):
        """Return the KiB of the member table in a process during creation.

        First for a process that is no node leader, then for a node leader; None if not measured.
        """
        held = [
            (self.table_bytes or {}).get(f"held by {holder}")
            for holder in ("its node", "a node leader")
        ]
        return [None if bytes is None else shape.processes * bytes / 1024 for bytes in held]

    def all(self):
        """Return the fitted steps."""
        return (self.init, self.another, self.world, self.held)


def _over_nodes(found):
    """Yield (strategy, shape, oversubscription, values) of each run over nodes."""
    for (system, shape), values in found.items():
        strategy = strategy_of(system)
        if strategy is not None and shape.nodes > 1:
            yield strategy, shape, Oversubscription(
                *(max(count / values["cores"], 1) for count in (shape.processes, shape.nodes))
            ), values


def steps_from(found):
    """Return the steps of a session and its world communicator over nodes."""
    steps = Steps(
        Step("MPI_Session_init", "ms"),
        Step("another communicator", "ms"),
        Step("world communicator", "ms"),
        Step("memory of a process with the world communicator", "KiB"),
    )
    for strategy, shape, oversubscription, values in _over_nodes(found):
        label = f"{strategy}, {shape.nodes} × {shape.per_node}"
        if ("session_init", "mean_ms") in values:
            steps.init.add(label, session_init(oversubscription), values["session_init", "mean_ms"])
        if ("second_comm", "mean_ms") in values:
            steps.another.add(
                label,
                messages(tree_hops(shape.nodes), oversubscription),
                values["second_comm", "mean_ms"],
            )
        if ("world_comm", "mean_kib") in values:
            steps.held.add(
                label, memory(shape), values["world_comm", "mean_kib"] - values["start", "mean_kib"]
            )
    if steps.another.measured:
        of_message = steps.another.costs()
        for strategy, shape, oversubscription, values in _over_nodes(found):
            if ("world_comm", "mean_ms") in values:
                asked = STRATEGIES[strategy](shape)
                steps.world.add(
                    f"{strategy}, {shape.nodes} × {shape.per_node}",
                    world_comm(asked, oversubscription),
                    values["world_comm", "mean_ms"],
                    least_squares.predict(of_message, messages(asked["hops"], oversubscription)),
                )
    steps.table, steps.table_bytes = table_costs(found), table_costs(found, "bytes")
    return steps


def predict(steps, strategy, shape):
    """Return ([low, high] milliseconds of session and world communicator, KiB of a process)."""
    asked = STRATEGIES[strategy](shape)
    ends = []
    for oversubscription in (Oversubscription(1, 1), Oversubscription(shape.per_node, 1)):
        ends.append(
            least_squares.predict(steps.init.costs(), session_init(oversubscription))
            + least_squares.predict(
                steps.another.costs(), messages(asked["hops"], oversubscription)
            )
            + least_squares.predict(steps.world.costs(), world_comm(asked, oversubscription))
            + (
                table_work(steps.table, strategy, shape, oversubscription.processes > 1)
                if steps.table
                else 0
            )
        )
    return ends, least_squares.predict(steps.held.costs(), memory(shape))
