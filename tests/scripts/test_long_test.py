# SPDX-License-Identifier: BSD-3-Clause
"""scripts/test-long: its table, and the result that it derives from a step's output."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test-long"
_loader = importlib.machinery.SourceFileLoader("test_long", str(_SCRIPT))
test_long = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_long", _loader))
sys.modules["test_long"] = test_long  # dataclasses look their module up
_loader.exec_module(test_long)

_STEP = test_long.Step("tests", "all tests", ("true",), r"^\d+% tests passed.*$")


class Result(unittest.TestCase):
    def test_shows_the_last_summary(self):
        output = "10% tests passed\nmore\n100% tests passed out of 3\n"
        self.assertEqual(
            test_long.result_of(_STEP, 0, output), "passed: 100% tests passed out of 3"
        )

    def test_shows_the_exit_code_of_a_failure(self):
        self.assertEqual(test_long.result_of(_STEP, 8, "nothing"), "failed (8)")

    def test_keeps_the_columns_of_the_table(self):
        output = "90% tests passed | 2 failed"
        self.assertNotIn("|", test_long.result_of(_STEP, 8, output))


class Table(unittest.TestCase):
    def test_replaces_the_row_of_a_step(self):
        text = test_long.with_row(test_long._HEAD, "tests", "| tests | old |")
        text = test_long.with_row(text, "tests", "| tests | new |")
        self.assertIn("| tests | new |", text)
        self.assertNotIn("| tests | old |", text)

    def test_keeps_the_order_of_the_steps(self):
        text = test_long.with_row(test_long._HEAD, "tests", "| tests | a |")
        text = test_long.with_row(text, "clang", "| clang | b |")
        self.assertLess(text.index("| clang |"), text.index("| tests |"))


class Command(unittest.TestCase):
    def test_returns_exit_code_and_output(self):
        code, output = test_long.run_command("echo seen; exit 3")
        self.assertEqual((code, output), (3, "seen\n"))


if __name__ == "__main__":
    unittest.main()
