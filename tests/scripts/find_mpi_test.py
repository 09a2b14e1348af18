# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/find-mpi on installations that consist of compiler wrappers."""
import os
import pathlib
import subprocess
import tempfile
import unittest

_SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
_OPENMPI = "".join(f"#define OMPI_{part}_VERSION %s\n" for part in ("MAJOR", "MINOR", "RELEASE"))
_MPICH = '#define MPICH_VERSION "%s"\n'


class FindMpi(unittest.TestCase):
    """Runs the command on a folder with fake installations."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def install(self, path, macros):
        """Make a compiler wrapper whose mpi.h defines these macros."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\ncat <<END\n{macros}END\n", encoding="utf-8")
        file.chmod(0o755)

    def install_openmpi(self, prefix, version):
        """Make an Open MPI with mpicc and mpicxx."""
        for name in ("mpicc", "mpicxx"):
            self.install(f"{prefix}/bin/{name}", _OPENMPI % tuple(version.split(".")))

    def run_command(self, *arguments, path=()):
        """Run the command. Return its exit code, its lines split at tabs, and its errors."""
        folders = [str(self.folder / folder) for folder in path] + ["/usr/bin", "/bin"]
        done = subprocess.run(
            [_SCRIPTS / "find-mpi", *arguments],
            env={**os.environ, "PATH": os.pathsep.join(folders), "FIND_MPI_SECONDS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, [line.split("\t") for line in done.stdout.splitlines()], done.stderr

    def find(self, *arguments, path=()):
        """Return the lines of a run that succeeds, of the fake installations only."""
        code, lines, errors = self.run_command(*arguments, path=path)
        self.assertEqual(code, 0, errors)
        return [line for line in lines if line[2].startswith(str(self.folder))]

    def test_passes_over_programs_that_do_not_answer(self):
        for name, text in (("hangs", "sleep 1000"), ("garbage", "head -c 1000 /dev/zero")):
            self.install(f"{name}/bin/mpicc", "")
            (self.folder / name / "bin/mpicc").write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        self.install_openmpi("a", "5.0.7")
        code, lines, errors = self.run_command(path=("hangs/bin", "garbage/bin", "a/bin"))
        self.assertEqual((code, errors), (0, ""))
        self.assertIn(str(self.folder / "a/bin/mpicc"), [line[2] for line in lines])

    def test_lists_installations_in_the_order_of_path(self):
        self.install_openmpi("b", "4.1.6")
        self.install_openmpi("a", "5.0.7")
        found = self.find(path=("b/bin", "a/bin"))
        self.assertEqual([line[1] for line in found], ["Open MPI 4.1.6", "Open MPI 5.0.7"])
        self.assertEqual(found[0][2], str(self.folder / "b/bin/mpicc"))
        self.assertEqual(found[0][3], str(self.folder / "b/bin/mpicxx"))
        self.assertEqual([line[4] for line in found], ["yes", "yes"])

    def test_takes_a_prefix_a_bin_folder_and_a_wrapper(self):
        self.install_openmpi("x", "4.1.4")
        for given in ("x", "x/bin", "x/bin/mpicc"):
            self.assertEqual(len(self.find(self.folder / given)), 1, given)

    def test_names_with_a_suffix_are_found_and_counted_once(self):
        for name in ("mpicc", "mpicc.mpich", "mpicxx.mpich", "mpicxx"):
            self.install(f"bin/{name}", _MPICH % "4.0.2")
        (found,) = self.find(self.folder / "bin")
        self.assertEqual(
            [pathlib.Path(path).name for path in found[2:4]], ["mpicc.mpich", "mpicxx.mpich"]
        )

    def test_versions_outside_of_the_table_are_not_supported(self):
        for number, (version, supported) in enumerate(
            [("3.1.6", "no"), ("4.0.7", "no"), ("4.1.0", "yes"), ("5.0.10", "yes"), ("6.0.0", "no")]
        ):
            self.install_openmpi(f"v{number}", version)
            (found,) = self.find(self.folder / f"v{number}")
            self.assertEqual((version, found[4]), (version, supported))
            self.assertTrue(found[5])

    def test_a_missing_cxx_wrapper_is_the_reason(self):
        self.install("bin/mpicc", _OPENMPI % ("4", "1", "4"))
        (found,) = self.find(self.folder / "bin")
        self.assertEqual(found[3:5], ["-", "no"])
        self.assertIn("mpicxx", found[5])

    def test_a_folder_without_an_mpi_is_an_error(self):
        code, lines, errors = self.run_command(self.folder)
        self.assertEqual((code, lines), (1, []))
        self.assertIn(f"{self.folder}: no C compiler wrapper", errors)

    def test_the_rows_of_a_family_have_no_gap(self):
        rows = [
            [field.strip() for field in line.split("|")]
            for line in (_SCRIPTS / "mpi-versions.txt").read_text(encoding="utf-8").splitlines()
            if line and not line.startswith("#")
        ]
        for family in ("openmpi", "mpich"):
            bounds = [(row[1], row[2]) for row in rows if row[0] == family]
            self.assertEqual((bounds[0][0], bounds[-1][1]), ("0", "any"))
            for (_, below), (start, _) in zip(bounds, bounds[1:]):
                self.assertEqual(below, start)


if __name__ == "__main__":
    unittest.main()
