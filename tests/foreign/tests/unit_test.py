# SPDX-License-Identifier: BSD-3-Clause
"""Unit tests of the runner of foreign suites; they need no MPI."""
import dataclasses
import pathlib
import re
import sys
import unittest

_HERE = pathlib.Path(__file__).resolve().parent
_TESTS = _HERE.parent.parent
sys.path[:0] = [str(_TESTS / "foreign"), str(_TESTS / "harness"), str(_TESTS / "cluster")]

import job  # noqa: E402
import mpi4py_results  # noqa: E402
import report  # noqa: E402
import rules  # noqa: E402
import suite  # noqa: E402
from modes import MODES  # noqa: E402


def _event(kind: str, test: str, detail: str = "") -> dict:
    return {"event": kind, "test": test, "detail": detail}


class Mpi4py(unittest.TestCase):
    def test_a_result_is_the_worst_of_all_processes(self) -> None:
        events = [
            [
                _event("begun", "a"),
                _event("pass", "a"),
                _event("ended", "a"),
                _event("skip", "b", "no"),
            ],
            [_event("fail", "a", "why"), _event("skip", "b", "no")],
        ]
        self.assertEqual(mpi4py_results.worst(events), {"a": ("fail", "why"), "b": ("skip", "no")})

    def test_a_test_that_has_not_ended_is_unfinished(self) -> None:
        events = [
            [_event("begun", "a"), _event("pass", "a")],
            [_event("begun", "a"), _event("ended", "a")],
            [_event("over", "")],
        ]
        self.assertEqual(mpi4py_results.unfinished(events), ["a"])

    def test_all_keys_of_a_cause_restrict_it(self) -> None:
        causes = [
            {
                "tests": r"^test_x\.",
                "mpis": ["mpich"],
                "modes": ["served"],
                "processes": [2],
                "output": "E1",
                "reason": "one",
            },
            {"tests": "x", "reason": "two"},
        ]
        result = mpi4py_results.Result(
            "mpich", "served", 2, "test_x.A.b", mpi4py_results.FAIL, "E1"
        )
        self.assertEqual(mpi4py_results.cause_of(result, causes), "one")
        for other in ({"mpi": "openmpi"}, {"mode": "session"}, {"processes": 3}, {"detail": "E2"}):
            self.assertEqual(
                mpi4py_results.cause_of(dataclasses.replace(result, **other), causes), "two"
            )
        self.assertEqual(
            mpi4py_results.cause_of(dataclasses.replace(result, test="test_y"), causes), ""
        )

    def test_tests_that_free_the_world_are_not_run_in_sessions_only(self) -> None:
        test = "test_exceptions.TestExcComm.testFreeWorld"
        self.assertIn(test, mpi4py_results.not_runnable("session"))
        self.assertNotIn(test, mpi4py_results.not_runnable("served"))


class Lists(unittest.TestCase):
    def test_a_row_may_have_all_keywords(self) -> None:
        test = suite.row(
            "coll",
            "below/bcast 4 arg=-a=1 arg=b env=X=1 env=Y=2=3 timeLimit=7 mem=1.5 xfail=t1 "
            "resultTest=TestStatus "
            "mpiversion=4.1 mpiexecarg=-q strict=false lock=many noise",
        )
        self.assertEqual(
            test,
            suite.Test(
                "coll/below",
                "bcast",
                4,
                ("-a=1", "b"),
                ("X=1", "Y=2=3"),
                ("-q",),
                7,
                "TestStatus",
                1.5,
                "t1",
                "4.1",
            ),
        )
        self.assertEqual(test.name, "coll/below/bcast 4 -a=1 b X=1 Y=2=3")

    def test_a_row_without_processes_has_two(self) -> None:
        self.assertEqual(suite.row("coll", "bcast").processes, 2)

    def test_all_rows_of_the_miniature_suite_are_read(self) -> None:
        top = _HERE / "suite"
        tests = {test.name: test for test in suite.tests_of(top, "pt2pt")}
        self.assertEqual(len(tests), 14)
        self.assertIn("pt2pt/rma/window 2", tests)
        self.assertIn("pt2pt/passes_with_placeholder 1", tests)
        another = tests["pt2pt/passes_by_another_name 2"]
        self.assertEqual(suite.sources_of(top, another), [top / "pt2pt" / "passes.c"])
        self.assertEqual(suite.definitions_of(top, another), ["-DANOTHER_NAME"])
        self.assertEqual(suite.sources_of(top, tests["pt2pt/fails 2"]), [top / "pt2pt" / "fails.c"])


