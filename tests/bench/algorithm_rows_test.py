# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import re
import sys
import unittest

_TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_TOP / "bench" / "collectives"))

import algorithm_rows  # noqa: E402
from algorithm_rows import Block, Point, Row, Times  # noqa: E402

_TABLE = (_TOP / "shim/coll/algorithms.cpp").read_text(encoding="utf-8")
_INSTALLED = sorted((_TOP / "shim/coll/coll-tuning").iterdir())


def _times(processes, *lines):
    """Return Times of lines (operation, algorithm, bytes, microseconds of each repetition).

    The first algorithm of a point is the choice of the table.
    """
    times, seen = Times(), set()
    for operation, algorithm, size, *values in lines:
        for value in values:
            times.add(
                processes,
                f"{operation},{algorithm},,{size},{value},{int((operation, size) not in seen)}",
            )
        seen.add((operation, size))
    return times


class Choice(unittest.TestCase):
    def test_small_gain_does_not_change_the_choice(self):
        times = _times(
            2, ("bcast", "binomial", 1024, 10, 10, 10), ("bcast", "chain", 1024, 9.2, 9.2, 9.2)
        )
        self.assertEqual(times.best(Point("bcast", 2, 1024)), "binomial")

    def test_large_gain_changes_the_choice(self):
        times = _times(
            2, ("bcast", "binomial", 1024, 10, 10, 10), ("bcast", "chain", 1024, 8, 8, 8)
        )
        self.assertEqual(times.best(Point("bcast", 2, 1024)), "chain")

    def test_repetitions_are_compared_each_with_its_own(self):
        # the machine was ten times as slow in the last two: by medians of times the chain would be
        # the better one
        times = _times(
            2, ("bcast", "binomial", 1024, 10, 100, 100), ("bcast", "chain", 1024, 15, 15, 150)
        )
        self.assertEqual(times.best(Point("bcast", 2, 1024)), "binomial")

    def test_unstable_gain_does_not_change_the_choice(self):
        times = _times(
            2,
            ("bcast", "binomial", 1024, 10, 10, 10, 10, 10),
            ("bcast", "chain", 1024, 5, 5, 5, 20, 20),
        )
        self.assertEqual(times.best(Point("bcast", 2, 1024)), "binomial")


class Rows(unittest.TestCase):
    def test_lengths_with_the_same_choice_share_a_row_that_ends_half_way(self):
        times = _times(
            4,
            ("bcast", "a", 1024, 1),
            ("bcast", "a", 4096, 1),
            ("bcast", "b", 16384, 1),
            ("bcast", "b", 65536, 1),
        )
        self.assertEqual(
            algorithm_rows.rows(times, "bcast", 4),
            [Row("a", "a", 512, 8191), Row("b", "b", 8192, None)],
        )

    def test_a_row_that_begins_where_the_last_one_ends_leaves_no_gap(self):
        times = _times(
            4, ("bcast", "a", 1024, 1), ("bcast", "b", 4096, 1), ("bcast", "a", 16384, 1)
        )
        found = algorithm_rows.rows(times, "bcast", 4)
        self.assertEqual([row.first for row in found[1:]], [row.last + 1 for row in found[:-1]])

    def test_counts_of_processes_with_the_same_rows_are_one_block(self):
        times = _times(3, ("scan", "a", 1024, 1))
        for processes, algorithm in ((2, "a"), (4, "b"), (8, "a")):
            times.add(processes, f"scan,{algorithm},,1024,1.0,1")
        a, b = [Row("a", "a", 512, None)], [Row("b", "b", 512, None)]
        self.assertEqual(
            algorithm_rows.blocks(times, "scan"), [Block(2, 3, a), Block(4, 6, b), Block(7, 12, a)]
        )


class OverNodes(unittest.TestCase):
    def test_each_length_is_compared_with_the_best_of_the_others(self):
        times = _times(
            4,
            ("barrier", "by nodes", 0, 10, 30, 20),
            ("barrier", "a", 0, 40, 40, 40),
            ("barrier", "b", 0, 20, 20, 20),
            ("scan", "a", 8, 1),
        )
        rows = algorithm_rows.beside_others(times, "by nodes").splitlines()[2:]
        self.assertEqual(rows, ["| barrier | 4 | 0 | b, 20 µs | 1.00 (0.50–1.50) | yes |"])


class Text(unittest.TestCase):
    def test_a_row_has_the_restrictions_of_its_algorithm(self):
        times = Times()
        times.add(
            4,
            "allreduce,by parts,power_of_two,1024,1.0,1\nallreduce,by "
            "parts,power_of_two,4096,1.0,1",
        )
        self.assertEqual(
            algorithm_rows.text(times, "allreduce"),
            "allreduce by_parts 4-6 512- memory power_of_two\n",
        )

    def test_other_numbers_than_powers_of_two_have_a_row_of_their_own(self):
        for processes, rows in (
            (
                4,
                [
                    "allreduce rabenseifner 4-6 512- memory power_of_two",
                    "allreduce by_parts 4-6 512- memory",
                ],
            ),
            (2, ["allreduce rabenseifner 2 512- memory power_of_two"]),
        ):
            times = Times()
            times.add(
                processes,
                "allreduce,rabenseifner,power_of_two,1024,1.0,1\nallreduce,ring,,1024,4.0,0\n"
                "allreduce,by parts,,1024,2.0,0",
            )
            self.assertEqual(algorithm_rows.text(times, "allreduce").splitlines(), rows)

    def test_a_file_has_the_rows_of_all_times(self):
        times = _times(16, ("bcast", "binomial", 1024, 1), ("bcast", "chain", 65536, 1))
        copied = Times(is_copied=True)
        copied.add(16, "bcast,chain,,65536,1.0,1")
        self.assertEqual(
            algorithm_rows.file_text([times, copied], ["some machine"]),
            "intersession-coll-tuning 1\n"
            "# some machine\n"
            "\n"
            "bcast binomial 13-16 512-8191 memory\n"
            "bcast chain 13-16 8192- memory\n"
            "\n"
            "bcast chain 13-16 512- segment\n",
        )

    def test_installed_files_have_the_format(self):
        for path in _INSTALLED:
            lines = path.read_text(encoding="utf-8").splitlines()
            self.assertEqual(lines[0], algorithm_rows.FIRST_LINE)
            for line in lines[1:]:
                if line and not line.startswith("#"):
                    self.assertRegex(
                        line, r"^\w+ +\w+ +\d+(-\d*)? +\d+(-\d*)? +\w+( power_of_two)?$"
                    )
        self.assertTrue(_INSTALLED)

    def test_rows_and_algorithms_have_equal_names(self):
        """The function's name is the operation and the name that the program prints."""
        operations = re.findall(r"Row<\w+> k(\w+)\[\] = \{\n(.*?)\n\};", _TABLE, re.DOTALL)
        for array, body in operations:
            if array == "Alltoallv":
                continue  # runs alltoallw_linear
            operation = re.sub(r"(?<!^)(?=[A-Z])", "_", array).lower()
            for name, function in re.findall(r'\{"([^",]+)[^"]*", (\w+),', body):
                if not name.startswith("inline "):
                    self.assertIn(function, (f"{operation}_{name.replace(' ', '_')}", operation))
        self.assertGreaterEqual(len(operations), 11)


if __name__ == "__main__":
    unittest.main()
