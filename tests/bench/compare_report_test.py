# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import csv
import os
import pathlib
import re
import sys
import tempfile
import types
import unittest

_BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(_BENCH / "compare"), str(_BENCH / "lib")]

import compare_figures  # noqa: E402
import compare_jobs  # noqa: E402
import compare_report  # noqa: E402
from compare_jobs import (  # noqa: E402
    CORE_TO_CORE,
    OURS,
    PRELOADED,
    PROVIDER_MATCHING,
    RAW_LIBFABRIC,
    RAW_TCP,
    TCP_CONNECTIONS,
    WORLD,
    Figure,
    Measured,
    JobShape,
    Row,
)  # noqa: E402

NATIVE = "native sessions (X)"
LATENCY = Row("messages", "latency", 8, 2, 1)
BANDWIDTH = Row("messages", "bandwidth", 1 << 20, 2, 1)
BCAST = Row("collectives", "Bcast", 8, 8, 1)
OVER_SOCKETS = Row("fabric", "latency over sockets", 8, 2, 2)


def _measured(values):
    """Return Measured of values[row][system], a list of microseconds for each repetition.

    A value may be a tuple of microseconds and core-to-core latency in nanoseconds.
    """
    measured = Measured([WORLD, OURS, NATIVE])
    for row, systems in values.items():
        for system, series in systems.items():
            for repetition, value in enumerate(series):
                if value is not None:
                    measured.add(
                        row,
                        system,
                        repetition,
                        Figure(*value) if isinstance(value, tuple) else Figure(value),
                    )
    return measured


def _verdicts(measured):
    return {
        (goal.measure, other): reached
        for goal, _, other, _, reached in compare_report.verdicts(measured)
    }


class Rows(unittest.TestCase):
    def test_lines_of_jobs_are_read(self):
        found = dict(
            compare_jobs.rows_of(
                "noise\nmessages,latency, MPI_ANY_SOURCE,8,0.25\ncollectives,Bcast,65536,7.5\n"
                "session_init max_ms 2.5 mean_ms 1.0\nother max_ms 1.0 mean_ms 1.0\n",
                JobShape("internode_messages", 2, 2),
            )
        )
        self.assertEqual(
            found,
            {
                Row("internode_messages", "latency, MPI_ANY_SOURCE", 8, 2, 2): Figure(0.25),
                Row("internode_messages", "Bcast", 65536, 2, 2): Figure(7.5),
                Row("internode_messages", "MPI_Session_init", 0, 2, 2): Figure(2500.0),
            },
        )

    def test_two_process_row_has_core_latency(self):
        found = dict(
            compare_jobs.rows_of(
                "messages,latency, vector blocks of 64 B,1024,0.25,57.5\n",
                JobShape("messages", 2, 1),
            )
        )
        self.assertEqual(
            found,
            {Row("messages", "latency, vector blocks of 64 B", 1024, 2, 1): Figure(0.25, 57.5)},
        )

    def test_rows_name_their_path(self):
        found = dict(
            compare_jobs.rows_of("raw,latency,8,7.5\n", JobShape("fabric", 2, 2, "sockets"))
        )
        self.assertEqual(found, {OVER_SOCKETS: Figure(7.5)})

    def test_a_repetition_that_failed_has_no_ratio(self):
        measured = _measured({LATENCY: {OURS: [1, None, 3], WORLD: [2, 2, 2]}})
        self.assertEqual(measured.ratios(LATENCY, OURS, WORLD), [0.5, 1.5])
        self.assertEqual(measured.series(LATENCY, OURS), [1, 3])

    def test_repetitions_with_similar_core_latency_count(self):
        measured = _measured(
            {LATENCY: {OURS: [(1, 60), (5, 250), (3, None)], WORLD: [(4, 70), (4, 70), (4, 70)]}}
        )
        self.assertEqual(measured.ratios(LATENCY, OURS, WORLD), [0.25])

    def test_figures_of_other_repetitions_with_similar_latency_count(self):
        measured = _measured({LATENCY: {OURS: [(1, 60), (5, 250)], WORLD: [(10, 240), (4, 70)]}})
        self.assertEqual(measured.ratios(LATENCY, OURS, WORLD), [0.25, 0.5])

    def test_all_repetitions_count_if_no_latencies_match(self):
        measured = _measured({LATENCY: {OURS: [(1, 60), (2, 60)], WORLD: [(10, 240), (4, 250)]}})
        self.assertEqual(measured.ratios(LATENCY, OURS, WORLD), [0.1, 0.5])


