# SPDX-License-Identifier: BSD-3-Clause
"""Runs jobs over one MPI and writes their results; shared by all benchmark commands.

Every figure is a median over repetitions. A ratio is the median of the ratios within repetitions,
because a shared machine changes its speed between repetitions more than within one.
"""
import argparse
import collections
import csv
import dataclasses
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "build" / "results"  # git ignores build/
Row = collections.namedtuple(
    "Row", "part what processes nodes substrate ours unit ratio low high goal"
)

# How processes are bound: by the launcher, or each to its share of the cores (of its node's cores,
# with several nodes). A launcher that binds takes the first core of each node, which is one core if
# nodes are simulated: processes that poll would then wait for each other's time slices.
AS_LAUNCHED, OWN_CORES = "as launched", "own cores"


@dataclasses.dataclass(frozen=True)
class Mpi:
    """An MPI to measure against."""

    launcher: tuple
    variable: tuple  # option of the launcher that sets a variable for all processes
    joins: str  # between name and value of a variable; empty: they are two arguments
    title: str
    version: str  # its number in the launcher's output for --version
    finalizes_over_nodes: bool  # docs/decisions/0021-mpich-between-nodes.md
    is_pmix: bool  # true if its launcher uses PMIx; false: PMI-1
    # Options of the launcher that bind each process to a number of cores, or to none.
    binds: tuple = ()
    unbound: tuple = ()
    # (variable, value) with which waiting processes yield the core; empty if there is none.
    yields: tuple = ()
    # (variable, value) pairs with which no process reads another's memory.
    no_single_copy: tuple = ()


