# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests/stack/run on the table in miniature/.

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
    ("passes", "native"): "works",
    ("passes", "session"): "works",
    ("passes", "world"): "works",
    ("passes", "served"): "works",
    ("passes", "unchanged"): "works",
    ("is wrong", "session"): "fails",
    ("refuses", "session"): "refuses",
    ("refuses", "served"): "fails",
    ("calls MPI_Init", "session"): "works",
    ("calls MPI_Init unexpectedly", "session"): "fails",
    ("does not compile", "native"): "cannot build",
    ("an application", "world"): "works",
    ("an application without MPI", "unchanged"): "fails",
    ("an application with other numbers", "world"): "fails",
}


class Miniature(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.work = pathlib.Path(holder.name)

    def run_table(self, *words: str) -> subprocess.CompletedProcess:
        command = [
            *(sys.executable, str(_HERE.parent / "run"), "--mpi", _MPI),
            *("--table", str(_HERE / "miniature" / "libraries.toml")),
            *("--build", os.environ["INTERSESSION_TEST_BUILD"], "--work", str(self.work)),
            *("--limit", "60", *words),
        ]
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def results(self) -> dict[tuple[str, str], str]:
        lines = (self.work / "results.jsonl").read_text(encoding="utf-8").splitlines()
        rows = map(json.loads, lines)
        return {(row["name"], row["mode"]): row["result"] for row in rows}

    def test_each_program_has_the_result_of_its_name(self) -> None:
        page = self.work / "libraries.md"
        done = self.run_table("--output", str(page))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)  # some fail on purpose
        self.assertEqual(self.results(), _EXPECTED, done.stdout)
        self.assertIn("stack: 8 of 14 programs had the expected result", done.stdout)
        text = page.read_text(encoding="utf-8")
        self.assertIn("| works | works | works | works | works |", text)
        self.assertIn("| – | works, calls `MPI_Init` | – | – | – |", text)
        self.assertIn("| – | refuses [1] | – | **fails** | – |", text)
        self.assertIn("1. `refuses: MPI is not initialized`", text)

    def test_results_of_other_programs_remain(self) -> None:
        self.assertEqual(self.run_table("--only", "passes", "--mode", "native").returncode, 0)
        done = self.run_table("--only", "an application")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(set(self.results()), {("passes", "native"), ("an application", "world")})

    def test_processes_of_two_nodes_work_alike(self) -> None:
        done = self.run_table("--only", "passes", "--mode", "session", "--nodes", "2")
        if "exit code 77" in done.stdout:
            self.skipTest("the kernel refuses simulated nodes")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((self.work / "results-2-nodes.jsonl").exists())

    def test_an_unknown_name_is_an_error(self) -> None:
        done = self.run_table("--only", "nothing")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("no library of the table is called nothing", done.stderr)


if __name__ == "__main__":
    unittest.main()