class Bench:
    """Prints the given text for each program; a program without text fails."""

    def __init__(self, printed, complaint=""):
        self.printed, self.complaint, self.ran = printed, complaint, []

    def run(self, processes, program, *arguments, variables=None, unless=None, **_):
        self.ran.append((program, *arguments[:1], *(variables or {}).values()))
        if unless and unless in self.complaint:
            raise compare_jobs.measuring.JobFailed(
                "a command does not run as it should:\n" + self.complaint
            )
        if self.printed.get(program) is None:
            raise compare_jobs.measuring.JobFailed("a command failed with 1:\nit is not offered")
        return self.printed[program]

    def progress(self, text):
        pass


class Oversubscribed(unittest.TestCase):
    def test_oversubscribed_jobs_yield_if_the_mpi_can(self):
        options = types.SimpleNamespace(no_native=True, providers=(), milliseconds=1, full=False)
        for yields, asked in ((("GIVE_AWAY", "1"), ("1",)), ((), ())):
            bench = Bench(
                dict.fromkeys(("compare_world", "compare_session"), "oversubscribed,latency,8,2\n")
            )
            bench.mpi = types.SimpleNamespace(
                finalizes_over_nodes=True, yields=yields, no_single_copy=()
            )
            systems = compare_jobs.systems_of(bench, options)
            compare_jobs._measure_at(
                JobShape("oversubscribed", 16, 1),
                systems,
                Measured([system.name for system in systems]),
                0,
                options,
            )
            self.assertEqual(
                bench.ran,
                [
                    ("compare_world", "oversubscribed", *asked),
                    ("compare_session", "oversubscribed", *asked),
                ],
            )

    def test_each_row_has_its_name(self):
        row = Row("oversubscribed", "Barrier", 0, 16, 1)
        ((goal, *_, reached),) = compare_report.verdicts(_measured({row: {OURS: [1], WORLD: [2]}}))
        self.assertIn("Barrier", goal.title(row))
        self.assertTrue(reached)


class InternodeCollectives(unittest.TestCase):
    def test_runs_collectives_and_yields_if_processes_share_a_core(self):
        options = types.SimpleNamespace(
            no_native=True,
            providers=(),
            milliseconds=1,
            full=False,
            parts="internode_collectives",
            processes="2",
        )
        for shape, asked in zip(compare_jobs.shapes_of(options), ((), ("1",)), strict=True):
            bench = Bench(
                dict.fromkeys(("compare_world", "compare_session"), "collectives,Bcast,8,2\n")
            )
            bench.mpi = types.SimpleNamespace(
                finalizes_over_nodes=True, yields=("GIVE_AWAY", "1"), no_single_copy=()
            )
            systems = compare_jobs.systems_of(bench, options)
            measured = Measured([system.name for system in systems])
            compare_jobs._measure_at(shape, systems, measured, 0, options)
            self.assertEqual(
                bench.ran,
                [
                    ("compare_world", "collectives", *asked),
                    ("compare_session", "collectives", *asked),
                ],
            )
            self.assertEqual(
                list(measured.values),
                [Row("internode_collectives", "Bcast", 8, shape.processes, 2)],
            )


class NoSingleCopy(unittest.TestCase):
    SHAPE = JobShape("no_single_copy", 2, 1)

    def _run(self, settings):
        bench = Bench(
            dict.fromkeys(("compare_world", "compare_session"), "no_single_copy,latency,65536,2\n")
        )
        bench.mpi = types.SimpleNamespace(
            finalizes_over_nodes=True, yields=(), no_single_copy=settings
        )
        systems = compare_jobs.systems_of(
            bench, types.SimpleNamespace(no_native=True, providers=())
        )
        options = types.SimpleNamespace(milliseconds=1, full=False)
        compare_jobs._measure_at(
            self.SHAPE, systems, Measured([system.name for system in systems]), 0, options
        )
        return systems, bench.ran

    def test_each_system_has_its_own_setting(self):
        systems, ran = self._run((("NO_READING", "7"),))
        self.assertEqual(
            ran,
            [
                ("compare_world", "no_single_copy", "7", "0"),
                ("compare_session", "no_single_copy", "7", "0"),
            ],
        )
        self.assertEqual(compare_jobs.left_out(systems, [self.SHAPE]), [])

    def test_mpi_without_copy_setting_is_omitted_and_reported(self):
        systems, ran = self._run(())
        self.assertEqual(ran, [("compare_session", "no_single_copy", "0")])
        self.assertEqual(
            [(system, where) for system, where, _ in compare_jobs.left_out(systems, [self.SHAPE])],
            [(WORLD, "no_single_copy")],
        )


