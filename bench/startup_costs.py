# SPDX-License-Identifier: BSD-3-Clause
"""What start-up consists of, as amounts whose costs are fitted to what bench/startup has measured.

Two kinds of cost: what is waited for, and work. On simulated nodes all processes share the cores of one machine, so work there
takes (processes / cores) times as long as with a core for each. How much of the work stays in turn where each process has a core,
because it is that of the node's one daemon, was not measured: so a prediction has two ends, nothing of it and all of it.

What a message between nodes costs is read from communicators that are made when the connections are there already; making them, and
finding out where to call, counts as first contact.
"""
import collections
import csv
import dataclasses
import math

import least_squares


@dataclasses.dataclass(frozen=True)
class Place:
    nodes: int
    per_node: int

    @property
    def processes(self):
        return self.nodes * self.per_node


def tree_hops(nodes):
    """Up a binomial tree and down again."""
    return 2 * math.ceil(math.log2(nodes)) if nodes > 1 else 0


TABLE = "creation table"   # the system of bench/creation_table's rows

# How node roots learn each other's addresses: messages between nodes that wait for each other, and who is in a fence.
STRATEGIES = {
    "modex": lambda place: {"hops": tree_hops(place.nodes)},
    "ifence": lambda place: {"hops": tree_hops(place.nodes)},  # for its fence nobody waits
    "ring": lambda place: {"hops": place.nodes},
    "fence": lambda place: {"hops": tree_hops(place.nodes), "fence": 1, "member of a fence": place.nodes},
    "world_fence": lambda place: {"hops": tree_hops(place.nodes), "fence": 1, "member of a fence": place.processes},
}


# Those in which node roots pass the table on from each to the next; in all others it goes through a binomial tree.
_CHAINS = {"ring"}


def table_work(costs, strategy, place, in_turn):
    """Milliseconds on the longest way that the table of all members takes (bench/creation_table): up, where each node root reads what the
    roots below it bring and writes it together; down, where each reads and writes the whole before the next has it; and on the own node, whose
    processes read one after the other or at once. Without what a network takes for the bytes."""
    root, own = costs["read by a node root"] + costs["write to a node root"], costs["write to its node"]
    up = place.nodes / 2 if strategy in _CHAINS else 1   # tables; in the tree the largest have half of all members, a quarter, an eighth …
    down = place.nodes - 1 if strategy in _CHAINS else tree_hops(place.nodes) / 2
    each = costs["part"] + costs["read by its node"]
    return place.processes * ((up + down) * root + costs["learn"] + own + each * (place.per_node if in_turn else 1))


@dataclasses.dataclass(frozen=True)
class Crowding:
    """What does its work in turn on one core: processes, and the launcher's daemons, of which each node has one."""
    processes: float
    daemons: float


def session_init(crowding):
    return {"beginning": 1, "beginning, work": crowding.processes, "beginning, work of a daemon": crowding.daemons}


def messages(hops, crowding):
    return {"hop": hops, "hop, work": hops * crowding.processes}


def world_comm(asked, crowding):
    """The first contact, and what the strategy asks for; without its messages."""
    return {"first contact": 1, "first contact, work": crowding.processes, "first contact, work of a daemon": crowding.daemons,
            **{name: amount for name, amount in asked.items() if name != "hops"}}


def node_tables_kib(place):
    """What lies in a node's shared memory for each process of the world: a record of the address table (bootstrap/address_table.hpp) and
    three words of the map of the nodes (bootstrap/node_map.hpp). Known and not fitted: it is no process's own."""
    return place.processes * (128 + 3 * 4) / 1024


def memory(place):
    """What a process holds: by itself, and for each process of its node and of the world."""
    return {"process": 1, "process of the node": place.per_node, "process of the world": place.processes}


@dataclasses.dataclass
class Step:
    """One step's measurements, and the costs that explain them."""
    title: str
    unit: str
    labels: list = dataclasses.field(default_factory=list)
    features: list = dataclasses.field(default_factory=list)
    measured: list = dataclasses.field(default_factory=list)
    known: list = dataclasses.field(default_factory=list)   # what another step explains of it

    def add(self, label, features, value, known=0.0):
        self.labels.append(label)
        self.features.append(features)
        self.measured.append(value)
        self.known.append(min(known, value * 0.99))

    def _unexplained(self):
        return [value - known for value, known in zip(self.measured, self.known)]

    def costs(self):
        return least_squares.fit(self.features, self._unexplained())

    def deviations(self):
        """(label, measured, predicted by the other measurements)."""
        predicted = least_squares.left_out(self.features, self._unexplained())
        return [(label, value, rest + known) for label, value, rest, known in zip(self.labels, self.measured, predicted, self.known)]


def strategy_of(system):
    """None for systems that the model does not speak of."""
    if system == "sessions":
        return "modex"
    name = system.removeprefix("sessions, ")
    return name if name in STRATEGIES and name != system else None


