# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

_BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(_BENCH))

import least_squares  # noqa: E402
import startup_costs  # noqa: E402
from startup_costs import Place  # noqa: E402

_FIELDS = ("mpi", "cores", "system", "nodes", "per_node", "phase", "quantity", "median", "low", "high", "repetitions")
_PLACES = [Place(2, 2), Place(4, 2), Place(8, 2), Place(16, 2), Place(8, 4), Place(4, 8)]
_SYSTEMS = {"sessions": "modex", "sessions, fence": "fence", "sessions, world_fence": "world_fence"}


def _made_up():
    """A table as bench/startup writes it, of a machine whose costs are known: 10 ms and 2 ms of work to begin, 300 ms and 20 ms of work
    for the first contact, 2 ms and 1 ms of work a message between nodes, 5 ms a fence and 1 ms each member; 4000 KiB, 10 for a process of the world."""
    rows = []
    for system, strategy in _SYSTEMS.items():
        for place in _PLACES:
            crowding = place.processes / 2
            hops = startup_costs.tree_hops(place.nodes)
            fence = {"modex": 0, "fence": 5 + place.nodes, "world_fence": 5 + place.processes}[strategy]
            for phase, quantity, value in (("session_init", "mean_ms", 10 + 2 * crowding),
                                           ("second_comm", "mean_ms", (2 + crowding) * hops),
                                           ("world_comm", "mean_ms", 300 + 20 * crowding + (2 + crowding) * hops + fence),
                                           ("start", "mean_kib", 500), ("world_comm", "mean_kib", 500 + 4000 + 10 * place.processes)):
                rows.append(("openmpi", 2, system, place.nodes, place.per_node, phase, quantity, value, value, value, 5))
    return _text(rows)


def _text(rows):
    text = io.StringIO()
    csv.writer(text).writerows([_FIELDS, *rows])
    return text.getvalue()


def _read(*files):
    return startup_costs.read((f"{number}.csv", text.splitlines()) for number, text in enumerate(files, 1))


class LeastSquares(unittest.TestCase):
    def test_finds_what_costs_what(self):
        rows = [{"a": 1, "b": x} for x in range(1, 6)]
        costs = least_squares.fit(rows, [7 + 3 * row["b"] for row in rows])
        self.assertAlmostEqual(costs["a"], 7)
        self.assertAlmostEqual(costs["b"], 3)

    def test_nothing_costs_less_than_nothing(self):
        rows = [{"a": 1, "b": x} for x in range(1, 6)]
        costs = least_squares.fit(rows, [100 - 3 * row["b"] for row in rows])
        self.assertEqual(costs["b"], 0)
        self.assertGreater(costs["a"], 80)

    def test_what_cannot_be_told_apart_is_one_cost(self):
        rows = [{"a": 1, "b": 2} for _ in range(3)]
        self.assertAlmostEqual(least_squares.predict(least_squares.fit(rows, [10] * 3), rows[0]), 10)

    def test_a_wrong_measurement_shows_when_it_is_left_out(self):
        rows = [{"a": 1, "b": x} for x in range(1, 8)]
        measured = [7 + 3 * row["b"] for row in rows]
        measured[3] *= 2
        deviations = [abs(p / m - 1) for p, m in zip(least_squares.left_out(rows, measured), measured)]
        self.assertEqual(max(deviations), deviations[3])


