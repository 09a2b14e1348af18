# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the summary counts all results of ctest and finds the reasons of skipped tests."""
import unittest

import summary

_PRINTED = """Test project /srv/intersession/build
        Start    1: unit.Copy
   1/6 Test    #1: unit.Copy .............................   Passed    0.01 sec
   2/6 Test    #2: cluster.a.p2.n2 .......................***Skipped   0.00 sec
   3/6 Test    #3: cluster.b.p2.n2 .......................***Skipped   0.00 sec
   4/6 Test    #4: unit.Pack .............................***Failed    0.00 sec
no such thing
   5/6 Test    #5: unit.Ring .............................***Exception: SegFault  0.00 sec
   6/6 Test    #6: harness ...............................   Passed    9.01 sec

50% tests passed, 2 tests failed out of 6
"""


def _log(number: int, name: str, output: str) -> str:
    line = "-" * 58
    return (
        f'{number}/6 Testing: {name}\n{number}/6 Test: {name}\nCommand: "/bin/sh"\nDirectory: /\n'
        f'"{name}" start time: now\n'
        f"Output:\n{line}\n{output}<end of output>\nTest time =   0.01 sec\n{line}\nTest Passed.\n"
        "\n"
    )


_LOGS = "".join(
    (
        _log(
            1,
            "unit.Copy",
            "[ RUN      ] Copy.Long\n/srv/copy_test.cpp:12: Skipped\nthe kernel is older than "
            "5.14\n\n[  SKIPPED ] Copy.Long\n",
        ),
        _log(2, "cluster.a.p2.n2", "run-job: cluster\ncluster: skipped: no namespaces\n"),
        _log(3, "cluster.b.p2.n2", "run-job: cluster\ncluster: skipped: no namespaces\n"),
        _log(
            6,
            "harness",
            "test_nodes (T.test_nodes) ... skipped 'no nodes'\ntest_good (T.test_good) ... ok\n\n"
            "OK (skipped=1)\n",
        ),
    )
)


class Summary(unittest.TestCase):
    def test_the_summary_counts_all_results(self) -> None:
        self.assertEqual(
            summary.summary(_PRINTED, _LOGS).splitlines(),
            [
                "  6 tests: 2 passed, 2 failed, 2 skipped",
                "  failed: unit.Pack (Failed)",
                "  failed: unit.Ring (Exception: SegFault)",
                "  skipped: 2, no namespaces: cluster.a.p2.n2, cluster.b.p2.n2",
                "  skipped a part: 1, the kernel is older than 5.14: unit.Copy",
                "  skipped a part: 1, no nodes: harness",
            ],
        )

    def test_a_command_without_tests_has_no_summary(self) -> None:
        self.assertEqual(summary.summary("demo: the plate\n", ""), "")

    def test_a_skipped_test_without_a_log_has_no_reason(self) -> None:
        printed = "1/1 Test #1: a .....***Skipped   0.00 sec\n"
        self.assertEqual(
            summary.summary(printed, ""),
            "  1 tests: 0 passed, 0 failed, 1 skipped\n  skipped: 1, no reason printed: a",
        )

    def test_unittest_without_verbose_prints_no_reason(self) -> None:
        self.assertEqual(
            summary.skips_inside("....s\nOK (skipped=1)\n"), ["without a reason (skipped=1)"]
        )

    def test_long_lists_of_names_are_shortened(self) -> None:
        printed = "".join(f"{n}/5 Test #{n}: t{n} ...***Skipped   0.00 sec\n" for n in range(1, 6))
        self.assertIn("t1, t2, t3 and 2 more", summary.summary(printed, ""))


if __name__ == "__main__":
    unittest.main()
