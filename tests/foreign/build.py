# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the programs of a suite without the suite's own build.

Writes the headers that configure would write, archives the utilities, and compiles each program.
"""
import dataclasses
import pathlib
import shutil
import subprocess
import tomllib

import suite
from modes import Mode

_HERE = pathlib.Path(__file__).resolve().parent
_SECONDS = 300


class DoesNotCompile(Exception):
    """A program does not compile; the text is the output of the compiler."""


@dataclasses.dataclass(frozen=True)
class Workshop:
    """The build folder of the programs of one suite, for one MPI and one mode."""

    top: pathlib.Path
    mode: Mode
    mpi: str
    build: pathlib.Path
    folder: pathlib.Path

    @property
    def headers(self) -> pathlib.Path:
        return self.folder / "include"

    def compiler(self) -> list[str]:
        # A function that this MPI lacks must be an error, not an implicit declaration.
        return [
            *self.mode.compiler(self.mpi, self.build),
            "-g",
            "-O1",
            "-w",
            "-Werror=implicit-function-declaration",
            *self.mode.options(),
            f"-I{self.headers}",
            f"-I{self.top / 'include'}",
            f"-I{self.top / 'dtpools' / 'include'}",
        ]

    def newest_header(self) -> float:
        """Return the time of the last change of the headers that all programs include."""
        ours = [
            *_HERE.glob("in_session.*"),
            _HERE / "probes.toml",
            self.build / "include" / "intersession" / self.mpi / "mpi.h",
        ]
        return max(path.stat().st_mtime for path in ours if path.exists())


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise DoesNotCompile(done.stdout.decode(errors="replace"))


def _compiles(shop: Workshop, probe: str) -> bool:
    source = shop.folder / "probe.c"
    source.write_text(f"#include <mpi.h>\n{probe}\n", encoding="utf-8")
    try:
        _run(
            [
                *shop.mode.compiler(shop.mpi, shop.build),
                "-w",
                "-Werror=implicit-function-declaration",
                "-fsyntax-only",
                str(source),
            ]
        )
    except DoesNotCompile:
        return False
    return True


def _is_fresh(made: pathlib.Path, changed: list[float]) -> bool:
    return made.exists() and made.stat().st_mtime > max(changed)


def write_headers(shop: Workshop) -> None:
    """Write mpitestconf.h and similar headers by the probes in probes.toml."""
    shop.headers.mkdir(parents=True, exist_ok=True)
    if _is_fresh(shop.headers / "mpitestconf.h", [shop.newest_header()]):
        return
    table = tomllib.loads((_HERE / "probes.toml").read_text(encoding="utf-8"))
    lines = [f"#define {name} {value}" for name, value in table["always"].items()]
    lines += [
        f"#define {name} 1"
        for name, probe in table["if_it_compiles"].items()
        if _compiles(shop, probe)
    ]
    for name in table["empty"]:
        (shop.headers / name).write_text("", encoding="utf-8")
    (shop.headers / "mpitestconf.h").write_text(
        "#pragma once\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )


def _archive(shop: Workshop, threaded: bool) -> pathlib.Path:
    return shop.folder / ("util_thread.a" if threaded else "util_single.a")


def _utilities(shop: Workshop, threaded: bool) -> list[pathlib.Path]:
    # run_mpitests.c, in suites since MPICH 4.2, has main() for programs that define run()
    names = (
        "mtest.c",
        "mtest_common.c",
        "dtypes.c",
        "mtest_thread.c" if threaded else "mtest_single.c",
        "run_mpitests.c",
    )
    there = [shop.top / "util" / name for name in names]
    return [path for path in there if path.exists()] + sorted(
        (shop.top / "dtpools" / "src").glob("*.c")
    )


def build_utilities(shop: Workshop) -> None:
    """Build both archives, with the additional sources of the mode.

    Raise DoesNotCompile if that fails; then no program of this mode can be built.
    """
    for threaded in (False, True):
        archive, sources = _archive(shop, threaded), [
            *_utilities(shop, threaded),
            *shop.mode.own_sources(),
        ]
        if _is_fresh(archive, [path.stat().st_mtime for path in sources] + [shop.newest_header()]):
            continue
        objects = shop.folder / archive.stem
        shutil.rmtree(objects, ignore_errors=True)
        objects.mkdir(parents=True)
        options = [*(["-DMTEST_USE_THREAD"] if threaded else []), *_types_of_pools(shop)]
        for source in _utilities(shop, threaded):
            _run(
                [
                    *shop.compiler(),
                    *options,
                    "-c",
                    str(source),
                    "-o",
                    str(objects / f"{source.stem}.o"),
                ]
            )
        for source in shop.mode.own_sources():
            _run(
                [
                    *shop.mode.compiler(shop.mpi, shop.build),
                    "-g",
                    "-Wall",
                    "-c",
                    str(source),
                    "-o",
                    str(objects / f"{source.stem}.o"),
                ]
            )
        archive.unlink(missing_ok=True)
        _run(["ar", "rcs", str(archive), *map(str, sorted(objects.glob("*.o")))])


def _types_of_pools(shop: Workshop) -> list[str]:
    """Return the options for dtpools: default basic types; programs can set others."""
    return [f"-I{shop.top / 'dtpools' / 'src'}", "-DDTP_MPI_DATATYPE=MPI_INT"]


def program_of(shop: Workshop, test: suite.Test) -> pathlib.Path:
    return shop.folder / "bin" / test.folder / test.program


def build_program(shop: Workshop, test: suite.Test) -> pathlib.Path:
    """Compile the program of a test unless it is newer than its sources; return its path."""
    program, threaded = program_of(shop, test), suite.is_threaded(shop.top, test)
    sources = suite.sources_of(shop.top, test)
    if missing := [path.name for path in sources if not path.exists()]:
        raise DoesNotCompile("the suite has no " + ", ".join(missing))
    if _is_fresh(program, [path.stat().st_mtime for path in [*sources, _archive(shop, threaded)]]):
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    program.unlink(missing_ok=True)
    _run(
        [
            *shop.compiler(),
            *(["-DMTEST_USE_THREAD"] if threaded else []),
            *suite.definitions_of(shop.top, test),
            f"-I{sources[0].parent}",
            *map(str, sources),
            "-o",
            str(program),
            str(_archive(shop, threaded)),
            "-lm",
            "-lpthread",
        ]
    )
    return program