class Model(unittest.TestCase):
    def setUp(self):
        self.found = _read(_made_up())
        self.steps = startup_costs.steps_from(self.found)

    def test_costs_are_found_again(self):
        init, another, world, held = (step.costs() for step in self.steps.all())
        self.assertAlmostEqual(init["beginning"], 10, 3)
        self.assertAlmostEqual(init["beginning, work"], 2, 3)
        self.assertAlmostEqual(world["first contact"], 300, 2)
        self.assertAlmostEqual(another["hop"], 2, 3)
        self.assertAlmostEqual(another["hop, work"], 1, 3)
        self.assertAlmostEqual(world["member of a fence"], 1, 3)
        self.assertAlmostEqual(held["process of the world"], 10, 3)

    def test_measured_runs_are_met(self):
        for step in self.steps.all():
            for label, measured, predicted in step.deviations():
                self.assertAlmostEqual(predicted / measured, 1, 3, f"{step.title}, {label}")

    def test_far_away(self):
        place = Place(2048, 96)
        (low, high), kib = startup_costs.predict(self.steps, "modex", place)
        self.assertAlmostEqual(low, 12 + 320 + 22 * 3, 1)
        self.assertAlmostEqual(high, 10 + 2 * 96 + 300 + 20 * 96 + 22 * 98, 1)
        self.assertAlmostEqual(kib, 4000 + 10 * place.processes, 0)
        self.assertAlmostEqual(startup_costs.node_tables_kib(place), 140 * 2048 * 96 / 1024, 3)
        ring, fence = (startup_costs.predict(self.steps, name, place)[0][0] for name in ("ring", "fence"))
        self.assertAlmostEqual(ring - low, 3 * (2048 - 22), 1)
        self.assertAlmostEqual(fence - low, 5 + 2048, 1)

    def test_the_table_of_a_large_group(self):
        rows = [("none", 2, "creation table", 4, 2, phase, "ms", value, value, value, 1) for phase, value in
                (("part", 8), ("write to a node root", 16), ("read by a node root", 24), ("write to its node", 32), ("read by its node", 40),
                 ("learn", 48))]
        rows += [("none", 2, "creation table", 2, 2, "part", "ms", 1000, 1000, 1000, 1),
                 ("none", 2, "creation table", 4, 2, "write to its node", "bytes", 1e9, 1e9, 1e9, 1),
                 ("none", 2, "creation table", 4, 2, "held by its node", "bytes", 8 * 24, 8 * 24, 8 * 24, 1),
                 ("none", 2, "creation table", 4, 2, "held by a node root", "bytes", 8 * 48, 8 * 48, 8 * 48, 1)]
        steps = startup_costs.steps_from(_read(_made_up(), _text(rows)))
        place = Place(1024, 3)
        self.assertEqual(steps.table_held_kib(place), [3 * 24, 3 * 48])
        self.assertEqual(self.steps.table_held_kib(place), [None, None])
        for strategy, times in (("modex", 1 + 10), ("ring", 512 + 1023)):
            for end, at_once in enumerate((1, 3)):
                without, with_it = (startup_costs.predict(each, strategy, place)[0][end] for each in (self.steps, steps))
                self.assertAlmostEqual(with_it - without, place.processes * (times * (2 + 3) + 6 + 4 + at_once * (1 + 5)), 3)

    def test_of_two_files_the_last_one_s_run_counts_as_a_whole(self):
        rows = [("openmpi", 2, "sessions", 2, 2, phase, "mean_ms", value, value, value, 5) for phase, value in (("session_init", 99), ("dup", 7))]
        found = _read(_made_up(), _text(rows))
        self.assertEqual(found.values["sessions", Place(2, 2)], {"cores": 2, ("session_init", "mean_ms"): 99, ("dup", "mean_ms"): 7})
        self.assertEqual(found.values["sessions", Place(4, 2)], self.found.values["sessions", Place(4, 2)])
        self.assertEqual(found.measured_again(), [("sessions", Place(2, 2), ["1.csv", "2.csv"])])
        self.assertEqual(self.found.measured_again(), [])

    def test_a_file_that_says_something_twice_is_refused(self):
        with self.assertRaisesRegex(SystemExit, r"1\.csv has sessions, 2 x 2, session_init, mean_ms twice"):
            _read(_made_up() + _made_up().partition("\n")[2])

    def test_tree_hops(self):
        self.assertEqual([startup_costs.tree_hops(n) for n in (1, 2, 3, 4, 5, 2048)], [0, 2, 4, 4, 6, 22])


class Command(unittest.TestCase):
    def run_on(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / f"{number}.csv" for number in range(1, len(texts) + 1)]
            for file, text in zip(files, texts):
                file.write_text(text, encoding="utf-8")
            return subprocess.run([_BENCH / "startup_model", *files], text=True, capture_output=True)

    def test_prints_all_strategies_and_what_is_published(self):
        done = self.run_on(_made_up())
        self.assertEqual(done.returncode, 0, done.stderr)
        for strategy in startup_costs.STRATEGIES:
            self.assertRegex(done.stdout, rf"(?m)^\| 2048 \| 96 \| {strategy}\b")
        self.assertIn("| ring (not measured) |", done.stdout)
        self.assertIn("5.8 s | Startup 2017", done.stdout)

    def test_what_was_not_measured_is_no_figure(self):
        done = self.run_on(_made_up())
        self.assertRegex(done.stdout, r"(?m)^\| 2048 \| 96 \| modex \|.* MiB \| not measured \| 26\.2 MiB \| .* GiB \| not measured \|$")
        self.assertIn("without the table of all members", done.stdout)

    def test_says_which_of_two_files_counts(self):
        done = self.run_on(_made_up(), _made_up())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("- sessions, fence, 8 × 4: 1.csv, **2.csv**\n", done.stdout)

    def test_too_few_measurements(self):
        done = self.run_on("\n".join(_made_up().splitlines()[:4]))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("fewer than two runs", done.stderr)


if __name__ == "__main__":
    unittest.main()
