# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

_BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(_BENCH / "startup"), str(_BENCH / "lib")]

import least_squares  # noqa: E402
import startup_costs  # noqa: E402
from startup_costs import JobShape  # noqa: E402

_FIELDS = (
    "mpi",
    "cores",
    "system",
    "nodes",
    "per_node",
    "phase",
    "quantity",
    "median",
    "low",
    "high",
    "repetitions",
)
_SHAPES = [
    JobShape(2, 2),
    JobShape(4, 2),
    JobShape(8, 2),
    JobShape(16, 2),
    JobShape(8, 4),
    JobShape(4, 8),
]
_SYSTEMS = {"sessions": "modex", "sessions, fence": "fence", "sessions, world_fence": "world_fence"}


def _made_up():
    """Return a table as bench/startup/run writes it, of a machine with known costs.

    10 ms and 2 ms of work to begin; 300 ms and 20 ms of work for first contact; 2 ms and 1 ms of
    work for a message between nodes; 5 ms for a fence and 1 ms for each member; 4000 KiB, and 10
    for each process of the world.
    """
    rows = []
    for system, strategy in _SYSTEMS.items():
        for shape in _SHAPES:
            oversubscription = shape.processes / 2
            hops = startup_costs.tree_hops(shape.nodes)
            fence = {"modex": 0, "fence": 5 + shape.nodes, "world_fence": 5 + shape.processes}[
                strategy
            ]
            for phase, quantity, value in (
                ("session_init", "mean_ms", 10 + 2 * oversubscription),
                ("second_comm", "mean_ms", (2 + oversubscription) * hops),
                (
                    "world_comm",
                    "mean_ms",
                    300 + 20 * oversubscription + (2 + oversubscription) * hops + fence,
                ),
                ("start", "mean_kib", 500),
                ("world_comm", "mean_kib", 500 + 4000 + 10 * shape.processes),
            ):
                rows.append(
                    (
                        "openmpi",
                        2,
                        system,
                        shape.nodes,
                        shape.per_node,
                        phase,
                        quantity,
                        value,
                        value,
                        value,
                        5,
                    )
                )
    return _text(rows)


def _text(rows):
    text = io.StringIO()
    csv.writer(text).writerows([_FIELDS, *rows])
    return text.getvalue()


def _read(*files):
    return startup_costs.read(
        (f"{number}.csv", text.splitlines()) for number, text in enumerate(files, 1)
    )


class LeastSquares(unittest.TestCase):
    def test_finds_the_costs(self):
        rows = [{"a": 1, "b": x} for x in range(1, 6)]
        costs = least_squares.fit(rows, [7 + 3 * row["b"] for row in rows])
        self.assertAlmostEqual(costs["a"], 7)
        self.assertAlmostEqual(costs["b"], 3)

    def test_costs_are_not_negative(self):
        rows = [{"a": 1, "b": x} for x in range(1, 6)]
        costs = least_squares.fit(rows, [100 - 3 * row["b"] for row in rows])
        self.assertEqual(costs["b"], 0)
        self.assertGreater(costs["a"], 80)

    def test_indistinguishable_costs_are_one(self):
        rows = [{"a": 1, "b": 2} for _ in range(3)]
        self.assertAlmostEqual(
            least_squares.predict(least_squares.fit(rows, [10] * 3), rows[0]), 10
        )

    def test_wrong_measurement_deviates_most_from_its_prediction(self):
        rows = [{"a": 1, "b": x} for x in range(1, 8)]
        measured = [7 + 3 * row["b"] for row in rows]
        measured[3] *= 2
        deviations = [
            abs(p / m - 1) for p, m in zip(least_squares.leave_one_out(rows, measured), measured)
        ]
        self.assertEqual(max(deviations), deviations[3])