@dataclasses.dataclass
class Found:
    """What was measured: of (system, place), (phase, quantity) to the median; "cores" are those of the machine."""
    values: dict
    files: dict   # of (system, place), those that have it, in the order in which they were named: the last one counts

    def items(self):
        return self.values.items()

    def measured_again(self):
        """(system, place, files) of what several files have and the model speaks of."""
        return [(system, place, files) for (system, place), files in self.files.items()
                if len(files) > 1 and (system == TABLE or (strategy_of(system) is not None and place.nodes > 1))]


def _read_one(name, lines):
    found = collections.defaultdict(dict)
    for row in csv.DictReader(lines):
        run = found[row["system"], Place(int(row["nodes"]), int(row["per_node"]))]
        what = row["phase"], row["quantity"]
        if what in run:
            raise SystemExit(f"startup_model: {name} has {row['system']}, {row['nodes']} x {row['per_node']}, {what[0]}, {what[1]} twice")
        run["cores"] = int(row["cores"])
        run[what] = float(row["median"])
    return found


def read(files):
    """Of (name, lines) of each file. A run that several files have is that of the last one, as a whole: no mixture of two runs is fitted."""
    found = Found({}, collections.defaultdict(list))
    for name, lines in files:
        for run, values in _read_one(name, lines).items():
            found.values[run] = values
            found.files[run].append(name)
    return found


def table_costs(found, wanted="ms"):
    """Of this quantity for each member, by what is done with the table; of the largest group that was measured. None: of none."""
    places = [place for system, place in found.values if system == TABLE]
    if not places:
        return None
    largest = max(places, key=lambda place: place.processes)
    return {phase: value / largest.processes for (phase, quantity), value in
            ((key, value) for key, value in found.values[TABLE, largest].items() if key != "cores") if quantity == wanted}


@dataclasses.dataclass
class Steps:
    init: Step
    another: Step
    world: Step
    held: Step
    table: dict = None   # milliseconds for each member
    table_bytes: dict = None

    def table_held_kib(self, place):
        """What a process has of the table of all members as long as the creation goes on: one that is not a node root, and a node root. None:
        that was not measured."""
        held = [(self.table_bytes or {}).get(f"held by {who}") for who in ("its node", "a node root")]
        return [None if bytes is None else place.processes * bytes / 1024 for bytes in held]

    def all(self):
        return (self.init, self.another, self.world, self.held)


def _over_nodes(found):
    """(strategy, place, crowding, what was measured)"""
    for (system, place), values in found.items():
        strategy = strategy_of(system)
        if strategy is not None and place.nodes > 1:
            yield strategy, place, Crowding(*(max(count / values["cores"], 1) for count in (place.processes, place.nodes))), values


def steps_from(found):
    """The steps of a session and its world communicator over nodes."""
    steps = Steps(Step("MPI_Session_init", "ms"), Step("another communicator", "ms"), Step("world communicator", "ms"),
                  Step("memory of a process, until there is the world communicator", "KiB"))
    for strategy, place, crowding, values in _over_nodes(found):
        label = f"{strategy}, {place.nodes} × {place.per_node}"
        if ("session_init", "mean_ms") in values:
            steps.init.add(label, session_init(crowding), values["session_init", "mean_ms"])
        if ("second_comm", "mean_ms") in values:
            steps.another.add(label, messages(tree_hops(place.nodes), crowding), values["second_comm", "mean_ms"])
        if ("world_comm", "mean_kib") in values:
            steps.held.add(label, memory(place), values["world_comm", "mean_kib"] - values["start", "mean_kib"])
    if steps.another.measured:
        of_message = steps.another.costs()
        for strategy, place, crowding, values in _over_nodes(found):
            if ("world_comm", "mean_ms") in values:
                asked = STRATEGIES[strategy](place)
                steps.world.add(f"{strategy}, {place.nodes} × {place.per_node}", world_comm(asked, crowding), values["world_comm", "mean_ms"],
                                least_squares.predict(of_message, messages(asked["hops"], crowding)))
    steps.table, steps.table_bytes = table_costs(found), table_costs(found, "bytes")
    return steps


def predict(steps, strategy, place):
    """((low, high) milliseconds of session and world communicator, KiB of a process)."""
    asked = STRATEGIES[strategy](place)
    ends = []
    for crowding in (Crowding(1, 1), Crowding(place.per_node, 1)):
        ends.append(least_squares.predict(steps.init.costs(), session_init(crowding))
                    + least_squares.predict(steps.another.costs(), messages(asked["hops"], crowding))
                    + least_squares.predict(steps.world.costs(), world_comm(asked, crowding))
                    + (table_work(steps.table, strategy, place, crowding.processes > 1) if steps.table else 0))
    return ends, least_squares.predict(steps.held.costs(), memory(place))
