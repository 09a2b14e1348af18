# SPDX-License-Identifier: BSD-3-Clause
"""Runs jobs of two users on one machine at the same time; one of them is not root.

Program and library are copied to a folder that both users may read. INTERSESSION_TEST_BUILD is the
build folder, INTERSESSION_TEST_SUBSTRATE the native MPI. Needs root, to become another user.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

_BUILD = pathlib.Path(os.environ["INTERSESSION_TEST_BUILD"])
_SUBSTRATE = os.environ["INTERSESSION_TEST_SUBSTRATE"]
_LAUNCH = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpiexec.hydra"],
}[_SUBSTRATE]
_ROOT, _NOBODY = 0, 65534
_PROCESSES = 3
_SECONDS = 60
_RUNS = 3


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class Users(unittest.TestCase):
    """Each user has a home and a folder for temporary files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.program = self.copy(_BUILD / "examples" / _SUBSTRATE / "linked" / "first")
        self.library = self.copy(_BUILD / "lib" / f"libintersession-{_SUBSTRATE}.so")

    def copy(self, file):
        """Copy a file, or the file that a link leads to."""
        target = self.folder / file.name
        shutil.copy(file, target)
        target.chmod(0o755)
        return target

    def start(self, user):
        """Start a job of a user."""
        home = self.folder / f"home-of-{user}"
        home.mkdir(exist_ok=True)
        os.chown(home, user, user)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return subprocess.Popen(
            [*become, *_LAUNCH, "-n", str(_PROCESSES), str(self.program)],
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "TMPDIR": str(home),
                "LD_PRELOAD": str(self.library),
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def assert_passes(self, job):
        """Wait for a job, and check that each process has the sum of all ranks."""
        try:
            output, _ = job.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            job.kill()
            self.fail(f"the job has not ended within {_SECONDS} s: {job.communicate()[0]}")
        self.assertEqual(job.returncode, 0, output)
        for rank in range(_PROCESSES):
            self.assertIn(f"{rank} of {_PROCESSES}; the ranks add up to 3\n", output)

    def test_a_user_without_root_runs_a_job(self):
        self.assert_passes(self.start(_NOBODY))

    def test_jobs_of_two_users_at_the_same_time(self):
        for _ in range(_RUNS):
            jobs = [self.start(user) for user in (_ROOT, _NOBODY)]
            for job in jobs:
                self.assert_passes(job)

    def tearDown(self):
        left = []
        for file in pathlib.Path("/dev/shm").glob("intersession-*"):
            with contextlib.suppress(FileNotFoundError):  # another test's, which has just ended
                if file.stat().st_uid == _NOBODY:
                    left.append(file.name)
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
