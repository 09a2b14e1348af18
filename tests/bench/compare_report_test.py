# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree

_BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(_BENCH))

import compare_jobs  # noqa: E402
import compare_report  # noqa: E402
from compare_jobs import OURS, PRELOADED, RAW, WORLD, Measured, Row  # noqa: E402

NATIVE = "native sessions (X)"
LATENCY = Row("messages", "latency", 8, 2, 1)
BANDWIDTH = Row("messages", "bandwidth", 1 << 20, 2, 1)
BCAST = Row("collectives", "Bcast", 8, 8, 1)


def _measured(values):
    """values[row][system]: the microseconds of each repetition."""
    measured = Measured([WORLD, OURS, NATIVE])
    for row, systems in values.items():
        for system, series in systems.items():
            for repetition, value in enumerate(series):
                if value is not None:
                    measured.add(row, system, repetition, value)
    return measured


def _verdicts(measured):
    return {(goal.measure, other): reached for goal, _, other, _, reached in compare_report.verdicts(measured)}


class Rows(unittest.TestCase):
    def test_lines_of_jobs(self):
        found = dict(compare_jobs.rows_of("noise\nmessages,latency, MPI_ANY_SOURCE,8,0.25\ncollectives,Bcast,65536,7.5\n"
                                          "session_init max_ms 2.5 mean_ms 1.0\nother max_ms 1.0 mean_ms 1.0\n", "nodes", 2, 2))
        self.assertEqual(found, {Row("nodes", "latency, MPI_ANY_SOURCE", 8, 2, 2): 0.25, Row("nodes", "Bcast", 65536, 2, 2): 7.5,
                                 Row("nodes", "MPI_Session_init", 0, 2, 2): 2500.0})

    def test_a_repetition_that_failed_has_no_ratio(self):
        measured = _measured({LATENCY: {OURS: [1, None, 3], WORLD: [2, 2, 2]}})
        self.assertEqual(measured.ratios(LATENCY, OURS, WORLD), [0.5, 1.5])
        self.assertEqual(measured.series(LATENCY, OURS), [1, 3])


class Verdicts(unittest.TestCase):
    def test_latency_is_held_against_world_and_the_bare_word(self):
        verdicts = _verdicts(_measured({LATENCY: {OURS: [0.8], WORLD: [1.0], RAW: [0.4]}}))
        self.assertEqual(verdicts, {("8-byte latency", WORLD): True, ("8-byte latency", RAW): False})

    def test_the_median_of_the_ratios_counts(self):
        self.assertTrue(_verdicts(_measured({LATENCY: {OURS: [0.8, 0.8, 9], WORLD: [1, 1, 1]}}))["8-byte latency", WORLD])

    def test_more_bandwidth_is_better(self):
        for ours, reached in ((80, True), (95, False)):
            self.assertEqual(_verdicts(_measured({BANDWIDTH: {OURS: [ours], WORLD: [100]}})), {("bandwidth", WORLD): reached})

    def test_what_is_preloaded_is_to_cost_nothing(self):
        for preloaded, reached in ((1.01, True), (1.1, False), (0.9, False)):
            measured = _measured({LATENCY: {PRELOADED: [preloaded], WORLD: [1]}})
            self.assertEqual(list(_verdicts(measured).values()), [reached])
            self.assertIn("| 1.00 ± 0.02 |", compare_report._goals(measured))

    def test_collectives_are_held_against_the_better(self):
        verdicts = _verdicts(_measured({BCAST: {OURS: [1.5], WORLD: [2], NATIVE: [1]}}))
        self.assertEqual(verdicts, {("collectives", NATIVE): False})
        verdicts = _verdicts(_measured({BCAST: {OURS: [1.5], WORLD: [2]}}))
        self.assertEqual(verdicts, {("collectives", WORLD): True})


class Texts(unittest.TestCase):
    def setUp(self):
        self.measured = _measured({LATENCY: {OURS: [0.5, 0.6], WORLD: [1, 1]}, BANDWIDTH: {OURS: [100], WORLD: [50]},
                                   BCAST: {OURS: [3], WORLD: [2], NATIVE: [4]}})
        self.measured.failures.append((NATIVE, ("messages", 2, 1), "a command\nfailed with 1"))

    def test_what_is_not_reached_is_told(self):
        bench = types.SimpleNamespace(options=types.SimpleNamespace(repetitions=2), mpi=None)
        compare_report.measuring.machine, kept = lambda mpi: "a machine", compare_report.measuring.machine
        try:
            text = compare_report.markdown(self.measured, bench)
        finally:
            compare_report.measuring.machine = kept
        self.assertIn("| bandwidth | 1 MiB | 2 | 10.5 GB/s | world | 21 GB/s | **0.5** (0.5–0.5) | ≥ 1.1 | **no** |", text)
        self.assertIn("| Bcast | 8 B | 8 | 3 µs | world | 2 µs | **1.5** (1.5–1.5) | ≤ 1 | **no** |", text)
        self.assertIn("0 are at most 1.0", text)
        self.assertIn(f"- {NATIVE}, messages of 2 processes on 1 node(s): failed with 1", text)

    def test_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            compare_report.write(self.measured, "text", pathlib.Path(folder), "compare-x")
            root = xml.etree.ElementTree.parse(f"{folder}/compare-x-messages-world.svg").getroot()
            told = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(told, ["latency, 8 B, 2 processes: 0.55 (0.5–0.6)", "bandwidth, 1 MiB, 2 processes: 2 (2–2)"])


if __name__ == "__main__":
    unittest.main()
