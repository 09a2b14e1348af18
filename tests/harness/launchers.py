# SPDX-License-Identifier: BSD-3-Clause
"""Table of the launchers, with the differences between their command lines."""
import dataclasses
import os
import pathlib
import shutil
from typing import Callable

_TESTS = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Launcher:
    """A launcher. A colon separates applications, and `-n` is the number of processes of each."""

    program: str
    # Returns the options that set a variable of an application, before its -n.
    variable: Callable[[str, str], list[str]]
    # Options before the first application.
    options: tuple[str, ...] = ()
    # Options for each entry of `launch` in a job.
    words: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    # Environment of the launcher itself.
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    # The script in bin/ of the build that runs this launcher with Intersession preloaded; if empty,
    # a variable of each application preloads it.
    preloading: str = ""
    # Possible exit codes if processes have died and all others have ended with 0.
    exits_after_deaths: tuple[int, ...] = (0,)
    # Other programs that it needs.
    needs: tuple[str, ...] = ()
    # True if it always runs inside the simulated nodes of tests/cluster, even on one node.
    in_nodes: bool = False

    def start(self) -> list[str]:
        """Return the beginning of the command line, for a script that starts jobs itself."""
        return [
            "env",
            *(f"{name}={value}" for name, value in self.environment.items()),
            self.program,
            *self.options,
        ]

    def missing(self) -> str:
        """Return the first needed program that this machine lacks, or an empty text.

        Daemons are in folders that PATH may not contain.
        """
        path = os.environ.get("PATH", "") + ("" if not self.needs else ":/usr/sbin:/sbin")
        return next(
            (name for name in (self.program, *self.needs) if not shutil.which(name, path=path)), ""
        )


def _slurm(how: str) -> Launcher:
    """Return a launcher of a Slurm that runs for the time of the job (tests/slurm)."""
    return Launcher(
        str(_TESTS / "slurm" / "srun"),
        lambda name, value: ["-env", name, value],
        (how,),
        {"cyclic": ("--distribution=cyclic",)},
        needs=("slurmctld", "slurmd", "srun", "salloc"),
        in_nodes=True,
    )


LAUNCHERS = {
    "mpirun": Launcher(
        "mpirun.openmpi",
        lambda name, value: ["-x", f"{name}={value}"],
        words={"cyclic": ("--map-by", "node"), "continue_after_death": ("--enable-recovery",)},
        # Jobs have more processes than cores, and several jobs run at the same time, so processes
        # are not bound to cores. PRTE_: Open MPI 5, whose option --oversubscribe would put all
        # processes on the first node. The last two variables allow root to run mpirun.
        environment={
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
            "PRTE_MCA_hwloc_default_binding_policy": "none",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        },
        preloading="intersession-run",
    ),
    "hydra": Launcher(
        "mpiexec.hydra",
        lambda name, value: ["-env", name, value],
        words={
            "cyclic": ("-ppn", "1"),
            "continue_after_death": ("-disable-auto-cleanup",),
            "pmi_port": ("-pmi-port",),
        },
        # Hydra reports a process that ends without PMI_Finalize as failed if it sees the end of the
        # connection before the exit code.
        exits_after_deaths=(0, 1),
    ),
    "slurm_none": _slurm("--mpi=none"),
    "slurm_pmi2": _slurm("--mpi=pmi2"),
    "slurm_pmix": _slurm("--mpi=pmix"),
    "slurm_mpirun": _slurm("--salloc=mpirun"),
    "slurm_hydra": _slurm("--salloc=hydra"),
}
# No launcher: the one process of the job is started directly.
NONE = "none"
# The launcher of each substrate. A program without an MPI uses mpirun of Open MPI.
OWN_LAUNCHER = {"openmpi": "mpirun", "mpich": "hydra", "none": "mpirun"}
# MPICH 4.0.2 over UCX 1.13 hangs in MPI_Finalize in a third of the runs over two or three nodes and
# in most runs over eight, also without Intersession (docs/decisions/0021-mpich-between-nodes.md).
WORLD_FAILS_OVER_NODES = ("mpich",)