class Judging(unittest.TestCase):
    def judged(self, verdict: str, code: int, *lines: str) -> str:
        return job.judge(verdict, code, list(lines)).result

    def test_normal_output_is_no_errors_only(self) -> None:
        self.assertEqual(self.judged("TestNormal", 0, " No Errors"), job.PASS)
        self.assertEqual(self.judged("TestNormal", 1, " No Errors"), job.FAIL)
        self.assertEqual(self.judged("TestNormal", 0), job.FAIL)
        self.assertEqual(self.judged("TestNormal", 0, "a word", " No Errors"), job.FAIL)
        self.assertEqual(self.judged("TestNormal", 0, " Found 3 errors"), job.FAIL)

    def test_tests_that_must_fail_pass_if_they_fail(self) -> None:
        self.assertEqual(self.judged("TestStatus", 1, "anything"), job.PASS)
        self.assertEqual(self.judged("TestErrFatal", 0, " No Errors"), job.FAIL)
        self.assertEqual(self.judged("TestStatusNoErrors", 1, " No Errors"), job.PASS)
        self.assertEqual(self.judged("TestStatusNoErrors", 0, " No Errors"), job.FAIL)

    def test_tests_may_report_that_they_cannot_run(self) -> None:
        self.assertEqual(self.judged("TestNormal", 0, "Test Skipped"), job.NOT_RUNNABLE)


class Tables(unittest.TestCase):
    def why(self, line: str) -> str:
        return rules.why_not_runnable(suite.row("coll", line), "session", "openmpi", 4)

    def test_tests_that_cannot_run_have_a_reason(self) -> None:
        self.assertEqual(self.why("bcast 4"), "")
        self.assertIn("GPU", self.why("bcast 4 arg=-oddmemtype=device"))
        self.assertIn("memory", self.why("bcast 4 mem=4.1"))

    def test_a_row_that_repeats_another_is_found(self) -> None:
        test = suite.row("coll", "bcast 4 env=MPIR_CVAR_X=1 env=Y=1")
        self.assertTrue(rules.repeats(test, {"coll/bcast 4 Y=1"}))
        self.assertFalse(rules.repeats(test, {"coll/bcast 4"}))
        self.assertFalse(rules.repeats(suite.row("coll", "bcast 4 env=Y=1"), {"coll/bcast 4 Y=1"}))

    def test_each_entry_has_a_reason(self) -> None:
        for file, name in (
            ("rules.toml", "not_runnable"),
            ("rules.toml", "environment"),
            ("causes.toml", "cause"),
        ):
            for rule in rules.table(file).get(name, []):
                self.assertTrue(rule.keys.get("reason"), rule)

    def test_a_rule_applies_to_its_modes_and_mpis(self) -> None:
        rule = rules.Rule(re.compile("bcast"), {}, modes=("world",), mpis=("mpich",))
        self.assertTrue(rule.applies_to("coll/bcast 4", "world", "mpich"))
        self.assertFalse(rule.applies_to("coll/bcast 4", "session", "mpich"))
        self.assertFalse(rule.applies_to("coll/bcast 4", "world", "openmpi"))
        self.assertFalse(rule.applies_to("coll/reduce 4", "world", "mpich"))


class Modes(unittest.TestCase):
    def test_served_runs_the_files_of_plain_with_the_library_and_the_setting(self) -> None:
        served, build = MODES["served"], pathlib.Path("/build")
        self.assertEqual(
            served.variables("mpich", build),
            {
                "INTERSESSION_WORLD": "sessions",
                "LD_PRELOAD": "/build/lib/libintersession-mpich.so",
            },
        )
        self.assertEqual(served.programs, MODES["plain"].programs)
        self.assertEqual(MODES["plain"].variables("mpich", build), {})

    def test_modes_on_sessions_ask_causes(self) -> None:
        asking = [mode.name for mode in MODES.values() if mode.asks_causes]
        self.assertEqual(asking, ["session", "served"])


