# SPDX-License-Identifier: BSD-3-Clause
"""MPIs that have sessions of their own, to measure beside ours."""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

import measuring


class Native(measuring.Bench):
    """One of them. Its programs are made here, of the same sources, without anything of ours; close() takes them away."""

    def __init__(self, options, sources, mpi, compiler):
        super().__init__(options)
        self.mpi = mpi
        self.programs = pathlib.Path(tempfile.mkdtemp(dir=options.build))
        (self.programs / "native").mkdir()
        for source in (measuring.ROOT / "bench" / name for name in sources):
            subprocess.run([compiler, "-O2", "-w", "-o", self.programs / "native" / source.stem, source], check=True)

    def close(self):
        shutil.rmtree(self.programs)


def _has_sessions(compiler):
    """Does its mpi.h know them?"""
    asked = subprocess.run([compiler, "-fsyntax-only", "-x", "c", "-"], input="#include <mpi.h>\nMPI_Session session;\n", text=True,
                           capture_output=True)
    return asked.returncode == 0


def _given(prefix):
    """An install, started as its launcher wants: Open MPI's says so of itself, the others' take what mpiexec.hydra takes."""
    launcher = str(prefix / "bin" / "mpiexec")
    says = subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout
    family = measuring.MPIS["openmpi" if re.search(r"Open ?MPI|OpenRTE|PRRTE", says) else "mpich"]
    return dataclasses.replace(family, launcher=(launcher, *family.launcher[1:]), title=prefix.name, ends_over_nodes=True)


def find(options, sources):
    """What is installed, and what is given by its folder (`--mpi PREFIX`)."""
    if options.no_native:
        return
    for name, mpi in measuring.MPIS.items():
        compiler = shutil.which(f"mpicc.{name}")
        if compiler and shutil.which(mpi.launcher[0]) and _has_sessions(compiler):
            yield Native(options, sources, mpi, compiler)
    for prefix in options.native:
        yield Native(options, sources, _given(prefix), prefix / "bin" / "mpicc")