MPIS = {
    "openmpi": Mpi(
        ("mpirun.openmpi", "--oversubscribe"),
        ("-x",),
        "=",
        "Open MPI",
        r"\(\w[\w ]*\) ([\d.]+)",
        True,
        True,
        ("--map-by", "slot:PE={cores}"),
        ("--bind-to", "none"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        (
            ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
            ("OMPI_MCA_smsc", "^cma,knem,xpmem"),
        ),
    ),  # vader: 4.1; smsc: since 5.0
    "mpich": Mpi(
        ("mpiexec.hydra",),
        ("-genv",),
        "",
        "MPICH",
        r"Version: +([\d.]+)",
        False,
        False,
        ("-bind-to", "core:{cores}"),
    ),
}


class JobFailed(SystemExit):
    """Failure of a job, with its output; ends the command if no caller catches it."""

    def __init__(self, text, output=""):
        super().__init__(text)
        self.output = output


class Bench:
    """Runs jobs over one MPI, and collects rows."""

    timeout = 300  # seconds, for one job

    def __init__(self, options):
        self.options = options
        self.mpi = MPIS[options.mpi]
        self.programs = options.build / "bench" / options.mpi
        self.library = options.build / "lib" / f"libintersession-{options.mpi}.so"
        self.rows = []
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def progress(self, text):
        """Print a line on standard error."""
        print(f"  … {text}", file=sys.stderr, flush=True)

    def variable(self, name, value):
        """Return the launcher's arguments that set a variable for all processes."""
        return [
            *self.mpi.variable,
            *([f"{name}{self.mpi.joins}{value}"] if self.mpi.joins else [name, value]),
        ]

    def program(self, name):
        """Return the path of a program over this MPI, or of a program without MPI."""
        return next(self.programs.glob(f"*/{name}"), self.options.build / "bench" / name)

    def run(
        self,
        processes,
        program,
        *arguments,
        nodes=1,
        preload=False,
        leaves=False,
        variables=None,
        cores=AS_LAUNCHED,
        unless=None,
    ):
        """Return the output of one job; raise JobFailed if it fails.

        leaves: the processes exit before MPI_Finalize; an exit status other than 0 is then accepted
        if the job printed its figures. variables: environment of all processes. unless: text on
        standard error that means that the job measured something else; the job then failed.
        """
        if leaves:
            arguments = ("leave", *arguments)
        mpirun = list(self.mpi.launcher)
        if preload:
            mpirun += self.variable("LD_PRELOAD", str(self.library))
        for name, value in (variables or {}).items():
            mpirun += self.variable(name, value)
        if cores == OWN_CORES:
            mpirun += (
                self.mpi.unbound
                if nodes > 1
                else [
                    word.format(cores=max(1, cores_here() // processes)) for word in self.mpi.binds
                ]
            )
        mpirun += ["-n", str(processes)]
        command = mpirun + [str(self.program(program)), *map(str, arguments)]
        if nodes > 1:
            per_node = processes // nodes
            command = [
                str(ROOT / "tests" / "cluster" / "cluster"),
                "--nodes",
                str(nodes),
                "--slots",
                str(per_node),
                *(["--own-cores"] if cores == OWN_CORES else []),
                "--",
                *command,
            ]
        # An input without end: mpiexec.hydra may die if it ends
        # (docs/decisions/0023-pmi1-under-hydra.md).
        read_end, write_end = os.pipe()
        try:
            done = subprocess.run(
                command,
                env=self.env,
                stdin=read_end,
                capture_output=True,
                text=True,
                timeout=self.timeout,
            )
        except subprocess.TimeoutExpired as late:
            raise JobFailed(
                f"{' '.join(command)} took longer than {self.timeout} s",
                (late.stdout or b"").decode(),
            ) from None
        finally:
            os.close(read_end)
            os.close(write_end)
        if done.returncode != 0 and not (leaves and " max_" in done.stdout):
            raise JobFailed(
                f"{' '.join(command)} failed with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        if complaints := [line for line in done.stderr.splitlines() if unless and unless in line]:
            raise JobFailed(f"{' '.join(command)} does not run as it should:\n{complaints[0]}")
        return done.stdout

    def add(self, part, what, processes, nodes, pairs, unit, goal="", scale=1.0):
        """Add a row. pairs: (substrate, ours) of each repetition; smaller is better."""
        ratios = [ours / theirs for theirs, ours in pairs]
        self.rows.append(
            Row(
                part,
                what,
                processes,
                nodes,
                statistics.median(p[0] for p in pairs) * scale,
                statistics.median(p[1] for p in pairs) * scale,
                unit,
                statistics.median(ratios),
                min(ratios),
                max(ratios),
                goal,
            )
        )


def cores_here():
    """Return the number of physical cores."""
    siblings = pathlib.Path("/sys/devices/system/cpu").glob(
        "cpu[0-9]*/topology/thread_siblings_list"
    )
    return len({path.read_text() for path in siblings}) or os.cpu_count()


def table(head, rows):
    """Return a Markdown table of cells that are text."""
    return "\n".join(
        ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        + ["| " + " | ".join(row) + " |" for row in rows]
    )


def size_text(size, byte="bytes"):
    """Return a number of bytes with its unit."""
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} {byte}"


def markdown(rows):
    """Return the rows as a Markdown table."""
    lines = [
        "| part | row | processes | nodes | substrate | ours | unit | ratio (spread) | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r.part} | {r.what} | {r.processes} | {r.nodes} "
            f"| {r.substrate:.3g} | {r.ours:.3g} | {r.unit} "
            f"| **{r.ratio:.3g}** ({r.low:.3g}–{r.high:.3g}) | {r.goal} |"
        )
    return "\n".join(lines)


def machine(mpi):
    """Return processor, number of cores, kernel and MPI version as text."""
    model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    printed = subprocess.run([mpi.launcher[0], "--version"], capture_output=True, text=True).stdout
    version = f"{mpi.title} {re.search(mpi.version, printed)[1]}"
    processor = model[1] if model else platform.machine()
    return f"{processor}, {os.cpu_count()} cores, Linux {platform.release()}; {version}"


class _TakeMpi(argparse.Action):
    """Accepts the native MPI by name, and the folders of further MPIs to measure."""

    def __call__(self, parser, options, value, option_string=None):
        if value in MPIS:
            options.mpi = value
        elif all(pathlib.Path(value, "bin", name).exists() for name in ("mpicc", "mpiexec")):
            options.native = [*options.native, pathlib.Path(value).absolute()]
        else:
            parser.error(
                f"--mpi {value}: neither {' nor '.join(MPIS)}, nor a folder with bin/mpicc "
                "and bin/mpiexec"
            )


def parser_for(description, repetitions, with_others=False):
    """Return a parser with the options of all commands.

    with_others: the command also measures MPIs besides the native one.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    if with_others:
        parser.add_argument(
            "--mpi",
            action=_TakeMpi,
            default="openmpi",
            metavar="NAME|PREFIX",
            help=f"the native MPI ({' or '.join(MPIS)}), or the folder of an MPI whose own "
            "sessions are measured as well",
        )
        parser.set_defaults(native=[])
        parser.add_argument(
            "--no-native", action="store_true", help="do not measure other MPIs' own sessions"
        )
    else:
        parser.add_argument("--mpi", choices=MPIS, default="openmpi", help="the native MPI")
    parser.add_argument("--repetitions", type=int, default=repetitions)
    parser.add_argument(
        "--output", type=pathlib.Path, default=RESULTS, help="folder for results (build/results)"
    )
    return parser


def write(bench, name):
    """Print the table, and write NAME-<mpi>.md and .csv to the output folder."""
    options = bench.options
    head = f"{machine(bench.mpi)}; medians of {options.repetitions} repetitions"
    text = f"{head}\n\n{markdown(bench.rows)}\n"
    print(text)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / f"{name}-{options.mpi}.md").write_text(text)
    with open(options.output / f"{name}-{options.mpi}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(bench.rows)
