# SPDX-License-Identifier: BSD-3-Clause
"""Runs modules of mpi4py's test suite in one process of a job.

    mpi4py_in_session.py LIBRARY_FOLDER TEST_FOLDER RECORD_FOLDER [arguments of the suite's main.py]

In mode session the extension module is compiled with in_session.h: its import opens a session, and
MPI_COMM_WORLD and MPI_COMM_SELF are communicators made from mpi://WORLD and mpi://SELF. In mode
served its import calls MPI_Init, which Intersession serves. Writes one line of JSON
for each event of a test to RECORD_FOLDER/RANK. A test that has begun but not ended has ended or
hung the process.
"""
import importlib
import json
import pathlib
import sys
import unittest


class Record(unittest.TextTestResult):
    """Records the events of each test in the file of the process."""

    file = None

    def _note(self, event, test, detail=""):
        print(
            json.dumps({"event": event, "test": test.id(), "detail": detail}),
            file=self.file,
            flush=True,
        )

    def startTest(self, test):  # pylint: disable=invalid-name
        self._note("begun", test)
        super().startTest(test)

    def stopTest(self, test):  # pylint: disable=invalid-name
        super().stopTest(test)
        self._note("ended", test)

    def addSuccess(self, test):  # pylint: disable=invalid-name
        super().addSuccess(test)
        self._note("pass", test)

    def addError(self, test, err):  # pylint: disable=invalid-name
        super().addError(test, err)
        self._note("fail", test, self._exc_info_to_string(err, test))

    def addFailure(self, test, err):  # pylint: disable=invalid-name
        super().addFailure(test, err)
        self._note("fail", test, self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):  # pylint: disable=invalid-name
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note("fail", test, self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):  # pylint: disable=invalid-name
        super().addSkip(test, reason)
        self._note("skip", test, reason)

    def addExpectedFailure(self, test, err):  # pylint: disable=invalid-name
        super().addExpectedFailure(test, err)
        self._note("pass", test)


def main() -> int:
    library, tests, records, *arguments = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path[:0] = [library, tests]
    rank = importlib.import_module("mpi4py.MPI").COMM_WORLD.Get_rank()
    Record.file = (pathlib.Path(records) / str(rank)).open("a", encoding="utf-8")

    class Runner(unittest.TextTestRunner):
        resultclass = Record

    suite = importlib.import_module("main")
    try:
        suite.main(module=None, argv=["main.py", "--no-builddir", *arguments], testRunner=Runner)
    except SystemExit:
        pass
    print(json.dumps({"event": "over", "test": "", "detail": ""}), file=Record.file, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
