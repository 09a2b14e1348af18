# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import sys
import tempfile
import unittest

_BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(_BENCH / "compare"), str(_BENCH / "lib")]

import compare_figures  # noqa: E402
import figures  # noqa: E402
from compare_jobs import OURS, WORLD, Figure, Measured, Row  # noqa: E402
from figures import Bar, Group, Line, Panel, Point, Ratio  # noqa: E402


def _measured(rows):
    """Return Measured of rows[row][system], the microseconds of each repetition."""
    measured = Measured([WORLD, OURS])
    for row, systems in rows.items():
        for system, values in systems.items():
            for repetition, value in enumerate(values):
                measured.add(row, system, repetition, Figure(value))
    return measured


def _saved(figure):
    """Return the text of the SVG file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "figure.svg")
        figures.save(figure, path)
        return path.read_text(encoding="utf-8")


def _line(name):
    return Line(name, [Point(8, 1, 1, 1), Point(64, 2, 1, 3)])


class Files(unittest.TestCase):
    def test_equal_data_gives_equal_files_with_text_and_without_date(self):
        first, second = (
            _saved(figures.draw_lines([Panel("a < b", "µs", [_line("x")])])) for _ in range(2)
        )
        self.assertEqual(first, second)
        self.assertIn("a &lt; b [µs]</text>", first)
        self.assertNotIn("dc:date", first)


class Lines(unittest.TestCase):
    def test_both_axes_are_logarithmic(self):
        figure = figures.draw_lines([Panel("p", "µs", [_line("x")])])
        axes = figure.axes[0]
        self.assertEqual((axes.get_xscale(), axes.get_yscale()), ("log", "log"))
        self.assertEqual([label.get_text() for label in axes.get_xticklabels()], ["8 B", "64 B"])
        figures.pyplot.close(figure)

    def test_a_system_looks_the_same_in_all_panels(self):
        figure = figures.draw_lines(
            [Panel("p", "s", [_line("x"), _line("y")]), Panel("q", "s", [_line("y")])], columns=2
        )
        looks = [
            [(line.get_color(), line.get_linestyle()) for line in axes.get_lines()]
            for axes in figure.axes
        ]
        self.assertEqual(looks[0][1], looks[1][0])
        self.assertNotEqual(looks[0][0], looks[0][1])
        figures.pyplot.close(figure)


class Ratios(unittest.TestCase):
    def test_each_ratio_has_its_label_and_value(self):
        text = _saved(figures.draw_ratios("t", [Ratio("x", 0.5, 0.4, 0.6), Ratio("y", 3, 2, 4)]))
        for label in ("x", "y", "0.50", "3.00"):
            self.assertIn(f">{label}</text>", text)


class StackedBars(unittest.TestCase):
    def test_parts_are_stacked_in_proportion(self):
        figure = figures.draw_bars(
            "t", "ms", [Group("1 × 2", [Bar("x", {"p": 30, "q": 10}), Bar("y", {"p": 80}, 100)])]
        )
        p, q = figure.axes[0].containers
        self.assertEqual([bar.get_height() for bar in p], [30, 80])
        self.assertEqual([(bar.get_y(), bar.get_height()) for bar in q], [(30, 10), (80, 0)])
        self.assertIn("1 × 2</text>", _saved(figure))


class ComparePanels(unittest.TestCase):
    def test_messages_are_drawn_over_their_sizes(self):
        latency = lambda size: Row("messages", "latency", size, 2, 1)
        bandwidth = lambda size: Row("messages", "bandwidth", size, 2, 1)
        panels = dict(
            compare_figures.panels(
                _measured(
                    {
                        latency(0): {OURS: [1]},
                        latency(64): {OURS: [3]},
                        latency(8): {OURS: [2, 2.5, 4]},
                        bandwidth(1000): {OURS: [10], WORLD: [5]},
                        bandwidth(2000): {OURS: [10]},
                    }
                )
            )
        )
        self.assertEqual(list(panels), ["messages-latency", "messages-bandwidth"])
        ((line,),) = (panel.lines for panel in panels["messages-latency"])
        self.assertEqual(line, Line(OURS, [Point(8, 2.5, 2, 4), Point(64, 3, 3, 3)]))
        ((line,),) = (panel.lines for panel in panels["messages-bandwidth"])
        self.assertEqual(line, Line(OURS, [Point(1000, 0.1, 0.1, 0.1), Point(2000, 0.2, 0.2, 0.2)]))

    def test_collectives_have_a_panel_each(self):
        rows = {
            Row("collectives", what, size, 4, 1): {OURS: [size], WORLD: [2 * size]}
            for what in ("Bcast", "Scan")
            for size in (8, 1024)
        }
        rows[Row("collectives", "Barrier", 0, 4, 1)] = {OURS: [1], WORLD: [1]}
        ((name, panels),) = compare_figures.panels(_measured(rows))
        self.assertEqual(name, "collectives-4")
        self.assertEqual([panel.title for panel in panels], ["Bcast", "Scan"])

    def test_figures_of_other_parts_are_not_drawn(self):
        rows = {
            Row(part, "latency", size, 2, 1): {OURS: [size], WORLD: [2 * size]}
            for part in ("messages", "internode_messages", "fabric")
            for size in (8, 1024)
        }
        titles = {"messages": "Messages"}
        drawn = dict(compare_figures.draw_all(_measured(rows), titles, ("messages",)))
        self.assertEqual(list(drawn), ["messages-world", "messages-latency"])


if __name__ == "__main__":
    unittest.main()