class Model(unittest.TestCase):
    def setUp(self):
        self.found = _read(_made_up())
        self.steps = startup_costs.steps_from(self.found)

    def test_fit_finds_known_costs(self):
        init, another, world, held = (step.costs() for step in self.steps.all())
        self.assertAlmostEqual(init["beginning"], 10, 3)
        self.assertAlmostEqual(init["beginning, work"], 2, 3)
        self.assertAlmostEqual(world["first contact"], 300, 2)
        self.assertAlmostEqual(another["hop"], 2, 3)
        self.assertAlmostEqual(another["hop, work"], 1, 3)
        self.assertAlmostEqual(world["member of a fence"], 1, 3)
        self.assertAlmostEqual(held["process of the world"], 10, 3)

    def test_predictions_match_measured_runs(self):
        for step in self.steps.all():
            for label, measured, predicted in step.deviations():
                self.assertAlmostEqual(predicted / measured, 1, 3, f"{step.title}, {label}")

    def test_predicts_a_large_job(self):
        shape = JobShape(2048, 96)
        (low, high), kib = startup_costs.predict(self.steps, "modex", shape)
        self.assertAlmostEqual(low, 12 + 320 + 22 * 3, 1)
        self.assertAlmostEqual(high, 10 + 2 * 96 + 300 + 20 * 96 + 22 * 98, 1)
        self.assertAlmostEqual(kib, 4000 + 10 * shape.processes, 0)
        self.assertAlmostEqual(startup_costs.node_tables_kib(shape), 140 * 2048 * 96 / 1024, 3)
        ring, fence = (
            startup_costs.predict(self.steps, name, shape)[0][0] for name in ("ring", "fence")
        )
        self.assertAlmostEqual(ring - low, 3 * (2048 - 22), 1)
        self.assertAlmostEqual(fence - low, 5 + 2048, 1)

    def test_costs_of_the_table_are_those_of_the_largest_group(self):
        rows = [
            ("none", 2, "creation table", 4, 2, phase, "ms", value, value, value, 1)
            for phase, value in (
                ("part", 8),
                ("write to a node leader", 16),
                ("read by a node leader", 24),
                ("write to its node", 32),
                ("read by its node", 40),
                ("learn", 48),
            )
        ]
        rows += [
            ("none", 2, "creation table", 2, 2, "part", "ms", 1000, 1000, 1000, 1),
            ("none", 2, "creation table", 4, 2, "write to its node", "bytes", 1e9, 1e9, 1e9, 1),
            (
                "none",
                2,
                "creation table",
                4,
                2,
                "held by its node",
                "bytes",
                8 * 24,
                8 * 24,
                8 * 24,
                1,
            ),
            (
                "none",
                2,
                "creation table",
                4,
                2,
                "held by a node leader",
                "bytes",
                8 * 48,
                8 * 48,
                8 * 48,
                1,
            ),
        ]
        steps = startup_costs.steps_from(_read(_made_up(), _text(rows)))
        shape = JobShape(1024, 3)
        self.assertEqual(steps.table_held_kib(shape), [3 * 24, 3 * 48])
        self.assertEqual(self.steps.table_held_kib(shape), [None, None])
        for strategy, times in (("modex", 1 + 10), ("ring", 512 + 1023)):
            for end, at_once in enumerate((1, 3)):
                without, with_it = (
                    startup_costs.predict(each, strategy, shape)[0][end]
                    for each in (self.steps, steps)
                )
                self.assertAlmostEqual(
                    with_it - without,
                    shape.processes * (times * (2 + 3) + 6 + 4 + at_once * (1 + 5)),
                    3,
                )

    def test_run_of_the_last_file_replaces_all_values(self):
        rows = [
            ("openmpi", 2, "sessions", 2, 2, phase, "mean_ms", value, value, value, 5)
            for phase, value in (("session_init", 99), ("dup", 7))
        ]
        found = _read(_made_up(), _text(rows))
        self.assertEqual(
            found.values["sessions", JobShape(2, 2)],
            {"cores": 2, ("session_init", "mean_ms"): 99, ("dup", "mean_ms"): 7},
        )
        self.assertEqual(
            found.values["sessions", JobShape(4, 2)], self.found.values["sessions", JobShape(4, 2)]
        )
        self.assertEqual(found.measured_again(), [("sessions", JobShape(2, 2), ["1.csv", "2.csv"])])
        self.assertEqual(self.found.measured_again(), [])

    def test_duplicate_row_is_an_error(self):
        with self.assertRaisesRegex(
            SystemExit, r"1\.csv has sessions, 2 x 2, session_init, mean_ms twice"
        ):
            _read(_made_up() + _made_up().partition("\n")[2])

    def test_tree_hops_are_twice_the_depth_of_the_binomial_tree(self):
        self.assertEqual(
            [startup_costs.tree_hops(n) for n in (1, 2, 3, 4, 5, 2048)], [0, 2, 4, 4, 6, 22]
        )


class Command(unittest.TestCase):
    def run_on(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / f"{number}.csv" for number in range(1, len(texts) + 1)]
            for file, text in zip(files, texts):
                file.write_text(text, encoding="utf-8")
            return subprocess.run(
                [_BENCH / "startup" / "model", *files], text=True, capture_output=True
            )

    def test_prints_all_strategies_and_published_values(self):
        done = self.run_on(_made_up())
        self.assertEqual(done.returncode, 0, done.stderr)
        for strategy in startup_costs.STRATEGIES:
            self.assertRegex(done.stdout, rf"(?m)^\| 2048 \| 96 \| {strategy}\b")
        self.assertIn("| ring (not measured) |", done.stdout)
        self.assertIn("5.8 s | Startup 2017", done.stdout)

    def test_missing_measurement_is_reported(self):
        done = self.run_on(_made_up())
        self.assertRegex(
            done.stdout,
            r"(?m)^\| 2048 \| 96 \| modex \|.* MiB \| not measured \| 26\.2 MiB \| .* GiB \| not "
            r"measured \|$",
        )
        self.assertIn("do not include the member table", done.stdout)

    def test_reports_the_file_that_counts(self):
        done = self.run_on(_made_up(), _made_up())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("- sessions, fence, 8 × 4: 1.csv, **2.csv**\n", done.stdout)

    def test_too_few_measurements_are_an_error(self):
        done = self.run_on("\n".join(_made_up().splitlines()[:4]))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("fewer than two runs", done.stderr)


if __name__ == "__main__":
    unittest.main()
