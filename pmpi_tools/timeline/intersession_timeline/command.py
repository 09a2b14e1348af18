# SPDX-License-Identifier: BSD-3-Clause
"""The command line of intersession-timeline."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from .clocks import align
from .picture import picture_of
from .reading import PATTERN, Unusable, read_folder
from .summary import summary_of
from .trace import trace_of

_DESCRIPTION = """What happens when sessions start and communicators are made, process by process: as a trace for ui.perfetto.dev or
chrome://tracing (trace.json), as a picture (timeline.svg) and as a summary."""
_FOLDER = "INTERSESSION_TIMELINE"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="intersession-timeline", description=_DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a job with the tool in front, then merge",
                              usage="%(prog)s [-h] [-o FOLDER] [--lanes N] words of intersession-run: [--mpi MPI] [--native] -n 4 ./program ...")
    run.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("timeline"), metavar="FOLDER",
                     help="where the files go, on a file system that all nodes share; default: %(default)s")
    merge = commands.add_parser("merge", help="merge the files that processes have written")
    merge.add_argument("folder", type=pathlib.Path, help="where they are; what is made of them goes there, too")
    for command in (run, merge):
        command.add_argument("--lanes", type=int, default=32, metavar="N",
                             help="so many processes at most are in the picture; default: %(default)s")
    return parser


def _own_words(words: list[str]) -> tuple[list[str], list[str]]:
    """Of `run`: the options of this command, which come first, and the job's words."""
    at = 0
    while at < len(words) and words[at] in ("-o", "--output", "--lanes", "-h", "--help"):
        at += 1 if words[at] in ("-h", "--help") else 2
    rest = words[at:]
    return words[:at], rest[1:] if rest[:1] == ["--"] else rest


def merge(folder: pathlib.Path, lanes: int) -> int:
    """Reads the folder, writes trace and picture into it, prints the summary. The exit code."""
    try:
        processes, remarks = read_folder(folder)
    except Unusable as fault:
        print(f"intersession-timeline: {fault}", file=sys.stderr)
        return 1
    remarks += align(processes)
    trace, picture = folder / "trace.json", folder / "timeline.svg"
    trace.write_text(json.dumps(trace_of(processes, remarks)) + "\n", encoding="utf-8")
    picture.write_text(picture_of(processes, lanes), encoding="utf-8")
    print(summary_of(processes, remarks), f"{trace}\n{picture}", sep="\n")
    return 0


def run(folder: pathlib.Path, lanes: int, words: list[str], programs: pathlib.Path) -> int:
    """Runs the job, then merges, also when the job ends badly. The job's exit code, if that is not 0."""
    if not words:
        print("intersession-timeline: run needs a job, as mpirun takes it: -n 4 ./program", file=sys.stderr)
        return 1
    if any(folder.glob(PATTERN)):
        print(f"intersession-timeline: {folder} has files of an earlier run; remove them, or name another folder with -o", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([programs / "intersession-run", "--tool", "timeline", *words], check=False,
                          env={**os.environ, _FOLDER: str(folder.resolve())})
    merged = merge(folder, lanes)
    return done.returncode or merged


def main(words: list[str], programs: pathlib.Path) -> int:
    own, job = (words, [])
    if words[:1] == ["run"]:
        own, job = _own_words(words[1:])
        own = ["run", *own]
    options = _parser().parse_args(own)
    if options.command == "merge":
        return merge(options.folder, options.lanes)
    return run(options.output, options.lanes, job, programs)
