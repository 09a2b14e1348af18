# SPDX-License-Identifier: BSD-3-Clause
"""Tests of intersession-run: environment of the processes and of the launcher, choice of the MPI.

INTERSESSION_TEST_BIN is the folder of the script, in the build tree or an installation.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

_BIN = pathlib.Path(os.environ["INTERSESSION_TEST_BIN"])
_LIB = (_BIN / "../lib").resolve()
_LIBRARY, _LIBRARY_MPICH = (str(_LIB / f"libintersession-{mpi}.so") for mpi in ("openmpi", "mpich"))
_OTHER = "/lib/x86_64-linux-gnu/libm.so.6"  # in the place of a tool
# Standard input without end of file: docs/decisions/0023-pmi1-under-hydra.md
_NO_INPUT, _HELD_OPEN = os.pipe()
_SHOW = 'echo "preload=$LD_PRELOAD a=$A psets=$INTERSESSION_PSETS"'


def has(*libraries: str) -> bool:
    return all(os.path.exists(library) for library in libraries)


def run(*words: str, **environment: str) -> subprocess.CompletedProcess:
    full = {
        name: value for name, value in os.environ.items() if not name.startswith("INTERSESSION_")
    }
    full.update(
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        **environment,
    )
    return subprocess.run(
        [_BIN / "intersession-run", *words],
        env=full,
        stdin=_NO_INPUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Shown(unittest.TestCase):
    mpi = ""

    def shown(self, *words: str, **environment: str) -> list[str]:
        done = run(*words, INTERSESSION_MPI=self.mpi, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("intersession-run", done.stderr)
        return done.stdout.splitlines()


@unittest.skipUnless(has(_LIBRARY), "not built over Open MPI")
class OpenMpi(Shown):
    mpi = "openmpi"

    def test_every_process_gets_the_library(self) -> None:
        self.assertEqual(
            self.shown("-n", "2", "sh", "-c", _SHOW), [f"preload={_LIBRARY} a= psets="] * 2
        )

    def test_every_application_gets_the_library(self) -> None:
        lines = self.shown(
            "-n", "1", "sh", "-c", _SHOW, ":", "-x", "A=5", "-n", "1", "sh", "-c", _SHOW
        )
        self.assertCountEqual(
            lines, [f"preload={_LIBRARY} a= psets=", f"preload={_LIBRARY} a=5 psets="]
        )

    def test_a_preload_in_the_environment_remains_first(self) -> None:
        self.assertEqual(
            self.shown("-n", "1", "sh", "-c", _SHOW, LD_PRELOAD=_OTHER),
            [f"preload={_OTHER}:{_LIBRARY} a= psets="],
        )
        self.assertEqual(
            self.shown("-x", "LD_PRELOAD", "-n", "1", "sh", "-c", _SHOW, LD_PRELOAD=_OTHER),
            [f"preload={_OTHER}:{_LIBRARY} a= psets="],
        )

    def test_a_preload_by_option_remains_first_and_applies_to_one_application(self) -> None:
        lines = self.shown(
            "-n",
            "1",
            "sh",
            "-c",
            _SHOW,
            ":",
            "-n",
            "1",
            "-x",
            f"LD_PRELOAD={_OTHER}",
            "sh",
            "-c",
            _SHOW,
        )
        self.assertCountEqual(
            lines, [f"preload={_LIBRARY} a= psets=", f"preload={_OTHER}:{_LIBRARY} a= psets="]
        )

    def test_settings_reach_all_processes_and_x_overrides_them(self) -> None:
        self.assertEqual(
            self.shown("-n", "1", "sh", "-c", _SHOW, INTERSESSION_PSETS="a=0;b=1"),
            [f"preload={_LIBRARY} a= psets=a=0;b=1"],
        )
        self.assertEqual(
            self.shown(
                "-n",
                "1",
                "-x",
                "INTERSESSION_PSETS=c=0",
                "sh",
                "-c",
                _SHOW,
                INTERSESSION_PSETS="a=0",
            ),
            [f"preload={_LIBRARY} a= psets=c=0"],
        )

    def test_a_list_of_variables_is_extended(self) -> None:
        self.assertEqual(
            self.shown(
                "-n",
                "1",
                "sh",
                "-c",
                _SHOW,
                OMPI_MCA_mca_base_env_list="A=7",
                INTERSESSION_PSETS="a=0",
            ),
            [f"preload={_LIBRARY} a=7 psets=a=0"],
        )
        self.assertEqual(
            self.shown("--mca", "mca_base_env_list", "A=8", "-n", "1", "sh", "-c", _SHOW),
            [f"preload={_LIBRARY} a=8 psets="],
        )

    def test_an_application_file_gets_the_library(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "show")
            script.write_text(f"#!/bin/sh\n{_SHOW}\n", encoding="utf-8")
            script.chmod(0o755)
            applications = pathlib.Path(folder, "apps")
            applications.write_text(f"-n 1 {script}\n# a remark\n-n 2 {script}\n", encoding="utf-8")
            self.assertEqual(
                self.shown("--app", str(applications)), [f"preload={_LIBRARY} a= psets="] * 3
            )

    def test_arguments_of_the_program_are_unchanged(self) -> None:
        lines = self.shown(
            "-n",
            "1",
            "sh",
            "-c",
            'for w in "$@"; do echo "<$w>"; done',
            "sh",
            "-x",
            "A=1",
            "--app",
            "two words",
            "",
        )
        self.assertEqual(lines, ["<-x>", "<A=1>", "<--app>", "<two words>", "<>"])

    def test_the_launcher_itself_is_not_preloaded(self) -> None:
        # The application, a child of the launcher, reads the maps of the launcher.
        lines = self.shown(
            "-n",
            "1",
            "sh",
            "-c",
            'grep -c intersession-openmpi "/proc/$PPID/maps"; grep -c "" "/proc/$PPID/maps"; true',
        )
        self.assertEqual(lines[0], "0")
        self.assertGreater(int(lines[1]), 10)

    def test_a_tool_is_preloaded_first_and_native_omits_the_library(self) -> None:
        tool = str(_LIB / "libintersession-timeline-openmpi.so")
        self.assertEqual(
            self.shown("--tool", "timeline", "-n", "1", "sh", "-c", _SHOW),
            [f"preload={tool}:{_LIBRARY} a= psets="],
        )
        self.assertEqual(
            self.shown(
                "--native", "--tool", "timeline", "-n", "1", "sh", "-c", _SHOW, LD_PRELOAD=_OTHER
            ),
            [f"preload={_OTHER}:{tool} a= psets="],
        )
        done = run("--mpi", "openmpi", "--tool", "nothing", "-n", "1", "true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"tool \S+ does not exist")

    def test_the_exit_code_is_returned_and_plain_options_work(self) -> None:
        self.assertEqual(run("--mpi", "openmpi", "-n", "1", "sh", "-c", "exit 5").returncode, 5)
        self.assertRegex(
            run("--version", "--mpi=openmpi").stdout,
            r"^intersession-run: Open MPI [0-9.]+ \(/.*\) with Intersession [0-9.]+"
            r"( .commit \w+.)?\n.*(MPI|RTE)",
        )

    def test_own_options_are_accepted_anywhere_before_the_program(self) -> None:
        for words in (
            ("-n", "1", "--mpi", "openmpi"),
            ("--mca", "btl", "self", "-x", "A=1", "--mpi=openmpi", "-n", "1"),
        ):
            done = run(*words, "sh", "-c", 'echo "$LD_PRELOAD $1 $2"', "sh", "--mpi", "mpich")
            self.assertEqual(done.stdout, f"{_LIBRARY} --mpi mpich\n", done.stderr)

    def test_help_describes_the_options_without_a_launcher(self) -> None:
        done = run("-n", "2", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("--mpi", "--tool", "--native", "INTERSESSION_MPI"):
            self.assertIn(word, done.stdout)
        done = run()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "intersession-run: no program; see intersession-run --help\n")


@unittest.skipUnless(has(_LIBRARY_MPICH), "not built over MPICH")
class Mpich(Shown):
    mpi = "mpich"

    def test_every_process_gets_the_library(self) -> None:
        self.assertEqual(
            self.shown("-n", "2", "sh", "-c", _SHOW), [f"preload={_LIBRARY_MPICH} a= psets="] * 2
        )

    def test_every_application_gets_the_library(self) -> None:
        lines = self.shown(
            "-n", "1", "sh", "-c", _SHOW, ":", "-env", "A", "5", "-n", "1", "sh", "-c", _SHOW
        )
        self.assertCountEqual(
            lines, [f"preload={_LIBRARY_MPICH} a= psets=", f"preload={_LIBRARY_MPICH} a=5 psets="]
        )

    def test_a_preload_in_the_environment_or_by_option_remains_first(self) -> None:
        joined = [f"preload={_OTHER}:{_LIBRARY_MPICH} a= psets="]
        self.assertEqual(self.shown("-n", "1", "sh", "-c", _SHOW, LD_PRELOAD=_OTHER), joined)
        self.assertEqual(
            self.shown("-genv", "LD_PRELOAD", _OTHER, "-n", "1", "sh", "-c", _SHOW), joined
        )
        lines = self.shown(
            "-n",
            "1",
            "sh",
            "-c",
            _SHOW,
            ":",
            "-env",
            "LD_PRELOAD",
            _OTHER,
            "-n",
            "1",
            "sh",
            "-c",
            _SHOW,
        )
        self.assertCountEqual(lines, [f"preload={_LIBRARY_MPICH} a= psets=", *joined])

    def test_settings_reach_all_processes_and_an_option_overrides_them(self) -> None:
        for words in ((), ("-genvnone",), ("-genvlist", "PATH")):
            self.assertEqual(
                self.shown(*words, "-n", "1", "/bin/sh", "-c", _SHOW, INTERSESSION_PSETS="a=0;b=1"),
                [f"preload={_LIBRARY_MPICH} a= psets=a=0;b=1"],
            )
        self.assertEqual(
            self.shown(
                "-n",
                "1",
                "-env",
                "INTERSESSION_PSETS",
                "c=0",
                "sh",
                "-c",
                _SHOW,
                INTERSESSION_PSETS="a=0",
            ),
            [f"preload={_LIBRARY_MPICH} a= psets=c=0"],
        )

    def test_own_options_are_accepted_anywhere_before_the_program(self) -> None:
        done = run("-genv", "A", "1", "-n", "1", "--mpi", "mpich", "sh", "-c", _SHOW)
        self.assertEqual(done.stdout, f"preload={_LIBRARY_MPICH} a=1 psets=\n", done.stderr)

    def test_the_exit_code_is_returned(self) -> None:
        self.assertEqual(run("--mpi", "mpich", "-n", "1", "sh", "-c", "exit 5").returncode, 5)


class Info(unittest.TestCase):
    def test_finds_its_libraries_relative_to_its_path(self) -> None:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("INTERSESSION_", "PMI"))
        }
        done = subprocess.run(
            [_BIN / "intersession-info"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for library in filter(has, (_LIBRARY, _LIBRARY_MPICH)):
            self.assertRegex(done.stdout, rf"(?m)^    Intersession +{library}$")


class Timeline(unittest.TestCase):
    def test_finds_its_modules_relative_to_its_path(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [_BIN / "intersession-timeline", "merge", folder],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn("has no *.timeline files", done.stderr)

    def test_prints_its_version(self) -> None:
        shown = subprocess.check_output([_BIN / "intersession-timeline", "--version"], text=True)
        version = r"[0-9.]+( .commit \w+.)?"
        self.assertRegex(shown, rf"^intersession-timeline: Intersession {version}\n$")

    @unittest.skipUnless(has(_LIBRARY), "not built over Open MPI")
    def test_a_job_that_calls_no_mpi_has_no_timeline(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                **os.environ,
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            }
            done = subprocess.run(
                [
                    _BIN / "intersession-timeline",
                    "run",
                    "-o",
                    folder,
                    "--mpi",
                    "openmpi",
                    "-n",
                    "1",
                    "true",
                ],
                env=environment,
                stdin=_NO_INPUT,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn("check that the program calls MPI", done.stderr)

    def test_the_header_for_tools_exists(self) -> None:
        self.assertTrue((_BIN / "../include/intersession/phases.h").exists())


class Choice(unittest.TestCase):
    @unittest.skipUnless(has(_LIBRARY, _LIBRARY_MPICH), "built over one MPI")
    def test_default_mpi_is_reported(self) -> None:
        done = run("-n", "1", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stderr,
            r"^intersession-run: using (Open MPI|MPICH) [0-9.]+ \(/.*\); "
            r"select another with --mpi or INTERSESSION_MPI",
        )

    @unittest.skipUnless(has(_LIBRARY_MPICH), "not built over MPICH")
    def test_the_first_on_path_is_taken(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            mpirun = pathlib.Path(folder, "mpirun")
            mpirun.write_text('#!/bin/sh\nexec mpiexec.hydra "$@"\n', encoding="utf-8")
            mpirun.chmod(0o755)
            done = run("-n", "1", "sh", "-c", _SHOW, PATH=f"{folder}:{os.environ['PATH']}")
            self.assertRegex(done.stderr, rf"using MPICH [0-9.]+ \({mpirun}\)")
            self.assertEqual(done.stdout, f"preload={_LIBRARY_MPICH} a= psets=\n")
            self.assertEqual(run("--mpi", folder, "-n", "1", "sh", "-c", _SHOW).stdout, done.stdout)

    @unittest.skipUnless(has(_LIBRARY, _LIBRARY_MPICH), "built over one MPI")
    def test_a_program_selects_itself_or_its_family(self) -> None:
        for name, library in (
            ("mpiexec.hydra", _LIBRARY_MPICH),
            ("mpirun.openmpi", _LIBRARY),
            ("mpicc.mpich", _LIBRARY_MPICH),
            ("mpicc.openmpi", _LIBRARY),
        ):
            done = run("--mpi", str(shutil.which(name)), "-n", "1", "sh", "-c", _SHOW)
            self.assertEqual(done.stdout, f"preload={library} a= psets=\n", name)

    def test_invalid_mpi_path_is_an_error(self) -> None:
        for words, text in (
            (("--mpi", "/nowhere"), "no such file"),
            (("--mpi",), "--mpi: needs"),
            (("--mpi", "/etc"), "MPICH found there"),
        ):
            done = run(*words)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)

    def test_a_missing_mpi_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for command in ("bash", "dirname", "readlink", "env"):
                pathlib.Path(folder, command).symlink_to(f"/usr/bin/{command}")
            done = run("-n", "1", "true", PATH=folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no MPI found on PATH", done.stderr)

    def test_a_missing_library_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "bin", "intersession-run")
            copy.parent.mkdir()
            copy.write_bytes((_BIN / "intersession-run").read_bytes())
            copy.chmod(0o755)
            done = subprocess.run(
                [copy, "-n", "1", "true"], capture_output=True, text=True, check=False
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("build or install Intersession", done.stderr)


if __name__ == "__main__":
    unittest.main()
