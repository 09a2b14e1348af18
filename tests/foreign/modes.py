# SPDX-License-Identifier: BSD-3-Clause
"""The ways to run a foreign suite, and what each needs of a compiler and a launcher."""
import dataclasses
import pathlib

_HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Mode:
    """How a suite's programs meet the MPI. `programs` names the set of binaries: modes that share it run the same files."""
    name: str
    programs: str
    meaning: str
    in_session: bool = False
    linked: bool = False
    preloaded: bool = False
    mpis: tuple[str, ...] = ("openmpi", "mpich")

    def compiler(self, mpi: str, build: pathlib.Path) -> list[str]:
        return [str(build / "bin" / "intersession-cc"), "--mpi", mpi] if self.linked else [f"mpicc.{mpi}"]

    def options(self) -> list[str]:
        """A program that calls the overlay's functions has those of MPI-4.1, whatever version the header below states."""
        version = ["-DMTEST_MPI_VERSION=4", "-DMTEST_MPI_SUBVERSION=1"] if self.linked else []
        return [*version, *(["-include", str(_HERE / "in_session.h")] if self.in_session else [])]

    def own_sources(self) -> list[pathlib.Path]:
        return [_HERE / "in_session.c"] if self.in_session else []

    def preload(self, mpi: str, build: pathlib.Path) -> str:
        return str(build / "lib" / f"libintersession-{mpi}.so") if self.preloaded else ""


MODES = {mode.name: mode for mode in (
    Mode("session", "session", "in sessions, Intersession linked, MPI_Init never called", in_session=True, linked=True),
    Mode("plain", "plain", "unchanged, the MPI alone"),
    Mode("world", "plain", "unchanged, Intersession preloaded", preloaded=True),
    Mode("native", "native", "in sessions, those that the MPI has itself", in_session=True, mpis=("mpich",)),
)}
