# SPDX-License-Identifier: BSD-3-Clause
"""Runs run-suite on the miniature suite in this folder.

INTERSESSION_TEST_BUILD is the build folder, INTERSESSION_TEST_MPI the native MPI.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

_HERE = pathlib.Path(__file__).resolve().parent
_MPI = os.environ["INTERSESSION_TEST_MPI"]
_EXPECTED = {
    "pt2pt/passes 3": "pass",
    "pt2pt/passes 2 -word=two FOREIGN_WORD=2": "pass",
    "pt2pt/passes_by_another_name 2": "pass",
    "pt2pt/passes_with_placeholder 1": "pass",
    "pt2pt/fails 2": "fail",
    "pt2pt/prints_other_output 1": "fail",
    "pt2pt/hangs 2": "time-out",
    "pt2pt/does_not_compile 1": "does not compile",
    "pt2pt/uses_mpi4 2": "pass",
    "pt2pt/makes_window 2": "fail",
    "pt2pt/aborts 2": "pass",
    "pt2pt/reports_skipped 1": "not runnable",
    "pt2pt/passes 4": "not runnable",
    "pt2pt/rma/window 2": "not runnable",
}


# Open MPI 4.1 has MPI-3.1.
_EXPECTED_OF_THE_MPI = _EXPECTED | {
    "pt2pt/uses_mpi4 2": "does not compile" if _MPI == "openmpi" else "pass",
    "pt2pt/makes_window 2": "pass",
}


class MiniatureSuite(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.work = pathlib.Path(holder.name)

    def run_suite(self, *words: str) -> subprocess.CompletedProcess:
        command = [
            sys.executable,
            str(_HERE.parent / "run-suite"),
            "--suite",
            str(_HERE / "suite"),
            "--mpi",
            _MPI,
            "--build",
            os.environ["INTERSESSION_TEST_BUILD"],
            "--work",
            str(self.work),
            *words,
        ]
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )

    def results(self, mode: str) -> dict[str, str]:
        lines = (
            (self.work / "results" / f"{_MPI}-{mode}.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        )
        return {result["name"]: result["result"] for result in map(json.loads, lines)}

    def test_each_mode_has_the_results_in_the_names(self) -> None:
        done = self.run_suite(
            "--mode",
            "session",
            "served",
            "plain",
            "world",
            "--limit",
            "60",
            "--output",
            str(self.work / "numbers.md"),
        )
        # some programs fail on purpose, and have no cause
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("Without a cause in causes.toml:\n", done.stdout)
        for mode in ("session", "served"):
            self.assertIn(f"\npt2pt/fails 2: {mode} fail\n", done.stdout)
            self.assertEqual(self.results(mode), _EXPECTED, done.stdout)
        for mode in ("plain", "world"):
            self.assertEqual(self.results(mode), _EXPECTED_OF_THE_MPI, done.stdout)
        self.assertIn("plain and world pass exactly the same tests", done.stdout)
        self.assertIn("6 of 11 (54.5 %)", (self.work / "numbers.md").read_text(encoding="utf-8"))
        self.assertEqual(
            len((self.work / "numbers.csv").read_text(encoding="utf-8").splitlines()),
            1 + 4 * len(_EXPECTED),
        )

    def test_single_tests_can_be_run_again(self) -> None:
        passing = self.run_suite("--only", "placeholder")
        self.assertEqual(passing.returncode, 0, passing.stdout)
        failing = self.run_suite("--only", "fails|placeholder")
        self.assertEqual(failing.returncode, 1, failing.stdout)
        self.assertEqual(
            self.results("session"),
            {"pt2pt/passes_with_placeholder 1": "pass", "pt2pt/fails 2": "fail"},
        )
        self.run_suite("--folders", "coll")  # has no tests; the other results remain
        again = self.run_suite("--only", "fails|placeholder", "--again")
        self.assertIn("1 of 14 tests", again.stdout)

    @unittest.skipUnless(_MPI == "mpich", "Open MPI has no sessions of its own here")
    def test_sessions_of_the_native_mpi_pass(self) -> None:
        done = self.run_suite("--mode", "native", "--only", "/passes")
        self.assertEqual(
            self.results("native")["pt2pt/passes 3"], "pass", done.stdout + done.stderr
        )


if __name__ == "__main__":
    unittest.main()