class Options(unittest.TestCase):
    def _mpi(self, *words, with_others=True):
        options = compare_jobs.measuring.parser_for("", 1, with_others).parse_args(
            [word for value in words for word in ("--mpi", value)]
        )
        return options.mpi, options.native

    def test_name_is_the_native_mpi_and_folder_is_one_more(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder, "bin")
            programs.mkdir()
            for name in ("mpicc", "mpiexec"):
                (programs / name).touch()
            self.assertEqual(self._mpi(), ("openmpi", []))
            self.assertEqual(self._mpi(folder, "mpich"), ("mpich", [pathlib.Path(folder)]))
            self.assertEqual(self._mpi(folder), ("openmpi", [pathlib.Path(folder)]))

    def test_path_that_is_no_mpi_is_an_error(self):
        with open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing):
            for with_others in (True, False):
                with self.assertRaises(SystemExit):
                    self._mpi("/no/such/folder", with_others=with_others)


class CoreToCore(unittest.TestCase):
    def test_core_latency_of_the_same_two_processes_is_a_row(self):
        options = types.SimpleNamespace(no_native=True, providers=(), milliseconds=1, full=False)
        bench = Bench(
            {
                "compare_session": "messages,latency,8,0.1,60\n",
                "compare_world": "messages,latency,8,0.2,250\n",
            }
        )
        bench.mpi = types.SimpleNamespace(finalizes_over_nodes=True, yields=(), no_single_copy=())
        systems = compare_jobs.systems_of(bench, options)
        measured = Measured([system.name for system in systems])
        compare_jobs._measure_at(JobShape("messages", 2, 1), systems, measured, 0, options)
        self.assertEqual(measured.series(LATENCY, CORE_TO_CORE), [0.06])
        self.assertEqual(
            [round(ratio, 3) for ratio in measured.ratios(LATENCY, OURS, CORE_TO_CORE)], [1.667]
        )


class Paths(unittest.TestCase):
    def _measure(self, bench, path, repetitions=1):
        options = types.SimpleNamespace(no_native=True, providers=("sockets",), milliseconds=1)
        bench.mpi = types.SimpleNamespace(finalizes_over_nodes=True, yields=(), no_single_copy=())
        systems = compare_jobs.systems_of(bench, options)
        measured = Measured([system.name for system in systems])
        for repetition in range(repetitions):
            compare_jobs._measure_at(
                JobShape("fabric", 2, 2, path), systems, measured, repetition, options
            )
        return measured

    def test_each_path_runs_its_raw_system(self):
        for path, argument, raw, setting in (
            ("sockets", "sockets", RAW_LIBFABRIC, ("sockets",)),
            (TCP_CONNECTIONS, "connection", RAW_TCP, ()),
        ):
            bench = Bench(
                dict.fromkeys(
                    ("raw_pingpong", "compare_world", "compare_session"), "raw,latency,8,2\n"
                )
            )
            measured = self._measure(bench, path)
            self.assertEqual(bench.ran[0], ("raw_pingpong", argument))
            self.assertIn(("compare_session", "fabric", *setting), bench.ran)
            systems = {raw, WORLD, OURS} | (
                {PROVIDER_MATCHING} if path != TCP_CONNECTIONS else set()
            )
            self.assertEqual(
                set(measured.values[Row("fabric", f"latency over {path}", 8, 2, 2)]), systems
            )

    def test_provider_matching_has_its_own_rows(self):
        bench = Bench(
            dict.fromkeys(("raw_pingpong", "compare_world", "compare_session"), "raw,latency,8,2\n")
        )
        self._measure(bench, "sockets")
        self.assertEqual(
            sorted(job for job in bench.ran if job[0] == "compare_session"),
            [
                ("compare_session", "fabric", "provider", "sockets"),
                ("compare_session", "fabric", "sockets"),
            ],
        )

    def test_provider_that_cannot_match_has_no_such_row(self):
        complaint = (
            "[intersession] libfabric's provider sockets is not up to matching messages here "
            "(INTERSESSION_MATCHING): this library matches them"
        )
        bench = Bench(
            dict.fromkeys(
                ("raw_pingpong", "compare_world", "compare_session"), "raw,latency,8,2\n"
            ),
            complaint,
        )
        measured = self._measure(bench, "sockets", repetitions=2)
        self.assertEqual(set(measured.values[OVER_SOCKETS]), {RAW_LIBFABRIC, WORLD, OURS})
        self.assertEqual(sum("provider" in job for job in bench.ran), 1)
        self.assertEqual(
            [(name, compare_report._reason(why)) for name, _, why in measured.failures],
            [(PROVIDER_MATCHING, complaint)],
        )

    def test_unavailable_path_is_tried_once_by_the_raw_system_only(self):
        bench = Bench({"compare_session": "raw,latency,8,2\n"})
        measured = self._measure(bench, "sockets", repetitions=2)
        self.assertEqual([program for program, *_ in bench.ran], ["raw_pingpong"])
        self.assertEqual(
            [(name, str(shape)) for name, shape, _ in measured.failures],
            [(RAW_LIBFABRIC, "fabric, 2 processes on 2 node(s) over sockets")],
        )


