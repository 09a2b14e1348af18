# SPDX-License-Identifier: BSD-3-Clause
"""Makes files in the format of the recorder, for tests."""

from __future__ import annotations

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "pmpi_tools" / "timeline"))

MS = 1_000_000


class Written:
    """The file of a process: collects lines, then writes them."""

    def __init__(
        self,
        rank: int | None = 0,
        host: str = "node0",
        boot: str = "a",
        monotonic: int = 0,
        wall: int = 0,
        **header: object,
    ):
        first = {
            "timeline": 1,
            "host": host,
            "pid": 100 + (rank or 0),
            "program": "/bin/program",
            "boot": boot,
            "monotonic_ns": monotonic,
            "wall_ns": wall,
            "clock_error_ns": 100,
            **({} if rank is None else {"rank": rank}),
            **header,
        }
        self.lines = [json.dumps(first)]
        self.rank = rank
        self._numbers = 0

    def add(self, **record: object) -> "Written":
        self.lines.append(json.dumps({"thread": 1, **record}))
        return self

    def call(
        self,
        name: str,
        begin: float,
        end: float | None,
        of: str = "session",
        text: str = "",
        code: int = 0,
        thread: int = 1,
    ) -> "Written":
        """Add a span; times in ms of the process's own clock. Without an end it is open."""
        self._numbers += 1
        common = {"kind": "call", "name": name, "number": self._numbers, "thread": thread}
        self.add(what="begins", t=int(begin * MS), of=of, text=text, **common)
        return self if end is None else self.add(what="ends", t=int(end * MS), code=code, **common)

    def phase(
        self,
        name: str,
        begin: float,
        end: float | None,
        of: str = "session",
        text: str = "",
        members: int = 0,
        peer: int = -1,
        how: str = "ends",
        size: int = -1,
        thread: int = 1,
    ) -> "Written":
        common = {
            "kind": "phase",
            "name": name,
            "number": 1,
            "of": of,
            "text": text,
            "members": members,
            "rank": self.rank,
            "size": size,
            "host": "node",
            "thread": thread,
        }
        self.add(what="begins", t=int(begin * MS), peer=-1, **common)
        return self if end is None else self.add(what=how, t=int(end * MS), peer=peer, **common)

    def exit(self, at: float) -> "Written":
        return self.add(what="exits", kind="process", name="process", t=int(at * MS))

    def write(self, folder: pathlib.Path, name: str = "", cut: int = 0) -> "Written":
        """Write the file without the last `cut` characters."""
        text = "\n".join(self.lines) + "\n"
        (folder / (name or f"node.{self.rank}.timeline")).write_text(
            text[: len(text) - cut], encoding="utf-8"
        )
        return self


def start(rank: int = 0, at: float = 1000, **header: object) -> Written:
    """Return the file of rank 0 or 1: a session and a creation by two processes, in 9 ms."""
    written = Written(rank, **{"size": 2, **header})
    written.call("MPI_Session_init", at, at + 4).phase("launcher", at, at + 3, size=2)
    written.call("MPI_Comm_create_from_group", at + 5, at + 8, of="creation", text="tag")
    written.phase(
        "collect" if rank == 0 else "outcome",
        at + 5.5,
        at + 7,
        of="communicator",
        text="tag",
        members=2,
        peer=1 - rank,
        size=2,
    )
    return written.exit(at + 9)
