# SPDX-License-Identifier: BSD-3-Clause
"""What the measuring commands share: running jobs over one MPI, rows of figures, and how they are written down.

Every figure is a median over repetitions; a ratio is the median of the repetitions' own ratios, because a shared machine
changes its speed between repetitions and not within one.
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
Row = collections.namedtuple("Row", "part what processes nodes substrate ours unit ratio low high goal")

# Where processes run: as their launcher has it, or each on its share of the cores, over nodes its node's. A launcher that binds takes the
# first core of each node, which is the same core where nodes are simulated: processes that poll would wait for each other's time slices.
AS_LAUNCHED, OWN_CORES = "as launched", "own cores"


@dataclasses.dataclass(frozen=True)
class Mpi:
    """An MPI to measure against."""
    launcher: tuple
    variable: tuple      # the words in front of a variable's name for all processes
    joins: str           # what stands between the name and the value; empty: they are two words
    title: str
    version: str         # where its number stands in what the launcher says to --version
    ends_over_nodes: bool   # its MPI_Finalize does not hang there (docs/measurements.md)
    is_pmix: bool        # what its launcher speaks; else PMI-1
    binds: tuple = ()    # what makes its launcher bind each process to so many cores
    unbound: tuple = ()  # and to none, where it would
    yields: tuple = ()   # (variable, value) with which its processes give the core away as they wait, where it has such
    copies: tuple = ()   # those with which none reads another's memory, where that ends in time with more processes than cores


MPIS = {
    "openmpi": Mpi(("mpirun.openmpi", "--oversubscribe"), ("-x",), "=", "Open MPI", r"\(\w[\w ]*\) ([\d.]+)", True, True,
                   ("--map-by", "slot:PE={cores}"), ("--bind-to", "none"), ("OMPI_MCA_mpi_yield_when_idle", "1"),
                   (("OMPI_MCA_btl_vader_single_copy_mechanism", "none"), ("OMPI_MCA_smsc", "^cma,knem,xpmem"))),   # the second from 5.0 on
    "mpich": Mpi(("mpiexec.hydra",), ("-genv",), "", "MPICH", r"Version: +([\d.]+)", False, False, ("-bind-to", "core:{cores}")),
}


class JobFailed(SystemExit):
    """Ends the command with its text, where nobody goes on without that job. What it had printed is its output."""

    def __init__(self, text, output=""):
        super().__init__(text)
        self.output = output


class Bench:
    timeout = 300   # seconds, of one job

    def __init__(self, options):
        self.options = options
        self.mpi = MPIS[options.mpi]
        self.programs = options.build / "bench" / options.mpi
        self.library = options.build / "lib" / f"libintersession-{options.mpi}.so"
        self.rows = []
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def progress(self, text):
        print(f"  … {text}", file=sys.stderr, flush=True)

    def variable(self, name, value):
        return [*self.mpi.variable, *([f"{name}{self.mpi.joins}{value}"] if self.mpi.joins else [name, value])]

    def program(self, name):
        """One over this MPI, or one that needs none."""
        return next(self.programs.glob(f"*/{name}"), self.options.build / "bench" / name)

    def run(self, processes, program, *arguments, nodes=1, preload=False, leaves=False, variables=None, cores=AS_LAUNCHED, unless=None):
        """Output of one job. More processes than cores: Open MPI and ours yield. One that leaves, before MPI's own end, may be
        called killed once it has said its figures. Variables are for all processes. Raises JobFailed, also where a process complains of what
        `unless` says: then the figures are of something else."""
        if leaves:
            arguments = ("leave", *arguments)
        mpirun = list(self.mpi.launcher)
        if preload:
            mpirun += self.variable("LD_PRELOAD", str(self.library))
        for name, value in (variables or {}).items():
            mpirun += self.variable(name, value)
        if cores == OWN_CORES:
            mpirun += self.mpi.unbound if nodes > 1 else [word.format(cores=max(1, cores_here() // processes)) for word in self.mpi.binds]
        mpirun += ["-n", str(processes)]
        command = mpirun + [str(self.program(program)), *map(str, arguments)]
        if nodes > 1:
            per_node = processes // nodes
            command = [str(ROOT / "tests" / "cluster" / "cluster"), "--nodes", str(nodes), "--slots", str(per_node),
                       *(["--own-cores"] if cores == OWN_CORES else []), "--", *command]
        listens, speaks = os.pipe()   # an input that stays open: mpiexec.hydra does not always bear one that ends (docs/measurements.md)
        try:
            done = subprocess.run(command, env=self.env, stdin=listens, capture_output=True, text=True, timeout=self.timeout)
        except subprocess.TimeoutExpired as late:
            raise JobFailed(f"{' '.join(command)} took longer than {self.timeout} s", (late.stdout or b"").decode()) from None
        finally:
            os.close(listens)
            os.close(speaks)
        if done.returncode != 0 and not (leaves and " max_" in done.stdout):
            raise JobFailed(f"{' '.join(command)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
        if complaints := [line for line in done.stderr.splitlines() if unless and unless in line]:
            raise JobFailed(f"{' '.join(command)} does not run as it should:\n{complaints[0]}")
        return done.stdout

    def add(self, part, what, processes, nodes, pairs, unit, goal="", scale=1.0):
        """pairs: (substrate, ours) per repetition; smaller is better."""
        ratios = [ours / theirs for theirs, ours in pairs]
        self.rows.append(Row(part, what, processes, nodes, statistics.median(p[0] for p in pairs) * scale,
                             statistics.median(p[1] for p in pairs) * scale, unit, statistics.median(ratios),
                             min(ratios), max(ratios), goal))


def cores_here():
    """Without counting one twice that runs two threads at once."""
    siblings = pathlib.Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
    return len({path.read_text() for path in siblings}) or os.cpu_count()


def table(head, rows):
    """Markdown of cells that are text already."""
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows])


def size_text(size, byte="bytes"):
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} {byte}"


def markdown(rows):
    lines = ["| | measure | processes | nodes | substrate | ours | unit | ratio (spread) | to reach |",
             "|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r.part} | {r.what} | {r.processes} | {r.nodes} | {r.substrate:.3g} | {r.ours:.3g} | {r.unit} "
                     f"| **{r.ratio:.3g}** ({r.low:.3g}–{r.high:.3g}) | {r.goal} |")
    return "\n".join(lines)


def machine(mpi):
    model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    says = subprocess.run([mpi.launcher[0], "--version"], capture_output=True, text=True).stdout
    version = f"{mpi.title} {re.search(mpi.version, says)[1]}"
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}; {version}"


class _TakeMpi(argparse.Action):
    """A name says which MPI is below; the folder of an install adds an MPI beside it."""

    def __call__(self, parser, options, value, option_string=None):
        if value in MPIS:
            options.mpi = value
        elif all(pathlib.Path(value, "bin", name).exists() for name in ("mpicc", "mpiexec")):
            options.native = [*options.native, pathlib.Path(value).absolute()]
        else:
            parser.error(f"--mpi {value}: neither {' nor '.join(MPIS)}, nor a folder that has bin/mpicc and bin/mpiexec")


def parser_for(description, repetitions, with_others=False):
    """With the options that all commands have. With others: the command also measures MPIs beside the one below."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    if with_others:
        parser.add_argument("--mpi", action=_TakeMpi, default="openmpi", metavar="NAME|PREFIX",
                            help=f"the MPI below ({' or '.join(MPIS)}); a folder adds an install that has sessions of its own to those found")
        parser.set_defaults(native=[])
        parser.add_argument("--no-native", action="store_true", help="no native sessions")
    else:
        parser.add_argument("--mpi", choices=MPIS, default="openmpi", help="the MPI below")
    parser.add_argument("--repetitions", type=int, default=repetitions)
    parser.add_argument("--output", type=pathlib.Path, help="folder for NAME-<mpi>.md and .csv")
    return parser


def write(bench, name):
    """Prints the table, and writes NAME-<mpi>.md and .csv where the options say so."""
    options = bench.options
    text = f"{machine(bench.mpi)}; medians of {options.repetitions} repetitions\n\n{markdown(bench.rows)}\n"
    print(text)
    if not options.output:
        return
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / f"{name}-{options.mpi}.md").write_text(text)
    with open(options.output / f"{name}-{options.mpi}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(bench.rows)
