# SPDX-License-Identifier: BSD-3-Clause
"""Tests that nodes can be made by an unprivileged user and in a chroot, if the kernel allows it."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

_CLUSTER = pathlib.Path(__file__).resolve().parent / "cluster"
_COMMAND = ("--nodes", "2", "--", "sh", "-c", "hostname; pwd; ls -d /dev/shm/.node")


@unittest.skipUnless(
    os.geteuid() == 0, "only root can become another user and change its root directory"
)
class Nodes(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.folder.chmod(0o755)

    def run_cluster(self, *command: str | pathlib.Path) -> list[str]:
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=50, check=False
        )
        if done.returncode == 77 and "the kernel does not allow" in done.stdout:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_a_user_without_privileges_can_make_nodes(self) -> None:
        copy = shutil.copytree(
            _CLUSTER.parent, self.folder / "cluster", ignore=shutil.ignore_patterns("__pycache__")
        )
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3")
        self.assertEqual(
            self.run_cluster(*user, copy / "cluster", *_COMMAND),
            ["node0", str(self.folder), "/dev/shm/.node"],
        )

    def test_nodes_can_be_made_in_a_chroot(self) -> None:
        root = self.folder / "root"
        root.mkdir()
        script = (
            'mount --rbind / "$1" && root=$1 && shift && exec chroot "$root" sh -c \'cd "$1" && '
            'shift && exec "$@"\' sh "$@"'
        )
        lines = self.run_cluster(
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
            root,
            "/tmp",
            _CLUSTER,
            *_COMMAND,
        )
        self.assertEqual(lines, ["node0", "/tmp", "/dev/shm/.node"])

    def test_a_chroot_that_is_no_mount_point_is_reported(self) -> None:
        # A root directory in which each folder is a mount point, but not the root itself.
        root = self.folder / "root"
        for name in os.listdir("/"):
            if os.path.islink(f"/{name}"):
                os.makedirs(root, exist_ok=True)
                os.symlink(os.readlink(f"/{name}"), root / name)
            elif os.path.isdir(f"/{name}"):
                (root / name).mkdir(parents=True)
        script = (
            'for name in /*; do [ -L "$name" ] || [ ! -d "$name" ] || mount --rbind "$name" '
            '"$1$name" || exit; done; exec chroot "$@"'
        )
        command = (
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
            root,
            _CLUSTER,
            *_COMMAND,
        )
        done = subprocess.run(
            command, cwd="/", capture_output=True, text=True, timeout=50, check=False
        )
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertRegex(
            done.stdout, "skipped: (the root directory is no mount point|the kernel does not allow)"
        )


if __name__ == "__main__":
    unittest.main()
