# SPDX-License-Identifier: BSD-3-Clause
"""The ways to run a foreign suite, and what each needs of a compiler and a launcher."""
import dataclasses
import pathlib

_HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Mode:
    """How to compile and run the programs of a suite; equal `programs` share binaries.

    If `asks_causes` is set, each test that does not pass needs a cause in causes.toml. `fallback`
    compiles and runs the programs that this mode cannot compile.
    """

    name: str
    programs: str
    meaning: str
    in_session: bool = False
    linked: bool = False
    preloaded: bool = False
    asks_causes: bool = False
    settings: tuple[tuple[str, str], ...] = ()
    mpis: tuple[str, ...] = ("openmpi", "mpich")
    fallback: "Mode | None" = None

    def compiler(self, mpi: str, build: pathlib.Path) -> list[str]:
        return (
            [str(build / "bin" / "intersession-cc"), "--mpi", mpi]
            if self.linked
            else [f"mpicc.{mpi}"]
        )

    def options(self) -> list[str]:
        """Return compiler options; linked programs have MPI-4.1, whatever the native version."""
        version = ["-DMTEST_MPI_VERSION=4", "-DMTEST_MPI_SUBVERSION=1"] if self.linked else []
        return [*version, *(["-include", str(_HERE / "in_session.h")] if self.in_session else [])]

    def own_sources(self) -> list[pathlib.Path]:
        return [_HERE / "in_session.c"] if self.in_session else []

    def variables(self, mpi: str, build: pathlib.Path) -> dict[str, str]:
        """Return the environment of all programs."""
        library = str(build / "lib" / f"libintersession-{mpi}.so")
        return dict(self.settings) | ({"LD_PRELOAD": library} if self.preloaded else {})


_SERVED = (("INTERSESSION_WORLD", "sessions"),)
MODES = {
    mode.name: mode
    for mode in (
        Mode(
            "session",
            "session",
            "programs in sessions, linked with Intersession; MPI_Init is never called",
            in_session=True,
            linked=True,
            asks_causes=True,
        ),
        Mode(
            "served",
            "plain",
            "unchanged programs with INTERSESSION_WORLD=sessions, Intersession preloaded, or "
            "linked if the MPI library lacks a function; the native MPI_Init is never called",
            preloaded=True,
            asks_causes=True,
            settings=_SERVED,
            fallback=Mode("served", "linked", "", linked=True, settings=_SERVED),
        ),
        Mode("plain", "plain", "unchanged programs, the MPI library alone"),
        Mode("world", "plain", "unchanged programs, Intersession preloaded", preloaded=True),
        Mode(
            "native",
            "native",
            "programs in the MPI library's own sessions",
            in_session=True,
            mpis=("mpich",),
        ),
    )
}
