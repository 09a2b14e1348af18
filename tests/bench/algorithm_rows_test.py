# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import re
import sys
import unittest

_TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_TOP / "bench"))

import algorithm_rows  # noqa: E402
from algorithm_rows import Block, Point, Row, Times  # noqa: E402

_TABLE = (_TOP / "shim/coll/algorithms.cpp").read_text(encoding="utf-8")


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
    def test_a_row_has_the_needs_of_its_algorithm(self):
        times = Times()
        times.add(
            4,
            "allreduce,by parts,commutative power_of_two,1024,1.0,1\nallreduce,by "
            "parts,commutative power_of_two,4096,1.0,1",
        )
        self.assertEqual(
            algorithm_rows.text(times, "allreduce"),
            '    {"by parts, measured", allreduce_by_parts, {.min_bytes = 512, .min_size = 4, '
            ".max_size = 6, "
            ".needs_commutative = true, .needs_power_of_two = true, .wants = Sharing::memory}},\n",
        )

    def test_other_numbers_than_powers_of_two_have_a_row_of_their_own(self):
        for processes, rows in ((4, 2), (2, 1)):
            times = Times()
            times.add(
                processes,
                "allreduce,rabenseifner,power_of_two,1024,1.0,1\nallreduce,ring,,1024,4.0,0\n"
                "allreduce,by parts,,1024,2.0,0",
            )
            lines = algorithm_rows.text(times, "allreduce").splitlines()
            self.assertEqual([line.split(",")[1].strip() for line in lines], ['measured"'] * rows)
            self.assertIn("allreduce_rabenseifner", lines[0])
            if processes == 4:
                self.assertIn(
                    "allreduce_by_parts, {.min_bytes = 512, .min_size = 4, .max_size = 6, .wants = "
                    "Sharing::memory",
                    lines[1],
                )

    def test_only_the_measured_rows_of_the_table_are_replaced(self):
        times = _times(16, ("bcast", "binomial", 1024, 1), ("bcast", "chain", 65536, 1))
        table = algorithm_rows.replaced(_TABLE, times)
        row = (
            '{"chain, measured", bcast_chain, {.min_bytes = 8 * kKi, .min_size = 13, .max_size = '
            "16, .wants = Sharing::memory}},"
        )
        self.assertIn(row, table)
        measured = re.compile(
            r"    // measured: bcast\n.*?    // end of what is measured\n", re.DOTALL
        )
        self.assertEqual(measured.sub("", table), measured.sub("", _TABLE))
        self.assertEqual(algorithm_rows.replaced(table, times), table)

    def test_copied_part_has_its_own_rows(self):
        times = Times(is_copied=True)
        times.add(16, "bcast,chain,,65536,1.0,1")
        table = algorithm_rows.replaced(_TABLE, times)
        self.assertIn(
            '{"chain, copied", bcast_chain, {.min_bytes = 512, .min_size = 13, .max_size = 16, '
            ".wants = Sharing::segment}},",
            table,
        )
        copied = re.compile(
            r"    // measured where all is copied: bcast\n.*?    // end of what is measured\n",
            re.DOTALL,
        )
        self.assertEqual(copied.sub("", table), copied.sub("", _TABLE))

    def test_an_algorithm_that_loses_its_rows_is_found(self):
        times = _times(16, ("bcast", "binomial", 1024, 1))
        lost = set(algorithm_rows.functions(_TABLE)) - set(
            algorithm_rows.functions(algorithm_rows.replaced(_TABLE, times))
        )
        self.assertLessEqual(lost, {"bcast_linear"})
        self.assertIn("reduce_rabenseifner", algorithm_rows.functions(_TABLE))

    def test_a_table_without_measured_rows_is_refused(self):
        with self.assertRaises(ValueError):
            algorithm_rows.replaced("", _times(2, ("bcast", "binomial", 1024, 1)))

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
