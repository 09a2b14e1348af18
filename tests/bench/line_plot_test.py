# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import axis  # noqa: E402
import compare_plots  # noqa: E402
import line_plot  # noqa: E402
from compare_jobs import OURS, WORLD, Figure, Measured, Row  # noqa: E402
from line_plot import Line, Panel, Point  # noqa: E402

_SVG = "{http://www.w3.org/2000/svg}"


def _measured(rows):
    """rows[row][system]: microseconds of each repetition."""
    measured = Measured([WORLD, OURS])
    for row, systems in rows.items():
        for system, values in systems.items():
            for repetition, value in enumerate(values):
                measured.add(row, system, repetition, Figure(value))
    return measured


def _circles(root):
    return {circle.find(f"{_SVG}title").text: (float(circle.get("cx")), float(circle.get("cy"))) for circle in root.iter(f"{_SVG}circle")}


class Axis(unittest.TestCase):
    def test_marks_are_round_and_not_many(self):
        self.assertEqual(axis.round_numbers(0.15, 6), [0.2, 0.5, 1, 2, 5])
        self.assertEqual(axis.round_numbers(0.1, 20000), [0.1, 1, 10, 100, 1000, 10000])


class LinePlot(unittest.TestCase):
    def test_both_axes_are_logarithmic(self):
        points = [Point(size, value, value, value) for size, value in ((8, 1), (64, 10), (512, 100))]
        root = xml.etree.ElementTree.fromstring(line_plot.draw([Panel("a < b", "µs", [Line("x", points)])]))
        (x1, y1), (x2, y2), (x3, y3) = _circles(root).values()
        self.assertAlmostEqual(x2 - x1, x3 - x2, 0)
        self.assertAlmostEqual(y1 - y2, y2 - y3, 0)
        self.assertGreater(y1, y3)
        self.assertIn("a < b [µs]", [text.text for text in root.iter(f"{_SVG}text")])

    def test_a_name_looks_the_same_in_all_panels(self):
        line = lambda name: Line(name, [Point(8, 1, 1, 1), Point(64, 2, 1, 3)])
        root = xml.etree.ElementTree.fromstring(line_plot.draw([Panel("p", "s", [line("x"), line("y")]), Panel("q", "s", [line("y")])], columns=2))
        looks = [(stroke.get("stroke"), stroke.get("stroke-dasharray")) for stroke in root.iter(f"{_SVG}polyline")]
        self.assertEqual(looks[0], looks[2])                # the legend's, and the first panel's
        self.assertEqual({looks[1], looks[3], looks[4]}, {looks[1]})
        self.assertNotEqual(looks[0], looks[1])


class ComparePlots(unittest.TestCase):
    def test_messages_over_sizes(self):
        latency = lambda size: Row("messages", "latency", size, 2, 1)
        bandwidth = lambda size: Row("messages", "bandwidth", size, 2, 1)
        figures = dict(compare_plots.draw_all(_measured({latency(0): {OURS: [1]}, latency(64): {OURS: [3]}, latency(8): {OURS: [2, 2.5, 4]},
                                                         bandwidth(1000): {OURS: [10], WORLD: [5]}, bandwidth(2000): {OURS: [10]}})))
        self.assertEqual(list(figures), ["messages-latency", "messages-bandwidth"])
        told = _circles(xml.etree.ElementTree.fromstring(figures["messages-latency"]))
        self.assertEqual(list(told), ["sessions, 8 B: 2.5 µs (2–4)", "sessions, 64 B: 3 µs (3–3)"])
        told = _circles(xml.etree.ElementTree.fromstring(figures["messages-bandwidth"]))
        self.assertEqual(list(told), ["sessions, 1000 B: 0.1 GB/s (0.1–0.1)", "sessions, 1.95 KiB: 0.2 GB/s (0.2–0.2)"])

    def test_collectives_have_a_panel_each(self):
        rows = {Row("collectives", what, size, 4, 1): {OURS: [size], WORLD: [2 * size]} for what in ("Bcast", "Scan") for size in (8, 1024)}
        rows[Row("collectives", "Barrier", 0, 4, 1)] = {OURS: [1], WORLD: [1]}
        (name, text), = compare_plots.draw_all(_measured(rows))
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(name, "collectives-4")
        self.assertEqual([text.text for text in root.iter(f"{_SVG}text") if "[µs]" in text.text], ["Bcast [µs]", "Scan [µs]"])
        self.assertEqual(len(_circles(root)), 4)   # of the same titles in both panels


if __name__ == "__main__":
    unittest.main()
