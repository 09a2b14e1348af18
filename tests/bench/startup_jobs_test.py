# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import sys
import unittest

_BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(_BENCH / "startup"), str(_BENCH / "lib")]

import startup_jobs  # noqa: E402
import startup_report  # noqa: E402

_PLACE = (1, 2)


def _measured(*repetitions):
    """Return Measured of the output of each system in each repetition; None: it failed."""
    measured = startup_jobs.Measured(systems=["MPI_Init", "sessions"], shapes=[_PLACE])
    for number, outputs in enumerate(repetitions):
        for system, text in outputs.items():
            startup_jobs.take(measured, system, _PLACE, number, text)
    return measured


class Figures(unittest.TestCase):
    def test_lines_are_read(self):
        measured = _measured(
            {
                "sessions": "session_total max_ms 12.5 mean_ms 10.0\nnoise max_ms\n"
                "start max_kib 5 mean_kib 4.5 shared_kib 7\n"
                "created.node_bytes max_count 9 mean_count 8.5\n"
            }
        )
        self.assertEqual(measured.middle("sessions", _PLACE, "session_total", "max_ms"), 12.5)
        self.assertEqual(measured.middle("sessions", _PLACE, "start", "shared_kib"), 7)
        self.assertEqual(
            measured.middle("sessions", _PLACE, "created.node_bytes", "mean_count"), 8.5
        )
        self.assertEqual(len(measured.values), 7)

    def test_ratios_are_those_of_a_repetition(self):
        line = lambda phase, value: f"{phase} max_ms {value} mean_ms {value}\n"
        measured = _measured(
            {"MPI_Init": line("world_init", 100), "sessions": line("session_total", 10)},
            {"MPI_Init": line("world_init", 200), "sessions": None},
            {"MPI_Init": line("world_init", 1000), "sessions": line("session_total", 300)},
        )
        self.assertEqual(
            measured.ratios(("sessions", "session_total"), ("MPI_Init", "world_init"), _PLACE),
            [0.1, 0.3],
        )

    def test_missed_goal_is_reported(self):
        measured = _measured(
            {
                "MPI_Init": "world_init max_ms 100 mean_ms 90\n",
                "sessions": "session_total max_ms 11 mean_ms 9\n",
            }
        )
        self.assertIn(
            "| 11 ms | 100 ms | **0.11** (0.11–0.11) | ≤ 0.1 | **no** |",
            startup_report.goals(measured),
        )

    def test_largest_process_has_a_goal(self):
        start, made = (
            "start max_kib 600 mean_kib 500 shared_kib 0\n",
            "world_comm max_kib {} mean_kib 700 shared_kib 0\n",
        )
        measured = startup_jobs.Measured(systems=["sessions"], shapes=[(1, 256)])
        startup_jobs.take(measured, "sessions", (1, 256), 0, start + made.format(1525))
        goals = startup_report.goals(measured)
        self.assertIn(
            "| memory per process beyond PMIx | 1 | 256 | 200 KiB |  |  | < 1024 KiB | yes |", goals
        )
        self.assertIn(
            "| memory of the largest process beyond PMIx | 1 | 256 | 1025 KiB |  |  | < 1024 KiB | "
            "**no** |",
            goals,
        )

    def test_times_are_means_and_maxima(self):
        measured = _measured(
            {
                "sessions": "session_init max_ms 3 mean_ms 1.5\nsession_total max_ms 12 mean_ms 9\n"
                "dup max_ms 0.002 mean_ms 0.001\n"
            }
        )
        self.assertIn(
            "| 1 | 2 | sessions | 1.5, 3 |  |  | 9, 12 |",
            startup_report._times(measured, measured.shapes, measured.systems),
        )
        self.assertIn("| 1 | 2 | sessions |  |  |  | 1, 2 |  |", startup_report._later(measured))

    def test_memory_is_reported_by_steps(self):
        lines = "".join(
            f"{phase} max_kib {kib} mean_kib {kib} shared_kib 0\n"
            for phase, kib in (
                ("start", 500),
                ("session_init", 1500),
                ("self_comm", 1504),
                ("world_comm", 2004),
                ("allreduce_first", 2100),
                ("first_message", 2300),
            )
        )
        measured = _measured(
            {
                "sessions": lines,
                "launcher's client": "start max_kib 100 mean_kib 100 shared_kib 0\n"
                "launcher_init max_kib 900 mean_kib 900 shared_kib 0\n",
            }
        )
        self.assertEqual(
            startup_report.memory_parts(measured, "sessions", _PLACE),
            {"MPI_Session_init": 1000, "self": 4, "world": 500, "first operations": 296},
        )
        self.assertEqual(startup_report.beyond_launcher(measured, _PLACE), 1504)
        startup_jobs.take(
            measured,
            "sessions",
            _PLACE,
            0,
            "created.launcher_connections max_count 1 mean_count 1\n",
        )
        self.assertEqual(startup_report.beyond_launcher(measured, _PLACE), 704)

    def test_strategies_are_those_of_the_setting(self):
        self.assertEqual(
            startup_jobs.offered(("modex", "no_such_way", "world_fence")), ("modex", "world_fence")
        )


if __name__ == "__main__":
    unittest.main()
