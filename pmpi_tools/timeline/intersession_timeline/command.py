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

_DESCRIPTION = """Shows what each process does while sessions start and communicators are created:
as a trace for ui.perfetto.dev or chrome://tracing (trace.json), a picture (timeline.svg) and a
summary."""
_FOLDER = "INTERSESSION_TIMELINE"


def _parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="intersession-timeline", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"%(prog)s: Intersession {version}")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run",
        help="run a job with the recorder preloaded, then merge",
        usage="%(prog)s [-h] [-o FOLDER] [--tracks N] options of intersession-run: "
        "[--mpi MPI] [--native] -n 4 ./program ...",
    )
    run.add_argument(
        "-o",
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("timeline"),
        metavar="FOLDER",
        help="folder for the files, on a file system that all nodes share; default: %(default)s",
    )
    merge = commands.add_parser("merge", help="merge the files that processes have written")
    merge.add_argument(
        "folder", type=pathlib.Path, help="folder of the files; the results are written there, too"
    )
    for command in (run, merge):
        command.add_argument(
            "--tracks",
            type=int,
            default=32,
            metavar="N",
            help="largest number of processes in the picture; default: %(default)s",
        )
    return parser


def _own_words(words: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of `run`: the options of this command, and the arguments of the job."""
    at = 0
    while at < len(words) and words[at] in ("-o", "--output", "--tracks", "-h", "--help"):
        at += 1 if words[at] in ("-h", "--help") else 2
    rest = words[at:]
    return words[:at], rest[1:] if rest[:1] == ["--"] else rest


def merge(folder: pathlib.Path, tracks: int) -> int:
    """Read the folder, write trace and picture to it, print the summary; return the exit code."""
    try:
        processes, remarks = read_folder(folder)
    except Unusable as fault:
        print(f"intersession-timeline: {fault}", file=sys.stderr)
        return 1
    remarks += align(processes)
    trace, picture = folder / "trace.json", folder / "timeline.svg"
    trace.write_text(json.dumps(trace_of(processes, remarks)) + "\n", encoding="utf-8")
    picture.write_text(picture_of(processes, tracks), encoding="utf-8")
    print(summary_of(processes, remarks), f"{trace}\n{picture}", sep="\n")
    return 0


def run(folder: pathlib.Path, tracks: int, words: list[str], programs: pathlib.Path) -> int:
    """Run the job, then merge, also if the job failed; return the first nonzero exit code."""
    if not words:
        print(
            "intersession-timeline: run needs a job with the options of mpirun, "
            "e.g. -n 4 ./program",
            file=sys.stderr,
        )
        return 1
    if any(folder.glob(PATTERN)):
        print(
            f"intersession-timeline: {folder} has files of an earlier run; remove them, or choose "
            "another folder with -o",
            file=sys.stderr,
        )
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [programs / "intersession-run", "--tool", "timeline", *words],
        check=False,
        env={**os.environ, _FOLDER: str(folder.resolve())},
    )
    merged = merge(folder, tracks)
    return done.returncode or merged


def main(words: list[str], programs: pathlib.Path, version: str = "") -> int:
    """Run the command; `programs` is the folder of intersession-run. Return the exit code."""
    own, job = (words, [])
    if words[:1] == ["run"]:
        own, job = _own_words(words[1:])
        own = ["run", *own]
    options = _parser(version).parse_args(own)
    if options.command == "merge":
        return merge(options.folder, options.tracks)
    return run(options.output, options.tracks, job, programs)
