# SPDX-License-Identifier: BSD-3-Clause
"""Tests of reading, clocks, trace, picture and summary, with whole, damaged and missing files."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from files import MS, Written, start

from intersession_timeline import (
    choice,
    clocks,
    command,
    tracks,
    phases,
    picture,
    reading,
    summary,
    time_axis,
    trace,
)

_SVG = "{http://www.w3.org/2000/svg}"


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def merged(self) -> tuple[list[reading.Process], list[str]]:
        processes, remarks = reading.read_folder(self.folder)
        return processes, remarks + clocks.align(processes)


class Whole(InFolder):
    def setUp(self) -> None:
        super().setUp()
        start(0).write(self.folder)
        start(1, at=1001).write(self.folder)

    def test_spans_begin_at_zero_and_keep_their_lengths(self) -> None:
        processes, remarks = self.merged()
        self.assertEqual(remarks, [])
        self.assertEqual([process.rank for process in processes], [0, 1])
        found = {
            (process.rank, span.name): (span.begin, span.end, span.state)
            for process in processes
            for span in process.spans
        }
        self.assertEqual(found[0, "MPI_Session_init"], (0, 4 * MS, "ended"))
        self.assertEqual(found[1, "MPI_Session_init"], (1 * MS, 5 * MS, "ended"))
        self.assertEqual(found[1, "outcome"], (int(6.5 * MS), 8 * MS, "ended"))
        self.assertEqual(len(found), 8)

    def test_the_trace_has_everything_in_microseconds(self) -> None:
        made = json.loads(json.dumps(trace.trace_of(*self.merged())))
        spans = [event for event in made["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(len(spans), 8)
        collect = next(event for event in spans if event["name"] == "collect")
        self.assertEqual((collect["ts"], collect["dur"], collect["pid"]), (5500.0, 1500.0, 0))
        self.assertEqual(
            (collect["args"]["peer"], collect["args"]["tag"], collect["args"]["members"]),
            (1, "tag", 2),
        )
        names = {
            event["args"]["name"]
            for event in made["traceEvents"]
            if event["name"] == "process_name"
        }
        self.assertEqual(names, {"rank 0 on node0", "rank 1 on node0"})

    def test_picture_has_a_track_per_process_and_a_legend(self) -> None:
        root = ElementTree.fromstring(picture.picture_of(self.merged()[0], 32))
        words = [text.text for text in root.iter(f"{_SVG}text")]
        for wanted in (
            "rank 0 on node0",
            "rank 1 on node0",
            "Session_init",
            f"collect: {phases.words_of('collect')}",
        ):
            self.assertIn(wanted, words)
        hints = [title.text for title in root.iter(f"{_SVG}title")]
        self.assertIn('outcome "tag": 1.5 ms from 6.5 ms, rank 1 on node0, ended by rank 0', hints)
        self.assertEqual(len(hints), 8)

    def test_the_summary_names_the_slowest(self) -> None:
        start(1, at=1001).phase("launcher", 1020, 1040, size=2).write(self.folder)
        text = summary.summary_of(*self.merged())
        self.assertRegex(text, r"(?m)^launcher +3 +3 ms +20 ms +rank 1 on node0$")
        self.assertRegex(text, r"(?m)^collect +1 +1.5 ms +1.5 ms +rank 0 on node0, until rank 1$")
        self.assertRegex(
            text,
            r'create_from_group "tag", 2 processes: 4 ms; last caller: rank 1 on node0, 1 ms after '
            r"the first; 3 ms",
        )

    def test_the_command_writes_both_files(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(command.main(["merge", str(self.folder)], self.folder), 0)
        self.assertIn("timeline.svg", printed.getvalue())
        json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))
        ElementTree.parse(self.folder / "timeline.svg")


class Damaged(InFolder):
    def remarks(self) -> str:
        return "\n".join(self.merged()[1])

    def test_a_missing_or_empty_folder_is_an_error(self) -> None:
        with self.assertRaisesRegex(reading.Unusable, "folder .* does not exist"):
            reading.read_folder(self.folder / "none")
        with self.assertRaisesRegex(reading.Unusable, "has no .* files"):
            reading.read_folder(self.folder)
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            self.assertEqual(command.main(["merge", str(self.folder)], self.folder), 1)
        self.assertIn("has no *.timeline files", printed.getvalue())

    def test_a_folder_without_a_usable_file_is_an_error(self) -> None:
        (self.folder / "empty.timeline").touch()
        with self.assertRaisesRegex(
            reading.Unusable, r"(?s)no usable file in .*:\nempty.timeline: has no header line"
        ):
            reading.read_folder(self.folder)

    def test_unusable_files_beside_a_good_one_are_reported(self) -> None:
        start(0, size=1).write(self.folder)
        (self.folder / "empty.timeline").touch()
        (self.folder / "foreign.timeline").write_bytes(b"\x7fELF\xff\x00\n")
        (self.folder / "newer.timeline").write_text('{"timeline": 2}\n', encoding="utf-8")
        (self.folder / "poorer.timeline").write_text(
            '{"timeline": 1, "host": 3}\n', encoding="utf-8"
        )
        text = self.remarks()
        self.assertIn("empty.timeline: has no header line", text)
        self.assertIn("foreign.timeline: has no header line", text)
        self.assertIn("newer.timeline: has format 2, but this version reads format 1", text)
        self.assertIn("poorer.timeline: has format 1", text)

    def test_a_truncated_last_line_is_reported(self) -> None:
        start(0).write(self.folder)
        start(1).write(self.folder, cut=10)
        text = self.remarks()
        self.assertIn("node.1.timeline: the last line is truncated", text)
        self.assertIn("rank 1 on node0 did not exit normally", text)

    def test_a_file_truncated_anywhere_never_crashes(self) -> None:
        """Each prefix of a file gives a picture or an error."""
        whole = "\n".join(start(0, size=1).lines) + "\n"
        for length in range(len(whole)):
            (self.folder / "node.0.timeline").write_text(whole[:length], encoding="utf-8")
            try:
                processes, remarks = self.merged()
            except reading.Unusable:
                continue
            self.assertTrue(remarks)
            ElementTree.fromstring(picture.picture_of(processes, 32))
            summary.summary_of(processes, remarks)

    def test_lines_that_are_no_records_are_reported(self) -> None:
        written = start(0, size=1)
        written.lines[2:2] = [
            "no json",
            "[1, 2]",
            '{"what": "begins", "kind": "call", "name": "MPI_Init", "t": "soon", "thread": 1}',
        ]
        written.write(self.folder)
        text = self.remarks()
        for number in (3, 4, 5):
            self.assertIn(f"node.0.timeline, line {number}: invalid line; ignored", text)
        self.assertEqual(len(self.merged()[0][0].spans), 4)

    def test_spans_that_end_before_their_begin_or_without_one_are_ignored(self) -> None:
        Written(0).call("MPI_Init", 5, 3).call("MPI_Finalize", 6, 7).add(
            what="ends", kind="call", name="MPI_Abort", number=9, t=8 * MS
        ).exit(9).write(self.folder)
        text = self.remarks()
        self.assertIn("ends MPI_Init before it began; ignored", text)
        self.assertIn("ends MPI_Abort, which has not begun; ignored", text)
        self.assertEqual([span.name for span in self.merged()[0][0].spans], ["MPI_Finalize"])

    def test_a_process_that_ends_inside_a_call_is_reported(self) -> None:
        Written(0).call("MPI_Session_init", 0, 1).call(
            "MPI_Comm_create_from_group", 2, None, of="creation"
        ).phase("collect", 3, None, of="communicator").write(self.folder)
        processes, remarks = self.merged()
        self.assertIn(
            "rank 0 on node0 did not exit normally (inside MPI_Comm_create_from_group)",
            "\n".join(remarks),
        )
        states = {span.name: (span.state, span.length) for span in processes[0].spans}
        self.assertEqual(states["MPI_Comm_create_from_group"], ("unfinished", 1 * MS))
        self.assertIn("; 1 unfinished", summary.summary_of(processes, remarks))

    def test_missing_processes_are_named(self) -> None:
        for rank in (0, 3, 6):
            start(rank, size=9).write(self.folder)
        for rank in (0, 3, 6):
            path = self.folder / f"node.{rank}.timeline"
            path.write_text(
                path.read_text(encoding="utf-8").replace('"size": 2', '"size": 9'), encoding="utf-8"
            )
        self.assertIn("no file of rank 1-2, 4-5, 7-8:", self.remarks())


class Clocks(InFolder):
    """Two machines with unrelated monotonic clocks."""

    def write(self, second_wall_error_ms: float) -> None:
        start(0, at=1000, boot="a", monotonic=0, wall=5_000_000 * MS).write(self.folder)
        start(
            1,
            at=77000,
            boot="b",
            host="node1",
            monotonic=76_000 * MS,
            wall=int((5_000_000 + second_wall_error_ms) * MS),
        ).write(self.folder)

    def begins(self) -> tuple[list[float], str]:
        processes, remarks = self.merged()
        return [min(span.begin for span in process.spans) / MS for process in processes], "\n".join(
            remarks
        )

    def test_machines_are_aligned_by_the_wall_clock(self) -> None:
        self.write(0)
        begins, text = self.begins()
        self.assertEqual(begins, [0, 0])
        self.assertIn("2 machines, compared by their wall clocks", text)
        self.assertNotIn("corrected", text)

    def test_one_machine_needs_no_wall_clock(self) -> None:
        start(0, at=1000, wall=0).write(self.folder)
        start(1, at=1002, wall=900 * MS).write(self.folder)
        self.assertEqual(self.begins(), ([0, 2], ""))

    def test_a_wrong_wall_clock_is_shifted_by_the_least_amount_for_all_creations(self) -> None:
        for error, expected in ((40, 3), (-40, -3), (2, 2)):
            with self.subTest(error=error):
                self.write(error)
                begins, text = self.begins()
                self.assertAlmostEqual(begins[1] - begins[0], expected)
                self.assertEqual(
                    "the wall clock of node1 is wrong by 37.000 ms or more" in text,
                    abs(error) == 40,
                )

    def test_contradicting_creations_shift_nothing(self) -> None:
        def member(rank: int, boot: str, first: tuple, second: tuple) -> None:
            written = Written(rank, boot=boot, host=boot, size=2)
            for text, (begin, end) in (("x", first), ("y", second)):
                written.call("MPI_Comm_create_from_group", begin, end, of="creation", text=text)
                written.phase("collect", begin, end, of="communicator", text=text, members=2)
            written.exit(99).write(self.folder)

        member(0, "a", (0, 1), (2, 3))
        member(1, "b", (50, 51), (12, 13))
        begins, text = self.begins()
        self.assertIn("cannot be corrected", text)
        self.assertEqual(begins, [0, 12])


class Rows(unittest.TestCase):
    def span(self, name: str, begin: int, end: int, thread: int = 1) -> reading.Span:
        return reading.Span("phase", name, "", 0, thread, begin, end)

    def test_nested_spans_share_a_row_and_crossing_ones_do_not(self) -> None:
        spans = [
            self.span("outer", 0, 10),
            self.span("inner", 2, 5),
            self.span("across", 8, 12),
            self.span("after", 12, 13),
        ]
        rows = {
            span.name: level for _, level, span in tracks.rows_of(spans, lambda span: span.thread)
        }
        self.assertEqual(rows, {"outer": 0, "inner": 0, "across": 1, "after": 0})

    def process(self, *lengths_ms: float) -> list[reading.Process]:
        processes = []
        for rank, length in enumerate(lengths_ms):
            process = reading.Process("f", "n", rank, "b", "p", 0, 0, 0, rank, len(lengths_ms))
            process.spans = [
                reading.Span(
                    "call", "MPI_Session_init", "session", 1, 1, 0, int(length * MS), "ended"
                )
            ]
            processes.append(process)
        return processes

    def test_selects_the_slowest_the_fastest_and_some_between(self) -> None:
        processes = self.process(*range(1, 101))
        for room in (1, 2, 3, 8, 100, 200):
            chosen = [process.rank for process in choice.choose(processes, room)]
            self.assertEqual(len(chosen), min(room, 100))
            self.assertIn(99, chosen)
            self.assertEqual(chosen, sorted(set(chosen)))
        chosen = [process.rank for process in choice.choose(processes, 8)]
        self.assertLessEqual({0, 1, 96, 97, 98, 99}, set(chosen))
        text = picture.picture_of(processes, 8)
        self.assertIn("100 processes on 1 node; 8 shown", text)

    def test_long_times_without_records_are_omitted_from_the_axis(self) -> None:
        processes = self.process(10)
        processes[0].spans.append(
            reading.Span(
                "call", "MPI_Session_finalize", "session", 2, 1, 60_000 * MS, 60_010 * MS, "ended"
            )
        )
        axis = time_axis.TimeAxis(processes, 100, 1100)
        self.assertEqual([length for _, length in axis.gaps()], [59_990 * MS])
        places = [axis.place(time * MS) for time in (0, 5, 10, 30_000, 60_000, 60_005, 60_010)]
        self.assertEqual(places, sorted(places))
        self.assertAlmostEqual(places[0], 100)
        self.assertAlmostEqual(places[-1], 1100)
        self.assertAlmostEqual(places[1] - places[0], places[-1] - places[-2])
        self.assertTrue(all(100 <= at <= 1100 for at, _ in axis.ticks()))
        ElementTree.fromstring(picture.picture_of(processes, 8))

    def test_each_thread_has_its_own_track(self) -> None:
        processes = self.process(10)
        processes[0].spans += [
            reading.Span("call", "MPI_Comm_dup", "communicator", 2, 7, 5 * MS, 15 * MS, "ended"),
            self.span("collect", 6 * MS, 7 * MS, 9),
        ]
        root = ElementTree.fromstring(picture.picture_of(processes, 8))
        words = {text.text for text in root.iter(f"{_SVG}text")}
        self.assertLessEqual({"rank 0 on n", "thread 7", "Comm_dup"}, words)

    def test_spans_without_duration_give_a_valid_picture(self) -> None:
        ElementTree.fromstring(picture.picture_of(self.process(0, 0), 8))


class Text(unittest.TestCase):
    def test_times_have_three_digits_and_a_unit(self) -> None:
        shown = [
            summary.time_text(time) for time in (0, 40, 1500, 999_000, 12_345_678, 2_500_000_000)
        ]
        self.assertEqual(shown, ["0 µs", "0.04 µs", "1.5 µs", "999 µs", "12.3 ms", "2.5 s"])

    def test_consecutive_numbers_are_ranges(self) -> None:
        self.assertEqual(reading.ranges_text([3, 1, 2, 7]), "1-3, 7")

    def test_options_of_the_job_are_not_those_of_the_command(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            self.assertEqual(
                command.main(["run", "-o", "/nowhere", "--tracks", "3"], pathlib.Path("/")), 1
            )
        self.assertIn("run needs a job", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
