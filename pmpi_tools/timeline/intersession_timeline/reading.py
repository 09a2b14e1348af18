# SPDX-License-Identifier: BSD-3-Clause
"""From the recorder's files to processes with spans. What is damaged is left out and told, not guessed."""
import dataclasses
import json
import pathlib

FORMAT = 1
PATTERN = "*.timeline"
_HEADER = {"host": str, "pid": int, "boot": str, "monotonic_ns": int, "wall_ns": int, "clock_error_ns": int, "program": str}
_LINE = {"what": str, "kind": str, "name": str, "t": int, "thread": int}


class Unusable(Exception):
    """There is nothing to make a picture of; the text says why."""


@dataclasses.dataclass
class Span:
    """One call or one phase; times in nanoseconds, at first of the process's own clock."""
    kind: str    # "call" or "phase"
    name: str
    of: str      # kind of call, as in calls.txt, or the operation that a phase belongs to
    number: int  # which call or operation
    thread: int
    begin: int
    end: int
    state: str = "unfinished"  # "ended", "failed", "unfinished": the process's record stops before
    text: str = ""             # string tag, or name of a process set
    members: int = 0
    peer: int = -1
    code: int | None = None

    @property
    def length(self) -> int:
        return self.end - self.begin


@dataclasses.dataclass
class Process:
    """One file."""
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
    return isinstance(record, dict) and all(type(record.get(name)) is kind for name, kind in fields.items())


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


class _Reader:
    """One file, line by line."""

    def __init__(self, process: Process, remarks: list[str]):
        self.process = process
        self._remarks = remarks
        self._open: dict[tuple, Span] = {}
        self._last = 0

    def take(self, number: int, record: object) -> None:
        if not _fits(record, _LINE):
            return self._remark(number, "cannot be read; left out")
        self._last = max(self._last, record["t"])
        if record["what"] == "exits":
            self.process.has_exited = True
        elif record["what"] == "begins":
            self._begin(record)
        else:
            self._end(number, record)
        return None

    def finish(self) -> None:
        """What is still open lasts until the last that is known of the process."""
        for span in self._open.values():
            span.end = max(self._last, span.begin)
        self.process.spans.sort(key=lambda span: (span.begin, -span.end))

    @staticmethod
    def _key(record: dict) -> tuple:
        return record["kind"], record["name"], record.get("number", 0)

    def _begin(self, record: dict) -> None:
        rank, size = record.get("rank", -1), record.get("size", -1)
        span = Span(record["kind"], record["name"], str(record.get("of", "")), record.get("number", 0), record["thread"], record["t"],
                    record["t"], text=str(record.get("text", "")), members=record.get("members", 0))
        if rank >= 0:
            self.process.rank, self.process.size = rank, size
        self.process.spans.append(span)
        self._open[self._key(record)] = span

    def _end(self, number: int, record: dict) -> None:
        span = self._open.pop(self._key(record), None)
        if span is None:
            return self._remark(number, f"ends {record['name']}, which has not begun; left out")
        if record["t"] < span.begin:
            self.process.spans.remove(span)
            return self._remark(number, f"ends {record['name']} before it began; left out")
        span.end, span.code, span.peer = record["t"], record.get("code"), record.get("peer", -1)
        span.state = "failed" if record["what"] == "fails" or span.code not in (None, 0) else "ended"
        return None

    def _remark(self, number: int, text: str) -> None:
        self._remarks.append(f"{self.process.file}, line {number}: {text}")


def read_file(path: pathlib.Path, remarks: list[str]) -> Process | None:
    """None where the file is of no use; remarks says why."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    cut = lines.pop()  # what comes after the last end of line
    header = _parsed(lines[0]) if lines else None
    if not isinstance(header, dict) or "timeline" not in header:
        remarks.append(f"{path.name}: has no first line about its process; left out")
        return None
    if header["timeline"] != FORMAT or not _fits(header, _HEADER):
        remarks.append(f"{path.name}: is of format {header['timeline']}, and this reads format {FORMAT}; left out")
        return None
    process = Process(path.name, **{name: header[name] for name in _HEADER}, rank=header.get("rank"), size=header.get("size"))
    reader = _Reader(process, remarks)
    for number, line in enumerate(lines[1:], 2):
        reader.take(number, _parsed(line))
    reader.finish()
    if cut:
        remarks.append(f"{path.name}: its last line is cut off; the process was killed while it wrote, or the disk is full")
    if not process.has_exited:
        inside = next((f" inside {span.name}" for span in process.spans if span.state == "unfinished"), "")
        remarks.append(f"{path.name}: {process.name} did not end as programs do{inside}; it was killed, or called _exit")
    return process


def ranges_text(numbers: list[int]) -> str:
    """1, 2, 3, 7 as "1-3, 7"."""
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
    return [f"no file of rank {ranges_text(missing)}: called nothing that is recorded, ran without the tool, or wrote to a folder of "
            "another node's; copy such files here and merge again"]


def read_folder(folder: pathlib.Path) -> tuple[list[Process], list[str]]:
    """All processes with a file there, by rank, and what there is to say about the files. Raises Unusable where there are none."""
    if not folder.is_dir():
        raise Unusable(f"there is no folder {folder}")
    paths = sorted(folder.glob(PATTERN))
    if not paths:
        raise Unusable(f"{folder} has no {PATTERN} files: did the program call MPI, and did the tool come in front of it?")
    remarks: list[str] = []
    processes = [process for path in paths if (process := read_file(path, remarks)) is not None]
    if not any(process.spans for process in processes):
        raise Unusable("\n".join([f"nothing in {folder} can be used:", *remarks]))
    processes.sort(key=lambda process: (process.rank is None, process.rank or 0, process.host, process.pid))
    return processes, remarks + _missing(processes)
