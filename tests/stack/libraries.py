# SPDX-License-Identifier: BSD-3-Clause
"""Reads the table of libraries, installs their Debian packages, and compiles their programs."""
import dataclasses
import os
import pathlib
import subprocess
import sys
import tomllib

_PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
# The interpreter for which Debian's Python packages are built.
_PYTHON = "/usr/bin/python3"
_SECONDS = 300  # of a compiler on a busy machine
MPIS = ("openmpi", "mpich")


@dataclasses.dataclass(frozen=True)
class Mode:
    """A way to give a library a communicator."""

    name: str
    meaning: str
    is_native: bool = False  # the program is compiled for the MPI library alone
    is_preloaded: bool = False  # Intersession is preloaded; Python and applications: always
    is_served: bool = False  # INTERSESSION_WORLD=sessions
    initializes_native: bool = False  # the native library's MPI_Init runs

    @property
    def uses_intersession(self) -> bool:
        return not self.is_native or self.is_preloaded

    @property
    def serves_program(self) -> bool:
        """True if the program's own MPI_COMM_WORLD is Intersession's."""
        return self.is_native and self.is_served


MODES = {
    mode.name: mode
    for mode in (
        Mode(
            "native",
            "`MPI_COMM_WORLD` of the MPI library, without Intersession",
            is_native=True,
            initializes_native=True,
        ),
        Mode("session", "a session communicator; the program does not call `MPI_Init`"),
        Mode("world", "a session communicator, after `MPI_Init`", initializes_native=True),
        Mode(
            "served",
            "a session communicator, with `INTERSESSION_WORLD=sessions`",
            is_served=True,
        ),
        Mode(
            "unchanged",
            "`MPI_COMM_WORLD`; the program of mode native, with Intersession preloaded and "
            "`INTERSESSION_WORLD=sessions`",
            is_native=True,
            is_preloaded=True,
            is_served=True,
        ),
    )
}


class BadTable(Exception):
    """The table has an unknown key, or a value of a wrong kind."""


class CannotBuild(Exception):
    """Packages cannot be installed, or a program cannot be compiled; the text is the output."""


@dataclasses.dataclass(frozen=True)
class Library:
    """A row of the table; libraries.toml describes the keys."""

    name: str
    program: pathlib.Path
    packages: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    mpi: tuple[str, ...] = ("openmpi",)
    modes: tuple[str, ...] = tuple(MODES)
    calls_init: bool = False
    refuses: dict[str, str] = dataclasses.field(default_factory=dict)
    prepare: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    same_output: str = ""

    @property
    def is_compiled(self) -> bool:
        return self.program.suffix in (".c", ".cpp")

    @property
    def is_python(self) -> bool:
        return self.program.suffix == ".py"


def load(table: pathlib.Path) -> list[Library]:
    """Return the libraries of a table; programs are in the folder programs beside it."""
    known = {field.name for field in dataclasses.fields(Library)}
    found = []
    for row in tomllib.loads(table.read_text(encoding="utf-8"))["library"]:
        if unknown := set(row) - known:
            raise BadTable(f"{table}: {row.get('name')}: unknown keys {sorted(unknown)}")
        values = {
            key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
        }
        library = Library(**values | {"program": table.parent / "programs" / row["program"]})
        wrong = {*library.mpi} - {*MPIS} | {*library.modes, *library.refuses} - {*MODES}
        if wrong or not library.program.exists():
            raise BadTable(f"{table}: {library.name}: unknown {sorted(wrong) or library.program}")
        found.append(library)
    return found


def _run(*command: str, **options) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotBuild(f"{' '.join(command)}: not finished after {error.timeout} s") from None
    if done.returncode != 0:
        raise CannotBuild(f"{' '.join(command)}\n{done.stdout.decode(errors='replace')}")


def version_of(package: str) -> str:
    """Return the version of an installed Debian package, otherwise an empty text."""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package],
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, version = done.stdout.partition(" ")
    return version if state == "installed" else ""


def install(packages: list[str]) -> None:
    """Install the packages that are missing, as root or through sudo."""
    missing = [package for package in packages if not version_of(package)]
    if not missing:
        return
    print("stack: installing " + " ".join(missing), flush=True)
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    _run(*as_root, "apt-get", "-qq", "update")
    _run(
        *as_root,
        *("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"),
        *("--no-install-recommends", "install", *missing),
    )


def _compiler(language: str, mpi: str, mode: Mode, build: pathlib.Path) -> list[str]:
    if mode.is_native:
        return [f"mpicc.{mpi}" if language == ".c" else f"mpicxx.{mpi}", "-DSTACK_NATIVE"]
    wrapper = "intersession-cc" if language == ".c" else "intersession-cxx"
    return [str(build / "bin" / wrapper), "--mpi", mpi]


def _compile(
    source: pathlib.Path, compiler: list[str], made: pathlib.Path, options: tuple[str, ...]
) -> pathlib.Path:
    made.parent.mkdir(parents=True, exist_ok=True)
    _run(
        *compiler,
        *("-g", "-O1", "-Wall", "-Wextra", f"-I{_PROGRAMS}", str(source), "-o", str(made)),
        *(*options, "-lm"),
        timeout=_SECONDS,
    )
    return made


@dataclasses.dataclass(frozen=True)
class Command:
    """A program for the launcher, with arguments and variables of its environment."""

    program: str
    arguments: tuple[str, ...] = ()
    variables: dict[str, str] = dataclasses.field(default_factory=dict)


def _variables(mpi: str, mode: Mode, is_linked: bool, build: pathlib.Path) -> dict[str, str]:
    """Return the environment of a program, which is linked with Intersession or not."""
    # A program compiled with STACK_NATIVE knows this mode only.
    variables = {"STACK_MODE": "native" if mode.is_native else mode.name}
    if mode.is_served:
        variables["INTERSESSION_WORLD"] = "sessions"
    if mode.serves_program:
        variables["INTERSESSION_LOG"] = "info"  # results.judge() reads the log
    if mode.uses_intersession and not is_linked:
        variables["LD_PRELOAD"] = str(build / "lib" / f"libintersession-{mpi}.so")
    return variables


def build(
    library: Library, mpi: str, mode: Mode, intersession: pathlib.Path, work: pathlib.Path
) -> Command:
    """Compile what a library's program needs in a mode, and return how to start it."""
    folder = work / mpi / ("native" if mode.is_native else "linked")
    is_linked = library.is_compiled and not mode.is_native
    variables = _variables(mpi, mode, is_linked, intersession)
    if library.is_compiled:
        compiler = _compiler(library.program.suffix, mpi, mode, intersession)
        made = folder / library.program.stem
        return Command(
            str(_compile(library.program, compiler, made, library.options)), (), variables
        )
    if library.is_python:
        compiler = _compiler(".c", mpi, mode, intersession)
        made = folder / "communicator.so"
        helper = _compile(_PROGRAMS / "communicator.c", compiler, made, ("-shared", "-fPIC"))
        variables |= {"STACK_HELPER": str(helper), "PYTHONPATH": str(_PROGRAMS)}
        return Command(_PYTHON, (str(library.program),), variables)
    names = {"program": library.program, "programs": library.program.parent, "work": folder}
    folder.mkdir(parents=True, exist_ok=True)
    if library.prepare:
        _run(*(word.format(**names) for word in library.prepare), cwd=folder, timeout=_SECONDS)
    words = [word.format(**names) for word in library.command]
    return Command(words[0], tuple(words[1:]), variables)


if sys.version_info < (3, 11):
    raise SystemExit("stack: needs Python 3.11 or newer (tomllib)")