class Verdicts(unittest.TestCase):
    def test_latency_is_compared_to_world_and_core_latency(self):
        verdicts = _verdicts(_measured({LATENCY: {OURS: [0.8], WORLD: [1.0], CORE_TO_CORE: [0.4]}}))
        self.assertEqual(
            verdicts, {("8-byte latency", WORLD): True, ("8-byte latency", CORE_TO_CORE): False}
        )

    def test_median_of_the_ratios_counts(self):
        self.assertTrue(
            _verdicts(_measured({LATENCY: {OURS: [0.8, 0.8, 9], WORLD: [1, 1, 1]}}))[
                "8-byte latency", WORLD
            ]
        )

    def test_more_bandwidth_is_better(self):
        for ours, reached in ((80, True), (95, False)):
            self.assertEqual(
                _verdicts(_measured({BANDWIDTH: {OURS: [ours], WORLD: [100]}})),
                {("bandwidth", WORLD): reached},
            )

    def test_preloading_must_not_change_world_latency(self):
        for preloaded, reached in ((1.01, True), (1.1, False), (0.9, False)):
            measured = _measured({LATENCY: {PRELOADED: [preloaded], WORLD: [1]}})
            self.assertEqual(list(_verdicts(measured).values()), [reached])
            self.assertIn("| 1.00 ± 0.02 |", compare_report.goals(measured))

    def test_collectives_preloaded_are_one_row_of_their_medians(self):
        rows = {
            BCAST._replace(bytes=size): {
                PRELOADED: [preloaded, preloaded, 9],
                WORLD: [1, 1, 1],
                OURS: [1, 1, 1],
            }
            for size, preloaded in ((8, 0.9), (64, 0.98), (512, 1.01), (4096, 1.1), (32768, 2))
        }
        rows[BCAST._replace(processes=2)] = {
            WORLD: [1],
            OURS: [1],
        }  # not preloaded, so not counted
        measured = _measured(rows)
        goals = compare_report.goals(measured)
        self.assertIn(
            "| library preloaded, not used: medians of 5 rows of collectives (quartiles) |  | 8 |  "
            "| world |  "
            "| **1.01** (0.98–1.1) | 1.00 ± 0.02 | yes |",
            goals,
        )
        self.assertEqual(goals.count("library preloaded"), 1)
        for row in measured.values:
            measured.values[row][PRELOADED] = [Figure(1.03)] * 3
        self.assertIn(
            "**1.03** (1.03–1.03) | 1.00 ± 0.02 | **no** |", compare_report.goals(measured)
        )

    def test_preloaded_is_not_a_competitor(self):
        measured = Measured([WORLD, OURS, PRELOADED])
        for system, value in ((WORLD, 2), (OURS, 1.5), (PRELOADED, 1)):
            measured.add(BCAST, system, 0, Figure(value))
        self.assertEqual(_verdicts(measured), {("collectives", WORLD): True})

    def test_each_path_between_nodes_is_compared_with_its_raw_system(self):
        measured = _measured({OVER_SOCKETS: {OURS: [12], RAW_LIBFABRIC: [10], WORLD: [5]}})
        self.assertEqual(
            _verdicts(measured), {("8-byte latency between nodes", RAW_LIBFABRIC): False}
        )
        self.assertIn(
            "| 8-byte latency between nodes over sockets | 8 B | 2 | 12 µs | raw libfabric | 10 µs "
            "|",
            compare_report.goals(measured),
        )

    def test_matching_by_the_provider_has_a_goal(self):
        measured = _measured(
            {OVER_SOCKETS: {OURS: [12], PROVIDER_MATCHING: [10.5], RAW_LIBFABRIC: [10]}}
        )
        self.assertEqual(
            _verdicts(measured)["8-byte latency between nodes, provider matching,", RAW_LIBFABRIC],
            True,
        )
        self.assertIn(
            "| 8-byte latency between nodes, provider matching, over sockets | 8 B | 2 | 10.5 µs | "
            "raw libfabric | 10 µs |",
            compare_report.goals(measured),
        )

    def test_collectives_are_compared_with_the_faster_system(self):
        verdicts = _verdicts(_measured({BCAST: {OURS: [1.5], WORLD: [2], NATIVE: [1]}}))
        self.assertEqual(verdicts, {("collectives", NATIVE): False})
        verdicts = _verdicts(_measured({BCAST: {OURS: [1.5], WORLD: [2]}}))
        self.assertEqual(verdicts, {("collectives", WORLD): True})


