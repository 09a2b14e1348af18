# SPDX-License-Identifier: BSD-3-Clause
"""Reads the recorder's files to processes with spans; reports and ignores damaged records."""

from __future__ import annotations

import dataclasses
import json
import pathlib

FORMAT = 1
PATTERN = "*.timeline"
_HEADER = {
    "host": str,
    "pid": int,
    "boot": str,
    "monotonic_ns": int,
    "wall_ns": int,
    "clock_error_ns": int,
    "program": str,
}
_LINE = {"what": str, "kind": str, "name": str, "t": int, "thread": int}


class Unusable(Exception):
    """The folder has no usable file; the text has the reason."""


@dataclasses.dataclass
class Span:
    """A call or a phase; times in nanoseconds, of the process's own clock until align()."""

    kind: str  # "call" or "phase"
    name: str
    of: str  # kind of call, as in calls.txt, or the operation that a phase belongs to
    number: int  # of the call or operation
    thread: int
    begin: int
    end: int
    state: str = "unfinished"  # "ended", "failed", "unfinished": the file ends before the span
    text: str = ""  # string tag, or name of a process set
    members: int = 0
    peer: int = -1
    code: int | None = None

    @property
    def length(self) -> int:
        return self.end - self.begin


@dataclasses.dataclass
class Process:
    """A process: the contents of one file."""

    file: str
    host: str
    pid: int
    boot: str
    program: str
    monotonic_ns: int
    wall_ns: int
    clock_error_ns: int
    rank: int | None = None
    size: int | None = None
    has_exited: bool = False
    spans: list[Span] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        who = f"process {self.pid}" if self.rank is None else f"rank {self.rank}"
        return f"{who} on {self.host}"


def _fits(record: object, fields: dict[str, type]) -> bool:
    return isinstance(record, dict) and all(
        type(record.get(name)) is kind for name, kind in fields.items()
    )


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


class _Reader:
    """Reads one file, line by line."""

    def __init__(self, process: Process, remarks: list[str]):
        self.process = process
        self._remarks = remarks
        self._open: dict[tuple, Span] = {}
        self._last = 0

    def take(self, number: int, record: object) -> None:
        if not _fits(record, _LINE):
            return self._remark(number, "invalid line; ignored")
        self._last = max(self._last, record["t"])
        if record["what"] == "exits":
            self.process.has_exited = True
        elif record["what"] == "begins":
            self._begin(record)
        else:
            self._end(number, record)
        return None

    def finish(self) -> None:
        """End all open spans at the time of the last record, and sort the spans."""
        for span in self._open.values():
            span.end = max(self._last, span.begin)
        self.process.spans.sort(key=lambda span: (span.begin, -span.end))

    @staticmethod
    def _key(record: dict) -> tuple:
        return record["kind"], record["name"], record.get("number", 0)

    def _begin(self, record: dict) -> None:
        rank, size = record.get("rank", -1), record.get("size", -1)
        span = Span(
            record["kind"],
            record["name"],
            str(record.get("of", "")),
            record.get("number", 0),
            record["thread"],
            record["t"],
            record["t"],
            text=str(record.get("text", "")),
            members=record.get("members", 0),
        )
        if rank >= 0:
            self.process.rank, self.process.size = rank, size
        self.process.spans.append(span)
        self._open[self._key(record)] = span

    def _end(self, number: int, record: dict) -> None:
        span = self._open.pop(self._key(record), None)
        if span is None:
            return self._remark(number, f"ends {record['name']}, which has not begun; ignored")
        if record["t"] < span.begin:
            self.process.spans.remove(span)
            return self._remark(number, f"ends {record['name']} before it began; ignored")
        span.end, span.code, span.peer = record["t"], record.get("code"), record.get("peer", -1)
        span.state = (
            "failed" if record["what"] == "fails" or span.code not in (None, 0) else "ended"
        )
        return None

    def _remark(self, number: int, text: str) -> None:
        self._remarks.append(f"{self.process.file}, line {number}: {text}")


def read_file(path: pathlib.Path, remarks: list[str]) -> Process | None:
    """Return the process of a file, or None if the file is unusable; remarks get the reason."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    cut = lines.pop()  # text after the last end of line
    header = _parsed(lines[0]) if lines else None
    if not isinstance(header, dict) or "timeline" not in header:
        remarks.append(f"{path.name}: has no header line; ignored")
        return None
    if header["timeline"] != FORMAT or not _fits(header, _HEADER):
        remarks.append(
            f"{path.name}: has format {header['timeline']}, but this version reads format "
            f"{FORMAT}; "
            "ignored"
        )
        return None
    process = Process(
        path.name,
        **{name: header[name] for name in _HEADER},
        rank=header.get("rank"),
        size=header.get("size"),
    )
    reader = _Reader(process, remarks)
    for number, line in enumerate(lines[1:], 2):
        reader.take(number, _parsed(line))
    reader.finish()
    if cut:
        remarks.append(
            f"{path.name}: the last line is truncated; the process was killed while writing, or "
            "the "
            "disk is full"
        )
    if not process.has_exited:
        inside = next(
            (f" (inside {span.name})" for span in process.spans if span.state == "unfinished"), ""
        )
        remarks.append(
            f"{path.name}: {process.name} did not exit normally{inside}; it was killed, or called "
            "_exit"
        )
    return process


def ranges_text(numbers: list[int]) -> str:
    """Return the numbers as ranges: 1, 2, 3, 7 as "1-3, 7"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _missing(processes: list[Process]) -> list[str]:
    sizes = {process.size for process in processes if process.size}
    ranks = {process.rank for process in processes if process.rank is not None}
    if len(sizes) != 1 or not ranks:
        return []
    missing = [rank for rank in range(sizes.pop()) if rank not in ranks]
    if not missing:
        return []
    return [
        f"no file of rank {ranges_text(missing)}: it called no recorded function, ran without the "
        "tool, or wrote to a folder on another node; copy the missing files here and merge again"
    ]


def read_folder(folder: pathlib.Path) -> tuple[list[Process], list[str]]:
    """Return the processes in a folder, by rank, and remarks. Raise Unusable if there are none."""
    if not folder.is_dir():
        raise Unusable(f"folder {folder} does not exist")
    paths = sorted(folder.glob(PATTERN))
    if not paths:
        raise Unusable(
            f"{folder} has no {PATTERN} files; check that the program calls MPI and that the tool "
            "is "
            "loaded before the MPI library"
        )
    remarks: list[str] = []
    processes = [process for path in paths if (process := read_file(path, remarks)) is not None]
    if not any(process.spans for process in processes):
        raise Unusable("\n".join([f"no usable file in {folder}:", *remarks]))
    processes.sort(
        key=lambda process: (process.rank is None, process.rank or 0, process.host, process.pid)
    )
    return processes, remarks + _missing(processes)
