# SPDX-License-Identifier: BSD-3-Clause
"""Tests of intersession-cc and -cxx without a program: output, choice of the MPI, cost.

INTERSESSION_TEST_BIN is the folder of the scripts, in the build tree or an installation.
"""
import os
import pathlib
import pty
import resource
import shutil
import statistics
import subprocess
import tempfile
import unittest

_BIN = pathlib.Path(os.environ["INTERSESSION_TEST_BIN"])
_FAMILIES = [
    family
    for family in ("openmpi", "mpich")
    if (_BIN / f"../lib/libintersession-{family}.so").exists()
]
_MOST_SECONDS = 0.05  # what a wrapper may add to the native one


def environment(**more: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("INTERSESSION_")}
    return {**kept, **more}


def call(wrapper: str, *words: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [_BIN / f"intersession-{wrapper}", *words],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def native(family: str) -> str:
    """Return the path of the mpicc of a family."""
    return call("cc", "--mpi", family, "--showme:native").stdout.splitlines()[2]


def write_mpi(folder: pathlib.Path, header: str, shown: str) -> None:
    """Write an MPI of which only the answer to -show and mpi.h exist."""
    (folder / "mpi.h").write_text(header, encoding="utf-8")
    wrapper = folder / "mpicc"
    wrapper.write_text(f"#!/bin/sh\ncat <<'END'\n{shown}\nEND\n", encoding="utf-8")
    wrapper.chmod(0o755)


class Output(unittest.TestCase):
    def test_queries_and_compilations_print_nothing_to_standard_error(self) -> None:
        parts = ("command", "compile", "link", "incdirs", "libdirs", "libs", "version")
        queries = [("-show",), ("--showme",), *((f"--showme:{part}",) for part in parts)]
        queries.append(("-fsyntax-only", "-x", "c", "/dev/null"))
        for words in queries:
            done = call("cc", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)

    def test_a_link_prints_the_default_mpi_on_a_terminal(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "main.c")
            source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
            words = [_BIN / "intersession-cc", source, "-o", source.with_suffix("")]
            ours, theirs = pty.openpty()
            try:
                done = subprocess.run(words, env=environment(), stderr=theirs, check=False)
                os.write(theirs, b"end\n")
                self.assertRegex(os.read(ours, 4096), rb"^intersession-cc: using (Open MPI|MPICH) ")
                self.assertEqual(done.returncode, 0)
            finally:
                os.close(ours)
                os.close(theirs)
            done = subprocess.run(words, env=environment(), capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_help_lists_the_options_of_the_wrapper(self) -> None:
        for wrapper in ("cc", "cxx"):
            done = call(wrapper, "--help", PATH=f"{os.path.dirname(str(shutil.which('cat')))}")
            self.assertEqual(done.returncode, 0, done.stderr)
            for word in ("--mpi", "--showme", "--version", "INTERSESSION_MPI"):
                self.assertIn(word, done.stdout)

    def test_the_version_follows_that_of_the_compiler(self) -> None:
        lines = call("cc", "--version").stdout.splitlines()
        compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(lines[0].split()[-1], compiler.stdout.splitlines()[0].split()[-1])
        self.assertRegex(
            lines[-1],
            r"^intersession-cc: (Open MPI|MPICH) [0-9.]+ \(/.*\) with Intersession [0-9.]+",
        )

    def test_a_call_without_arguments_names_the_help(self) -> None:
        done = call("cc")
        self.assertEqual(done.returncode, 1)
        self.assertIn("intersession-cc: no input files; see intersession-cc --help", done.stderr)
        self.assertEqual(call("cc", "-v").returncode, 0)  # no link without an input file


class Choice(unittest.TestCase):
    def test_the_first_mpi_on_path_is_used(self) -> None:
        for family in _FAMILIES:
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "mpicc").symlink_to(native(family))
                shown = call("cc", "-show", PATH=f"{folder}:{os.environ['PATH']}").stdout
            self.assertIn(f"-lintersession-{family} ", shown)

    def test_the_family_is_that_of_the_header_not_of_the_name_of_the_library(self) -> None:
        # MPICH's own name of its library is libmpi; Intel MPI prints quotes and -Xlinker.
        headers = {
            "mpich": '#define MPICH_VERSION "4.2.1"\n',
            "openmpi": "".join(
                f"#define OMPI_{part}_VERSION {number}\n"
                for part, number in (("MAJOR", 5), ("MINOR", 0), ("RELEASE", 7))
            ),
        }
        for family in _FAMILIES:
            with tempfile.TemporaryDirectory() as folder:
                write_mpi(
                    pathlib.Path(folder),
                    headers[family],
                    f'gcc -O2 -I"{folder}" -L"{folder}" -Xlinker -rpath -Xlinker "{folder}" -lmpi',
                )
                link = call("cc", "--mpi", folder, "--showme:link").stdout.split()
                compiled = call("cc", "--mpi", folder, "--showme:compile").stdout
                version = call("cc", "--mpi", folder, "--showme:version").stdout
            self.assertEqual(
                link[-6:], [f"-L{folder}", "-Xlinker", "-rpath", "-Xlinker", folder, "-lmpi"]
            )
            self.assertIn(f"-lintersession-{family}", link)
            self.assertTrue(compiled.endswith(f"/{family} -O2 -I{folder}\n"), compiled)
            self.assertRegex(version, r"(Open MPI 5\.0\.7|MPICH 4\.2\.1) \(")


class WorkingFolder(unittest.TestCase):
    def test_a_deleted_one_stays_the_working_folder(self) -> None:
        with tempfile.TemporaryDirectory() as kept:
            gone = pathlib.Path(kept) / "gone"
            gone.mkdir()
            source = pathlib.Path(kept) / "empty.c"
            source.write_text("#include <mpi.h>\n")
            ended = subprocess.run(
                ["sh", "-c", 'cd "$1"; rmdir "$1"; shift; exec "$@"', "sh", str(gone)]
                + [str(_BIN / "intersession-cc"), "--mpi", "mpich", "-c", str(source)],
                env=environment(),
                capture_output=True,
                text=True,
                check=False,
            )
        # the object file cannot be written there, and is written nowhere else
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("empty.o", ended.stderr)
        self.assertNotIn("cd:", ended.stderr)


class Cost(unittest.TestCase):
    def test_a_call_takes_at_most_50_ms_more_than_one_of_the_native_wrapper(self) -> None:
        # Processor time: elapsed time depends on what else the machine does.
        def seconds(*words: object) -> float:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([str(word) for word in words], env=environment(), check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        arguments = ("-fsyntax-only", "-x", "c", "/dev/null")
        for family in _FAMILIES:
            mpicc = native(family)
            added = []
            for _ in range(20):
                without = seconds(mpicc, *arguments)
                ours = seconds(_BIN / "intersession-cc", "--mpi", family, *arguments)
                added.append(ours - without)
            self.assertLess(statistics.median(added), _MOST_SECONDS, added)


if __name__ == "__main__":
    unittest.main()