class Texts(unittest.TestCase):
    def setUp(self):
        self.measured = _measured(
            {
                LATENCY: {OURS: [0.5, 0.6], WORLD: [1, 1]},
                BANDWIDTH: {OURS: [100], WORLD: [50]},
                BCAST: {OURS: [3], WORLD: [2], NATIVE: [4]},
            }
        )
        self.measured.failures.append(
            (
                NATIVE,
                JobShape("messages", 2, 1),
                "a command failed with 1:\nmessages,latency,8,0.25\n-----\nno memory\nan epilogue",
            )
        )

    def test_missed_goals_are_reported(self):
        bench = types.SimpleNamespace(options=types.SimpleNamespace(repetitions=2), mpi=None)
        compare_report.measuring.machine, kept = (
            lambda mpi: "a machine",
            compare_report.measuring.machine,
        )
        try:
            text = compare_report.markdown(self.measured, bench)
        finally:
            compare_report.measuring.machine = kept
        self.assertIn(
            "| bandwidth | 1 MiB | 2 | 10.5 GB/s | world | 21 GB/s | **0.5** (0.5–0.5) | ≥ 1.1 | "
            "**no** |",
            text,
        )
        self.assertIn(
            "| Bcast | 8 B | 8 | 3 µs | world | 2 µs | **1.5** (1.5–1.5) | ≤ 1 | **no** |", text
        )
        self.assertIn("\n0 of 1 rows of Allreduce", text)
        self.assertIn(f"- {NATIVE}, messages, 2 processes on 1 node(s): no memory\n", text)

    def test_reason_has_no_folders_of_this_machine(self):
        self.assertEqual(
            compare_report._reason(
                "mpirun -n 2 /some/where/compare_session ring_exchange a/b took longer than 300 s"
            ),
            "mpirun -n 2 compare_session ring_exchange a/b took longer than 300 s",
        )

    def test_preloaded_column_is_next_to_world(self):
        measured = Measured([WORLD, OURS, PRELOADED])
        for system, value in ((WORLD, 2), (OURS, 1), (PRELOADED, 3)):
            measured.add(BCAST, system, 0, Figure(value))
        text = compare_report._all(measured, "collectives")
        self.assertIn(
            "| sessions | world; sessions' ratio to it | world, preloaded; its ratio to world |",
            text,
        )
        self.assertIn("| 1 µs | 2 µs; **0.5** (0.5–0.5) | 3 µs; **1.5** (1.5–1.5) |", text)

    def test_system_omitted_between_nodes_is_reported(self):
        system = lambda name, ends: compare_jobs.System(
            name, None, "session", finalizes_over_nodes=ends
        )
        shapes = [
            JobShape("messages", 2, 1),
            JobShape("internode_messages", 2, 2),
            JobShape("fabric", 2, 2, TCP_CONNECTIONS),
            JobShape("fabric", 2, 2, "sockets"),
        ]
        self.assertEqual(
            [shape.part for shape in shapes if system(NATIVE, False).is_in(shape)], ["messages"]
        )
        self.measured.left_out = compare_jobs.left_out(
            [system(OURS, True), system(NATIVE, False)], shapes
        )
        (line, _) = compare_report._not_run(self.measured)
        self.assertRegex(
            line,
            rf"^- {re.escape(NATIVE)}, between nodes \(internode_messages, fabric\): its own "
            r"MPI_Finalize hangs in some jobs",
        )
        self.assertEqual(compare_jobs.left_out([system(NATIVE, False)], shapes[:1]), [])

    def test_gain_of_a_second_thread_is_reported(self):
        one, two = (
            Row("threads", what, 8, 2, 1)
            for what in ("rate, 1 thread (multiple)", "rate, 2 threads")
        )
        measured = _measured(
            {
                one: {OURS: [0.2, 0.2], WORLD: [0.1, None]},
                two: {OURS: [0.1, 0.4], WORLD: [0.2, 0.1]},
            }
        )
        text = compare_report._gain_of_threads(measured)
        self.assertIn("| sessions | to another process | 5 M/s | 4 M/s | **1.25** (0.5–2) |", text)
        self.assertIn(
            "| world | to another process | 10 M/s | 6.67 M/s | **0.5** (0.5–0.5) |", text
        )
        self.assertNotIn("to themselves", text)

    def test_gain_of_a_second_thread_is_reported_for_self_messages(self):
        one, two = (
            Row("threads", what, 8, 1, 1)
            for what in ("rate to itself, 1 thread", "rate to itself, 2 threads")
        )
        text = compare_report._gain_of_threads(
            _measured({one: {OURS: [0.2, 0.2]}, two: {OURS: [0.1, 0.1]}})
        )
        self.assertIn("| sessions | to themselves | 5 M/s | 10 M/s | **2** (2–2) |", text)

    def test_summary_counts_rows_and_names_the_largest_ratio(self):
        text = compare_report.summary(self.measured)
        self.assertIn(
            "| messages | 2 | sessions / world | 2 | 1 | **1.27** (0.913–1.64) | "
            "2: bandwidth, 1 MiB |",
            text,
        )
        self.assertIn("| collectives | 8 | sessions / native sessions (X) | 1 | 1 |", text)

    def test_ratio_figure_has_all_rows(self):
        ratios = compare_figures.ratios(self.measured, "messages", OURS, WORLD)
        self.assertEqual(
            [(each.label, each.ratio, each.low, each.high) for each in ratios],
            [
                ("latency, 8 B, 2 processes", 0.55, 0.5, 0.6),
                ("bandwidth, 1 MiB, 2 processes", 2, 2, 2),
            ],
        )

    def test_writes_a_figure_for_each_pair_of_systems(self):
        measured = _measured(
            {
                OVER_SOCKETS: {OURS: [12], PROVIDER_MATCHING: [11], RAW_LIBFABRIC: [10]},
                BCAST: {PRELOADED: [1], WORLD: [1]},
            }
        )
        with tempfile.TemporaryDirectory() as folder:
            compare_report.write(measured, "text", "summary", pathlib.Path(folder), "compare-x")
            drawn = {path.name for path in pathlib.Path(folder).glob("*.svg")}
        self.assertEqual(
            {
                "compare-x-fabric-libfabric.svg",
                "compare-x-fabric-provider_matching.svg",
                "compare-x-collectives-preloaded.svg",
            },
            drawn,
        )

    def test_csv_has_core_latency_and_ratio(self):
        measured = _measured(
            {
                LATENCY: {
                    OURS: [(0.5, 60), (0.6, 70)],
                    WORLD: [(1, 60), (1, 70)],
                    PRELOADED: [(2, 60), (3, 70)],
                }
            }
        )
        with tempfile.TemporaryDirectory() as folder:
            compare_report.write(measured, "text", "summary", pathlib.Path(folder), "compare-x")
            with open(f"{folder}/compare-x.csv", encoding="utf-8", newline="") as file:
                rows = {row["system"]: row for row in csv.DictReader(file)}
        self.assertEqual(
            [rows[WORLD][field] for field in compare_report.CSV_FIELDS[-6:]],
            ["65.0", OURS, WORLD, "0.55", "0.5", "0.6"],
        )
        self.assertEqual(
            [rows[PRELOADED][field] for field in compare_report.CSV_FIELDS[-6:]],
            ["65.0", PRELOADED, WORLD, "2.5", "2", "3"],
        )
        self.assertEqual(
            [rows[OURS][field] for field in compare_report.CSV_FIELDS[-6:]],
            ["65.0", "", "", "", "", ""],
        )


if __name__ == "__main__":
    unittest.main()
