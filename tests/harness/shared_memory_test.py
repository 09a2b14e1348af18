# SPDX-License-Identifier: BSD-3-Clause
"""Tests that files of a job are distinguished from files of other jobs in the same directory."""
import fcntl
import os
import pathlib
import sys
import tempfile
import threading
import unittest
import unittest.mock

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

import shared_memory  # noqa: E402
from shared_memory import SharedMemory  # noqa: E402


class LeftBehind(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(dir=shared_memory.DIRECTORY, prefix="harness-test-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def make(self, name: str) -> str:
        path = pathlib.Path(self.folder, name)
        path.touch()
        return str(path)

    def shared(self, leaves_files: bool = False) -> SharedMemory:
        return SharedMemory(self.folder, is_private=False, leaves_files=leaves_files)

    def test_a_new_file_is_left_behind(self) -> None:
        for is_private in (False, True):
            memory = SharedMemory(self.folder, is_private, leaves_files=False)
            path = self.make(f"intersession-{is_private}")
            self.assertEqual(memory.left_behind(), [path])

    def test_earlier_files_and_files_with_other_names_do_not_count(self) -> None:
        self.make("intersession-0-1")
        memory = self.shared()
        self.make("vader_segment.0")
        self.assertEqual(memory.left_behind(), [])

    def test_an_earlier_file_that_was_replaced_counts(self) -> None:
        path = self.make("intersession-0-1")
        memory = self.shared()
        other = self.make("other")
        os.rename(other, path)
        self.assertEqual(memory.left_behind(), [path])

    def test_a_locked_file_is_in_use(self) -> None:
        memory = self.shared()
        with open(self.make("intersession-0-1"), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            self.assertEqual(memory.left_behind(), [])

    def test_a_lock_on_another_file_of_the_same_inode_number_does_not_count(self) -> None:
        memory = self.shared()
        path = self.make("intersession-0-1")
        status = os.stat(path)
        other = (os.major(status.st_dev), os.minor(status.st_dev) + 1, status.st_ino)
        with unittest.mock.patch.object(shared_memory, "_locked", return_value={other}):
            self.assertEqual(memory.left_behind(), [path])

    def test_a_leftover_of_another_job_that_removes_it_does_not_count(self) -> None:
        memory, other = self.shared(), self.shared(leaves_files=True)
        path = self.make("intersession-0-1")
        found: list[str] = ["not asked yet"]
        asking = threading.Thread(
            target=lambda: found.__setitem__(slice(None), memory.left_behind())
        )
        asking.start()
        asking.join(shared_memory._LONGEST_REMOVAL + 0.5)
        self.assertTrue(asking.is_alive(), "left_behind() does not wait for the other job")
        os.unlink(path)
        del other
        asking.join(10)
        self.assertEqual(found, [])

    def test_jobs_that_leave_files_run_one_at_a_time(self) -> None:
        first = self.shared(leaves_files=True)
        second: list[SharedMemory] = []
        starting = threading.Thread(target=lambda: second.append(self.shared(leaves_files=True)))
        starting.start()
        starting.join(0.2)
        self.assertEqual(second, [])
        self.assertEqual(first.left_behind(), [])
        del first
        starting.join(10)
        self.assertEqual(len(second), 1)


if __name__ == "__main__":
    unittest.main()