class Reports(unittest.TestCase):
    def result(self, mode: str, name: str, result: str) -> report.Result:
        return report.Result("openmpi", mode, name.split("/")[0], name, result, "a reason")

    def test_numbers_count_tests_that_can_run(self) -> None:
        results = [
            self.result("plain", "coll/a 2", job.PASS),
            self.result("plain", "coll/b 2", job.TIMEOUT),
            self.result("plain", "attr/c 2", job.NOT_RUNNABLE),
        ]
        self.assertEqual(
            report.folder_rows(results)[:3],
            [("coll", 2, 1, "50.0 %"), ("attr", 0, 0, "–"), ("all", 2, 1, "50.0 %")],
        )

    def test_sums_omit_the_folders_in_their_names(self) -> None:
        results = [
            self.result("session", "coll/a 2", job.PASS),
            self.result("session", "errors/b 2", job.FAIL),
            dataclasses.replace(
                self.result("session", "coll/c 2", job.FAIL), expected_to_fail="ticket"
            ),
        ]
        sums = {
            name: (runnable, passed) for name, runnable, passed, _ in report.folder_rows(results)
        }
        self.assertEqual(
            (sums["all"], sums["all but errors"], sums["all but xfail"]), ((3, 1), (2, 1), (2, 1))
        )

    def test_differences_between_two_modes_are_listed(self) -> None:
        plain = {
            name: self.result("plain", name, result)
            for name, result in (("c/a 2", job.PASS), ("c/b 2", job.FAIL))
        }
        world = {
            name: self.result("world", name, result)
            for name, result in (("c/a 2", job.FAIL), ("c/b 2", job.TIMEOUT))
        }
        self.assertEqual(report.differences(plain, world), ["c/a 2: plain pass, world fail"])

    def test_the_document_names_what_does_not_pass(self) -> None:
        results = {
            ("openmpi", "session"): [
                self.result("session", "coll/a 2", job.PASS),
                self.result("session", "coll/b 2", job.FAIL),
            ]
        }
        text = report.document(results, "a suite", {"openmpi": "Open MPI 4"}, title="A title")
        self.assertTrue(text.startswith("# A title\n"))
        self.assertIn("\n- `session`: ", text)
        self.assertNotIn("\n- `plain`: ", text)  # has no results
        self.assertIn("| coll | 1 of 2 (50.0 %) |", text)
        self.assertIn("`coll/b 2` (fail)", text)
        self.assertIn("Cause not known yet", text)

    def test_summary_names_tests_of_modes_that_ask_causes(self) -> None:
        results = {
            ("openmpi", mode): [self.result(mode, f"coll/{mode} 2", job.FAIL)]
            for mode in ("session", "served", "plain")
        }
        text = report.document(results, "a suite", {}, is_summary=True)
        self.assertIn("`coll/session 2` (fail)", text)
        self.assertIn("`coll/served 2` (fail)", text)
        self.assertNotIn("coll/plain", text)
        self.assertIn("- 1: With the MPI alone, without Intersession\n", text)

    def test_failure_without_intersession_is_attributed_to_the_mpi(self) -> None:
        bad, good = self.result("plain", "coll/b 2", job.FAIL), self.result(
            "plain", "coll/c 2", job.PASS
        )
        plain = {result.name: result for result in (bad, good)}
        self.assertIn("MPI alone", report.cause(bad, plain))
        self.assertIn(
            "MPI alone", report.cause(self.result("world", "coll/b 2", job.TIMEOUT), plain)
        )
        self.assertEqual(report.cause(self.result("world", "coll/c 2", job.FAIL), plain), "")

    def test_a_cause_may_be_found_in_the_output(self) -> None:
        seen = (
            "exit code 52\nerror: MPI_ERR_UNSUPPORTED_OPERATION: MPI_Nothing: not available on "
            "objects of a session"
        )
        self.assertEqual(
            rules.cause("coll/x 2", job.FAIL, "session", "openmpi", seen),
            "needs MPI_Nothing, which was missing",
        )
        self.assertEqual(rules.cause("coll/x 2", job.FAIL, "session", "openmpi", "exit code 1"), "")

    def test_a_folder_of_which_nothing_can_run_is_named_as_missing(self) -> None:
        window, other = (
            dataclasses.replace(
                self.result("session", name, job.NOT_RUNNABLE), detail="needs windows"
            )
            for name in ("rma/put 2", "coll/b 2")
        )
        results = [window, other, self.result("session", "coll/a 2", job.PASS)]
        self.assertEqual(report.missing(results), ["- `rma`, 1 rows: needs windows"])
        text = report.document({("openmpi", "session"): results}, "a suite", {})
        self.assertIn("| rma | none can run |", text)
        self.assertIn("- `rma`, 1 rows: needs windows", text)

    def test_csv_has_one_line_for_each_result(self) -> None:
        results = {("openmpi", "session"): [self.result("session", "coll/b 2", job.FAIL)]}
        self.assertIn("openmpi,session,coll/b 2,fail,", report.machine_readable(results))


if __name__ == "__main__":
    unittest.main()
