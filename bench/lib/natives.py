# SPDX-License-Identifier: BSD-3-Clause
"""Finds MPI libraries with sessions of their own, and builds the programs to measure them."""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

import measuring


class Native(measuring.Bench):
    """An MPI library with sessions of its own.

    The constructor builds the programs from the same sources, without our library; close() removes
    them.
    """

    def __init__(self, options, sources, mpi, compiler):
        super().__init__(options)
        self.mpi = mpi
        self.programs = pathlib.Path(tempfile.mkdtemp(dir=options.build))
        (self.programs / "native").mkdir()
        for source in (measuring.ROOT / "bench" / name for name in sources):
            subprocess.run(
                [
                    compiler,
                    "-O2",
                    "-w",
                    f"-I{measuring.ROOT}",
                    "-o",
                    self.programs / "native" / source.stem,
                    source,
                ],
                check=True,
            )

    def close(self):
        """Remove the programs."""
        shutil.rmtree(self.programs)


def _has_sessions(compiler):
    """True if the compiler's mpi.h has MPI_Session."""
    checked = subprocess.run(
        [compiler, "-fsyntax-only", "-x", "c", "-"],
        input="#include <mpi.h>\nMPI_Session session;\n",
        text=True,
        capture_output=True,
    )
    return checked.returncode == 0


def _given(prefix):
    """Return an installed MPI: Open MPI if its launcher prints so, else with hydra's options."""
    launcher = str(prefix / "bin" / "mpiexec")
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout
    family = measuring.MPIS[
        "openmpi" if re.search(r"Open ?MPI|OpenRTE|PRRTE", version) else "mpich"
    ]
    return dataclasses.replace(
        family,
        launcher=(launcher, *family.launcher[1:]),
        title=prefix.name,
        finalizes_over_nodes=True,
    )


def find(options, sources):
    """Yield the MPIs that are installed, and those given by a folder (`--mpi PREFIX`)."""
    if options.no_native:
        return
    for name, mpi in measuring.MPIS.items():
        compiler = shutil.which(f"mpicc.{name}")
        if compiler and shutil.which(mpi.launcher[0]) and _has_sessions(compiler):
            yield Native(options, sources, mpi, compiler)
    for prefix in options.native:
        yield Native(options, sources, _given(prefix), prefix / "bin" / "mpicc")
