# SPDX-License-Identifier: BSD-3-Clause
"""The launchers of the matrix as data: what differs between their command lines."""
import dataclasses
import os
import pathlib
import shutil
from typing import Callable

_TESTS = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Launcher:
    """One launcher. All take several applications with a colon between them, and `-n` for the processes of each."""
    program: str
    # The words that give an application one variable; they stand in front of its -n.
    variable: Callable[[str, str], list[str]]
    # In front of the first application.
    options: tuple[str, ...] = ()
    # The words of a job's `launch`, each with the options that say it.
    words: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    # Of the launcher itself.
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    # The script in the build's bin/ that runs this launcher with our library preloaded; without one the library is
    # preloaded by a variable of each application.
    preloading: str = ""
    # What it may end with where processes have died and all others have ended well.
    exits_after_deaths: tuple[int, ...] = (0,)
    # Other programs that it needs.
    needs: tuple[str, ...] = ()
    # True if it runs inside the simulated nodes of tests/cluster, also if there is one.
    in_nodes: bool = False

    def start(self) -> list[str]:
        """The words in front of a job's own, for a script that starts jobs by itself."""
        return ["env", *(f"{name}={value}" for name, value in self.environment.items()), self.program, *self.options]

    def missing(self) -> str:
        """The first program that this machine lacks, else nothing. Daemons are in folders that not every PATH has."""
        path = os.environ.get("PATH", "") + ("" if not self.needs else ":/usr/sbin:/sbin")
        return next((name for name in (self.program, *self.needs) if not shutil.which(name, path=path)), "")


def _slurm(plugin: str) -> Launcher:
    """A Slurm that lives as long as the job (tests/slurm)."""
    return Launcher(str(_TESTS / "slurm" / "srun"), lambda name, value: ["-env", name, value], (f"--mpi={plugin}",),
                    {"round_the_nodes": ("--distribution=cyclic",)}, needs=("slurmctld", "slurmd", "srun"), in_nodes=True)


LAUNCHERS = {
    "mpirun": Launcher(
        "mpirun.openmpi", lambda name, value: ["-x", f"{name}={value}"], ("--oversubscribe",),
        {"round_the_nodes": ("--map-by", "node"), "survivors_go_on": ("--enable-recovery",)},
        # More processes than cores is the normal case here; several jobs run beside each other, so none is bound to a core.
        # Root needs to be allowed; to others that means nothing.
        {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
         "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        preloading="intersession-run"),
    "hydra": Launcher(
        "mpiexec.hydra", lambda name, value: ["-env", name, value],
        words={"round_the_nodes": ("-ppn", "1"), "survivors_go_on": ("-disable-auto-cleanup",),
               "over_a_port": ("-pmi-port",)},
        # A process that ends without a word of PMI counts as failed if its connection is seen to end before its exit code is.
        exits_after_deaths=(0, 1)),
    "slurm_pmi2": _slurm("pmi2"),
    "slurm_pmix": _slurm("pmix"),
}
# The job's one process is started directly.
NONE = "none"
# The launcher that comes with each substrate. A program without an MPI has Open MPI's, which every build has had so far.
OWN_LAUNCHER = {"openmpi": "mpirun", "mpich": "hydra", "none": "mpirun"}
# MPICH 4.0.2 over UCX 1.13 hangs in MPI_Finalize in a third of the runs over two or three nodes, and in most over eight, with
# nothing of ours near (docs/measurements.md).
WORLD_FAILS_OVER_NODES = ("mpich",)
