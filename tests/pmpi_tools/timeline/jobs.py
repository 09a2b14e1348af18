# SPDX-License-Identifier: BSD-3-Clause
"""Runs jobs with the recorder and checks the files, the trace, the picture and the summary.

    jobs.py CLASS

CMakeLists.txt sets TIMELINE_BUILD, TIMELINE_PROGRAM and TIMELINE_SCRATCH.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

_BUILD, _PROGRAM, _SCRATCH = (
    pathlib.Path(os.environ[f"TIMELINE_{name}"]) for name in ("BUILD", "PROGRAM", "SCRATCH")
)
_CLUSTER = pathlib.Path(__file__).resolve().parents[2] / "cluster" / "cluster"
_CALLS = {
    "MPI_Session_init",
    "MPI_Group_from_session_pset",
    "MPI_Comm_create_from_group",
    "MPI_Comm_dup",
    "MPI_Comm_free",
    "MPI_Session_finalize",
}
# Phases inside the creation of a communicator, and outside.
_OF_ALL = {"links", "spread", "context"}
_OF_STARTS = {"launcher", "node_map", "node_segment", "engine"}
_OF_ENDS = {"flush", "leave"}
_LAUNCHER = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
_SKIPPED = 77


class Run:
    """A job and its results."""

    def __init__(self, name: str, words: list[str], nodes: int = 1, **environment: str):
        self.folder = _SCRATCH / name
        shutil.rmtree(self.folder, ignore_errors=True)
        command = [_BUILD / "bin" / "intersession-timeline", "run", "-o", self.folder, *words]
        if nodes > 1:
            command = [_CLUSTER, "--nodes", str(nodes), "--", *command]
        full = {
            key: value for key, value in os.environ.items() if not key.startswith("INTERSESSION_")
        }
        self.done = subprocess.run(
            command,
            env={**full, **_LAUNCHER, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.text = self.done.stdout + self.done.stderr
        if self.done.returncode == _SKIPPED:
            raise unittest.SkipTest(self.text.strip())

    @property
    def events(self) -> list[dict]:
        return json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]

    def spans_by_process(self) -> dict[str, list[dict]]:
        names = {
            event["pid"]: event["args"]["name"]
            for event in self.events
            if event["name"] == "process_name"
        }
        spans = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X":
                spans[names[event["pid"]]].append(event)
        return spans


class Jobs(unittest.TestCase):
    mpi = ""
    native = False
    nodes = 1
    processes = 4

    def run_job(self, ending: str, processes: int | None = None, **environment: str) -> Run:
        words = [
            "--mpi",
            self.mpi,
            *(["--native"] if self.native else []),
            "-n",
            str(processes or self.processes),
            str(_PROGRAM),
            ending,
        ]
        return Run(ending, words, self.nodes, **environment)

    def check_files(self, run: Run, processes: int) -> None:
        """Check the results of any job.

        No duration is negative, rows nest, the picture is valid, and each process has a track.
        """
        self.assertTrue((run.folder / "trace.json").exists(), run.text)
        spans = run.spans_by_process()
        self.assertEqual(len(spans), processes, run.text)
        self.assertEqual(
            sorted(name.split(" on ")[0] for name in spans),
            [f"rank {rank}" for rank in range(processes)],
        )
        for name, events in spans.items():
            rows = collections.defaultdict(list)
            for event in events:
                self.assertGreaterEqual(event["ts"], 0, (name, event))
                self.assertGreaterEqual(event["dur"], 0, (name, event))
                rows[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
            for row in rows.values():
                self.check_nested(row)
        picture = ElementTree.parse(run.folder / "timeline.svg").getroot()
        labels = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
        self.assertLessEqual(set(spans), labels)
        for box in list(picture.iter("{http://www.w3.org/2000/svg}rect"))[
            1:
        ]:  # the first one is the background
            self.assertGreater(float(box.get("width")), 0)
            self.assertGreaterEqual(float(box.get("x")), 0)

    def check_nested(self, row: list[tuple[float, float]]) -> None:
        for first, second in ((a, b) for a in row for b in row if a[0] < b[0]):
            self.assertTrue(
                second[0] >= first[1] - 1e-3 or second[1] <= first[1] + 1e-3, (first, second)
            )

    def check_inside(self, events: list[dict], phases: set[str], call: str) -> None:
        """Check that all these phases are inside calls of that name, by their times."""
        calls = [
            (event["ts"], event["ts"] + event["dur"]) for event in events if event["name"] == call
        ]
        for event in events:
            if event["name"] in phases:
                begin, end = event["ts"], event["ts"] + event["dur"]
                self.assertTrue(any(a - 1e-3 <= begin and end <= b + 1e-3 for a, b in calls), event)

    def names(self, run: Run) -> dict[str, collections.Counter]:
        return {
            process: collections.Counter(event["name"] for event in events)
            for process, events in run.spans_by_process().items()
        }


class WithPhases(Jobs):
    """Jobs over Intersession, on one node."""

    mpi = "openmpi"
    everywhere = _OF_STARTS | {"shm_rendezvous", "context"} | _OF_ENDS

    def test_every_process_and_every_phase_is_recorded(self) -> None:
        run = self.run_job("finalize")
        self.assertEqual(run.done.returncode, 0, run.text)
        self.assertEqual(run.done.stdout.count("test passed"), self.processes)
        self.check_files(run, self.processes)
        for process, names in self.names(run).items():
            self.assertLessEqual(_CALLS | self.everywhere, set(names), process)
            for name in self.everywhere:
                self.assertEqual(names[name], 1, (process, name))
            self.assertEqual(names["MPI_Comm_free"], 2)
        for events in run.spans_by_process().values():
            self.check_inside(
                events,
                _OF_ALL | {"shm_rendezvous", "collect", "parent", "outcome"},
                "MPI_Comm_create_from_group",
            )
            self.check_inside(events, _OF_STARTS, "MPI_Session_init")
            self.assertEqual({event["args"]["state"] for event in events}, {"ended"})
            self.assertIn(
                'all "of" them',
                {event["args"].get("tag") for event in events if event["name"] == "context"},
            )
        self.check_roles(run)
        for name in self.everywhere | {"MPI_Session_init"}:
            self.assertRegex(run.done.stdout, rf"(?m)^{name} +\d+ .* rank \d+ on ")
        self.assertNotIn("note:", run.done.stdout)

    def check_roles(self, run: Run) -> None:
        """Check a creation on one node.

        Either all members arrive in shared memory, or some are so late that all continue with
        messages: rank 0 collects, and the others wait for it.
        """
        go_on = any(names["spread"] for names in self.names(run).values())
        for process, names in self.names(run).items():
            is_root = process.startswith("rank 0 ")
            expected = (
                {"collect": is_root, "outcome": not is_root, "links": True, "spread": True}
                if go_on
                else {}
            )
            for phase in ("collect", "outcome", "links", "spread", "parent", "fabric"):
                self.assertEqual(names[phase], int(expected.get(phase, False)), (process, phase))
        outcomes = [
            event
            for events in run.spans_by_process().values()
            for event in events
            if event["name"] == "outcome"
        ]
        self.assertEqual({event["args"]["peer"] for event in outcomes}, {0} if go_on else set())

    def test_a_program_that_calls_exit_is_recorded(self) -> None:
        run = self.run_job("exit")
        self.check_files(run, self.processes)
        for process, names in self.names(run).items():
            self.assertLessEqual(
                {"MPI_Session_init", "MPI_Comm_create_from_group", "MPI_Comm_dup", "context"},
                set(names),
                process,
            )
            self.assertNotIn("MPI_Session_finalize", names)

    def test_a_killed_process_is_reported(self) -> None:
        run = self.run_job("kill", processes=1)
        self.assertNotEqual(run.done.returncode, 0)
        self.check_files(run, 1)
        self.assertLessEqual(
            {"MPI_Session_init", "MPI_Comm_create_from_group", "MPI_Comm_dup"},
            set(*self.names(run).values()),
        )
        self.assertRegex(run.done.stdout, r"note: \S+: rank 0 on \S+ did not exit normally")

    def test_a_failed_creation_is_recorded(self) -> None:
        run = self.run_job("absent", INTERSESSION_CREATE_TIMEOUT="0.5")
        self.assertEqual(run.done.returncode, 0, run.text)
        self.check_files(run, self.processes)
        for process, events in run.spans_by_process().items():
            failed = {event["name"] for event in events if event["args"]["state"] == "failed"}
            if process.startswith("rank 1 "):
                self.assertEqual(failed, set())
            else:
                waited_in = {"collect"} if process.startswith("rank 0 ") else {"outcome"}
                self.assertEqual(failed, {"MPI_Comm_create_from_group"} | waited_in, process)
        self.assertRegex(run.done.stdout, r"(?m)^collect .*; 1 failed$")

    def test_a_second_run_does_not_mix_with_the_first(self) -> None:
        first = self.run_job("finalize", processes=1)
        again = subprocess.run(
            [
                _BUILD / "bin" / "intersession-timeline",
                "run",
                "-o",
                first.folder,
                "-n",
                "1",
                "true",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(again.returncode, 1)
        self.assertIn("has files of an earlier run", again.stderr)


class OverOpenMpi(WithPhases):
    pass


class Listener(Jobs):
    """The tool in the README."""

    mpi = "openmpi"

    def test_the_tool_of_the_readme_receives_phases(self) -> None:
        page = (pathlib.Path(__file__).resolve().parents[3] / "pmpi_tools" / "README.md").read_text(
            encoding="utf-8"
        )
        source, library = _SCRATCH / "listener.c", _SCRATCH / "liblistener.so"
        _SCRATCH.mkdir(parents=True, exist_ok=True)
        source.write_text(re.search(r"```c\n(.*?)```", page, re.DOTALL)[1], encoding="utf-8")
        subprocess.run(
            [
                "cc",
                "-Wall",
                "-Werror",
                "-shared",
                "-fPIC",
                f"-I{_BUILD / 'include'}",
                source,
                "-o",
                library,
            ],
            check=True,
        )
        done = subprocess.run(
            [_BUILD / "bin" / "intersession-run", "--mpi", "openmpi", "-n", "3", _PROGRAM],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **_LAUNCHER, "LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.stdout.count("test passed"), 3, done.stderr)
        for line, times in (
            ("-1: launcher of session 1", 3),
            ("0: shm_rendezvous of communicator 2", 1),
            ("2: shm_rendezvous of communicator 2", 1),
            ("1: context of communicator 2", 1),
            ("0: flush of end 3", 1),
        ):
            self.assertEqual(done.stderr.splitlines().count(line), times, done.stderr)


class OverMpich(WithPhases):
    mpi = "mpich"


class OverNodes(Jobs):
    """Jobs on two nodes, each with a node leader.

    If a provider is set, messages between nodes open libfabric in their senders.
    """

    mpi = "openmpi"
    nodes = 2

    def test_every_process_and_every_phase_is_recorded(self) -> None:
        run = self.run_job("finalize")
        self.assertEqual(run.done.returncode, 0, run.text)
        self.check_files(run, self.processes)
        expected = _CALLS | _OF_STARTS | _OF_ALL | _OF_ENDS
        counts: collections.Counter = collections.Counter()
        for process, names in self.names(run).items():
            self.assertLessEqual(expected, set(names), process)
            counts.update(names)
        self.assertEqual(
            (counts["collect"], counts["publish"], counts["parent"], counts["outcome"]),
            (2, 2, 1, self.processes - 1),
        )
        self.assertEqual(len({process.split(" on ")[1] for process in self.names(run)}), 2)
        for events in run.spans_by_process().values():
            self.check_inside(
                events,
                _OF_ALL | {"collect", "parent", "outcome", "publish"},
                "MPI_Comm_create_from_group",
            )

    def test_the_phase_fabric_is_recorded_in_the_process_that_opens_libfabric(self) -> None:
        for provider, times in (("", 0), ("any", 1)):
            run = self.run_job("finalize", INTERSESSION_PROVIDER=provider)
            self.assertEqual(run.done.returncode, 0, run.text)
            # in the program's one collective, only node leaders send to other nodes
            self.assertEqual(
                sorted(names["fabric"] for names in self.names(run).values()),
                [0] * (self.processes - 2) + [times] * 2,
                provider,
            )

    def test_the_phase_of_the_fence_over_the_job_is_recorded(self) -> None:
        run = self.run_job("finalize", INTERSESSION_EXCHANGE="world_fence")
        self.assertEqual(run.done.returncode, 0, run.text)
        self.check_files(run, self.processes)
        for process, names in self.names(run).items():
            self.assertEqual(names["world_fence"], 1, process)


class NativeMpich(Jobs):
    """Sessions of the native MPI: all calls, no phases."""

    mpi = "mpich"
    native = True

    def test_every_call_of_every_process_is_recorded(self) -> None:
        run = self.run_job("finalize")
        self.assertEqual(run.done.returncode, 0, run.text)
        self.assertEqual(run.done.stdout.count("test passed"), self.processes)
        self.check_files(run, self.processes)
        for process, names in self.names(run).items():
            self.assertEqual(set(names), _CALLS, process)
        self.assertIn("no phases", run.done.stdout)

    def test_a_program_that_calls_exit_is_recorded(self) -> None:
        run = self.run_job("exit")
        self.check_files(run, self.processes)
        for process, names in self.names(run).items():
            self.assertEqual(
                set(names), _CALLS - {"MPI_Comm_free", "MPI_Session_finalize"}, process
            )


def main() -> int:
    """Return the exit code. If a test was skipped, CTest must count the run as skipped."""
    result = unittest.main(exit=False).result
    for reason in dict.fromkeys(reason for _, reason in result.skipped):
        print(reason if "skipped: " in reason else f"skipped: {reason}")
    if not result.wasSuccessful():
        return 1
    return _SKIPPED if result.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
