# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the runner reports each kind of failure of a job and leaves no process or file."""
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from typing import Iterator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

import commands  # noqa: E402
import ctest  # noqa: E402
import jobs  # noqa: E402
import launchers  # noqa: E402
import processes  # noqa: E402
import runner  # noqa: E402

_RUN_JOB = pathlib.Path(__file__).resolve().parent.parent / "run-job"


def shell(script: str, **fields: object) -> str:
    """Return a table with one job that runs a shell script without a launcher."""
    fields = {"launcher": "none", **fields}

    def is_literal(value: object) -> bool:
        return isinstance(value, (int, list)) or str(value).startswith("{")

    lines = [
        f"{key} = {value if is_literal(value) else repr(value)}" for key, value in fields.items()
    ]
    return "\n".join(
        [
            "[[job]]",
            'name = "job"',
            'program = "/bin/sh"',
            'library = "none"',
            f"arguments = ['-c', '''{script}''']",
            *lines,
        ]
    )


class Processes(unittest.TestCase):
    def test_a_process_is_found_during_execve(self) -> None:
        for number in range(40):
            mark = f"{os.getpid()}.{number}"
            child = subprocess.Popen(
                ["/bin/sh", "-c", "exec sh -c 'exec sleep 100'"],
                env={**os.environ, processes.MARK: mark},
            )
            try:
                for _ in range(30):
                    self.assertIn(child.pid, processes.find(mark))
            finally:
                child.send_signal(signal.SIGKILL)
                child.wait()

    def test_a_killed_process_is_gone_when_its_locks_are(self) -> None:
        """The kernel frees the memory of a killed process, which takes time, before its files."""
        mark = f"exiting.{os.getpid()}"
        script = (
            "import fcntl, sys, time\n"
            "fcntl.flock(sys.stdin, fcntl.LOCK_EX)\n"
            "kept = bytearray(b'x') * (512 << 20)\n"
            "print('ready', flush=True)\n"
            "time.sleep(1000)\n"
        )
        with tempfile.TemporaryFile() as file:
            with open(f"/proc/self/fd/{file.fileno()}", "rb") as source:
                child = subprocess.Popen(
                    [sys.executable, "-c", script],
                    stdin=source,
                    stdout=subprocess.PIPE,
                    env={**os.environ, processes.MARK: mark},
                )
            self.addCleanup(child.stdout.close)
            self.addCleanup(child.wait)
            self.assertEqual(child.stdout.readline(), b"ready\n")
            child.kill()
            self.assertEqual(processes.wait_until_gone(mark, 20), [])
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class RunJob(unittest.TestCase):
    def run_job(self, table: str, build: str = "") -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "jobs.toml")
            path.write_text(table, encoding="utf-8")
            where = [
                sys.executable,
                _RUN_JOB,
                "--table",
                path,
                "--build",
                build or folder,
                "--programs",
                folder,
            ]
            name = subprocess.run(
                [*where, "--list"], capture_output=True, text=True, check=True
            ).stdout.split()[0]
            done = subprocess.run(
                [*where, name],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        return done.returncode, done.stdout

    def expect(self, table: str, code: int, pattern: str, build: str = "") -> str:
        got, output = self.run_job(table, build)
        self.assertEqual(got, code, output)
        self.assertRegex(output, pattern)
        return output

    def test_a_good_job_passes(self) -> None:
        self.expect(shell('echo "test passed"'), 0, "test passed")

    @staticmethod
    def each_launcher() -> Iterator[tuple[str, str]]:
        """Yield the name of each installed launcher, and its variable with the rank."""
        for name, rank in (("mpirun", "OMPI_COMM_WORLD_RANK"), ("hydra", "PMI_RANK")):
            if shutil.which(launchers.LAUNCHERS[name].program):
                yield name, rank

    def test_a_good_job_passes_under_the_launcher(self) -> None:
        for name, _ in self.each_launcher():
            self.expect(
                shell('echo "test passed"', launcher=name, processes=3), 0, "(?s)(test passed.*){3}"
            )

    def test_one_process_without_output_fails_the_job(self) -> None:
        for name, rank in self.each_launcher():
            script = f'test "${rank}" = 1 || echo "test passed"'
            self.expect(
                shell(script, launcher=name, processes=3),
                1,
                "2 processes printed 'test passed', expected 3",
            )

    def test_the_launcher_returns_the_exit_code_of_a_process(self) -> None:
        for name, rank in self.each_launcher():
            script = f'test "${rank}" = 1 && exit 3; exit 0'
            self.expect(shell(script, launcher=name, processes=2, passes=0, exit=3), 0, "run-job: ")

    def test_a_job_may_fail_if_its_output_matches(self) -> None:
        self.expect(shell('echo "all is lost"; exit 3', may_fail="^all is lost"), 0, "run-job: ")
        self.expect(shell('echo "test passed"', may_fail="^all is lost"), 0, "run-job: ")
        self.expect(
            shell('echo "some is lost"; exit 3', may_fail="^all is lost"),
            1,
            "exit code 3, expected 0",
        )
        self.expect(
            shell('echo "all is lost"', may_fail="^all is lost"),
            1,
            "0 processes printed 'test passed'",
        )

    def test_processes_of_the_launcher_get_the_variables(self) -> None:
        for name, _ in self.each_launcher():
            table = shell('test "$A" = "b c" && echo "test passed"', launcher=name, processes=2)
            self.expect(table + '\nenvironment = { A = "b c" }', 0, "(?s)(test passed.*){2}")

    def test_a_transport_sets_its_variables(self) -> None:
        for name, _ in self.each_launcher():
            table = shell(
                'test "$INTERSESSION_PROVIDER" = sockets && echo "test passed"',
                launcher=name,
                processes=2,
                transport="sockets",
            )
            self.expect(table, 0, "(?s)(test passed.*){2}")
        self.expect(
            shell('test -z "$INTERSESSION_PROVIDER" && echo "test passed"'), 0, "test passed"
        )

    def test_a_missing_launcher_skips_the_job(self) -> None:
        with unittest.mock.patch.dict(os.environ, PATH="/nowhere"):
            self.expect(
                shell('echo "test passed"', launcher="hydra"),
                77,
                "skipped: mpiexec.hydra is not installed",
            )

    def run_under_slurm(self, script: str, **fields: object) -> tuple[int, str]:
        code, output = self.run_job(shell(script, launcher="slurm_pmi2", processes=2, **fields))
        if code == 77:
            self.skipTest(output)
        return code, output

    def test_a_good_job_passes_under_slurm(self) -> None:
        table = {"environment": '{ A = "b c" }'}
        script = (
            'echo "on $(hostname)"; test "$PMI_SIZE" = 2 && test "$A" = "b c" && echo "test passed"'
        )
        code, output = self.run_under_slurm(script, nodes=2, launch=["cyclic"], **table)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, "(?m)^on node0$")
        self.assertRegex(output, "(?m)^on node1$")

    def test_a_wrong_exit_code_under_slurm_is_reported(self) -> None:
        code, output = self.run_under_slurm('echo "test passed"; test "$PMI_RANK" = 0 || exit 3')
        self.assertEqual(code, 1, output)
        self.assertRegex(output, "exit code 3, expected 0")

    def test_hanging_job_under_slurm_leaves_no_daemon(self) -> None:
        code, output = self.run_under_slurm("sleep 1000; true", timeout=8)
        self.assertEqual(code, 1, output)
        self.assertEqual(len(re.findall("=== stacks of [0-9]+: sleep 1000", output)), 2, output)
        self.assertRegex(output, r"=== stacks of [0-9]+: \S*slurmctld")
        for pid in re.findall("=== stacks of ([0-9]+):", output):
            self.assert_gone(int(pid))

    def test_a_wrong_exit_code_is_reported(self) -> None:
        self.expect(shell('echo "test passed"; exit 3'), 1, "exit code 3, expected 0")
        self.expect(
            shell('echo "test passed"', exit="nonzero"),
            1,
            "exit code 0 where an error was expected",
        )
        self.expect(shell('echo "test passed"; exit 3', exit=3), 0, "test passed")

    def test_missing_and_forbidden_output_is_reported(self) -> None:
        script = 'echo one; echo "test passed"'
        self.expect(shell(script, output=["^two$"]), 1, r"not in the output: \^two\$")
        self.expect(shell(script, forbidden=["^one$"]), 1, r"must not be in the output: \^one\$")
        self.expect(shell(script, output=["^one$"], forbidden=["^two$"]), 0, "test passed")

    def test_lines_of_two_processes_in_one_are_separated(self) -> None:
        script = "printf 'test passedone\\ntest passed\\n\\ntwotest passed'"
        self.expect(shell(script, passes=3, output=["^one$", "^two$"]), 0, "test passed")
        self.expect(shell(script, passes=2), 1, "3 processes printed 'test passed', expected 2")

    def test_a_skipped_job_needs_a_reason(self) -> None:
        self.expect(shell("echo skipped: no such device; exit 77"), 77, "no such device")
        self.expect(shell("exit 77"), 1, "exit code 77, expected 0")

    def test_a_process_left_behind_is_reported_and_killed(self) -> None:
        output = self.expect(
            shell(
                'setsid sleep 1000 >/dev/null 2>&1 & echo $! is the one; echo "test passed"',
                timeout=2,
            ),
            1,
            "still running: [0-9]+: sleep 1000",
        )
        self.assert_gone(int(re.search("([0-9]+) is the one", output)[1]))

    def test_shared_memory_left_behind_is_reported(self) -> None:
        table = shell('touch /dev/shm/intersession.test.$$; echo "test passed"')
        self.addCleanup(self.remove_own_shared_memory)
        self.expect(table, 1, r"left behind: /dev/shm/intersession\.test\.[0-9]+")

    def test_shared_memory_that_no_next_job_can_remove_is_reported(self) -> None:
        self.addCleanup(self.remove_own_shared_memory)
        output = self.expect(
            shell("touch /dev/shm/intersession.test.$$; exit 3", exit=3, passes=0),
            1,
            r"this build has no program whose start removes /dev/shm/intersession\.test",
        )
        self.assertRegex(output, r"left behind: /dev/shm/intersession\.test\.[0-9]+")
        self.assertNotIn("Traceback", output)

    def test_a_next_job_that_fails_is_reported(self) -> None:
        self.addCleanup(self.remove_own_shared_memory)
        script = """D="$B/tests/mpi/openmpi/linked"; mkdir -p "$D" && cp /bin/false "$D/hello"
                    touch /dev/shm/intersession.test.$$; exit 3"""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(
            os.environ, B=folder
        ):
            self.expect(
                shell(script, exit=3, passes=0),
                1,
                "the next job ended with exit code 1",
                build=folder,
            )

    @staticmethod
    def remove_own_shared_memory() -> None:
        for path in pathlib.Path("/dev/shm").glob("intersession.test.*"):
            path.unlink()

    def test_hanging_job_is_killed_with_its_stacks_shown(self) -> None:
        script = "echo $$ is one; sleep 1000; true"
        for name, _ in self.each_launcher():
            output = self.expect(
                shell(script, launcher=name, processes=2, timeout=2), 1, "timed out after 2 s"
            )
            shells = [int(pid) for pid in re.findall("([0-9]+) is one", output)]
            self.assertEqual(len(shells), 2)
            for pid in shells:
                self.assertRegex(output, f"=== stacks of {pid}: /bin/sh")
                self.assert_gone(pid)
            self.assertEqual(len(re.findall("=== stacks of [0-9]+: sleep 1000", output)), 2)
            self.assertRegex(output, "#[0-9]+ .*nanosleep")

    def test_processes_of_mpirun_are_recognised(self) -> None:
        for own in (
            "1: mpirun.openmpi -n 2 program",
            "1: /usr/bin/orted -mca ess env",
            "1: sh -c  orted -mca ess env",
            "1: prterun --oversubscribe -n 2 program",
            "1: /bin/sh -c prted --prtemca ess env",
            "1:",
        ):
            self.assertTrue(runner.is_of_mpirun(own), own)
        for other in (
            "1: /build/tests/mpi/program mpirun",
            "1: sleep 1000",
            "1: sh -c program",
            "1: ./orted_program",
        ):
            self.assertFalse(runner.is_of_mpirun(other), other)

    def test_mpirun_that_does_not_end_after_a_death_is_killed(self) -> None:
        script = 'test "$OMPI_COMM_WORLD_RANK" = 4 && kill -9 $$; sleep 1; echo "test passed"'
        code, output = self.run_job(
            shell(
                script,
                launcher="mpirun",
                processes=5,
                nodes=2,
                launch=["continue_after_death"],
                passes=4,
                timeout=10,
            )
        )
        if code == 77:
            self.skipTest(output)
        self.assertEqual(code, 0, output)

    def run_on_nodes(self, script: str, launcher: str, **fields: object) -> tuple[int, str]:
        """Run two processes, each on its own node."""
        code, output = self.run_job(
            shell(
                script,
                launcher=launcher,
                processes=2,
                nodes=2,
                launch=["cyclic"],
                **fields,
            )
        )
        if code == 77:
            self.skipTest(output)
        return code, output

    def test_a_hanging_job_on_several_nodes_is_killed(self) -> None:
        daemons = {"mpirun": ("orted", 1), "hydra": ("\\S*hydra_pmi_proxy", 2)}
        for name, _ in self.each_launcher():
            code, output = self.run_on_nodes("sleep 1000; true", name, timeout=3)
            self.assertEqual(code, 1, output)
            daemon, count = daemons[name]
            self.assertEqual(len(re.findall("=== stacks of [0-9]+: sleep 1000", output)), 2, output)
            self.assertEqual(
                len(re.findall(f"=== stacks of [0-9]+: {daemon}", output)), count, output
            )
            self.assertRegex(output, "#[0-9]+ .*nanosleep")
            for pid in re.findall("=== stacks of ([0-9]+):", output):
                self.assert_gone(int(pid))

    def test_leftovers_on_other_nodes_are_reported(self) -> None:
        for name, _ in self.each_launcher():
            code, output = self.run_on_nodes(
                'touch /dev/shm/intersession.test; echo "test passed"', name
            )
            self.assertEqual(code, 1, output)
            self.assertRegex(output, "left behind: shared memory node1:/dev/shm/intersession.test")

    def test_a_user_without_privileges_can_run_a_job(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("this is the case anyway")
        nobody = (
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "env",
            "PYTHONDONTWRITEBYTECODE=1",
        )
        python = "/usr/bin/python3"  # every user may run this one
        if (
            subprocess.run(
                [*nobody, python, _RUN_JOB, "--help"], capture_output=True, check=False
            ).returncode
            != 0
        ):
            self.skipTest("others may not read the source")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            path = pathlib.Path(folder, "jobs.toml")
            path.write_text(
                shell('touch /dev/shm/intersession.test.$$; echo "test passed"'), encoding="utf-8"
            )
            self.addCleanup(self.remove_own_shared_memory)
            done = subprocess.run(
                [
                    *nobody,
                    python,
                    _RUN_JOB,
                    "--table",
                    path,
                    "--build",
                    folder,
                    "--programs",
                    folder,
                    "job.none.p1.none",
                ],
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"left behind: /dev/shm/intersession\.test")

    def assert_gone(self, pid: int) -> None:
        self.assertFalse(pathlib.Path(f"/proc/{pid}/exe").exists(), f"process {pid} still lives")


_BUILT = {"substrates": ["openmpi", "mpich"]}


class Tables(unittest.TestCase):
    def test_columns_multiply(self) -> None:
        made = jobs.expand(
            {
                "program": "p",
                "library": ["linked", "preloaded"],
                "processes": [1, 4],
                "nodes": [1, 3],
            },
            _BUILT,
        )
        self.assertEqual(len(made), 16)
        self.assertEqual(made[-1].name, "p.mpich.preloaded.p4.n3")

    def test_each_substrate_has_its_launcher(self) -> None:
        made = jobs.expand({"program": "p"}, _BUILT)
        self.assertEqual(
            [(job.substrate, job.launcher) for job in made],
            [("openmpi", "mpirun"), ("mpich", "hydra")],
        )
        made = jobs.expand({"program": "p", "launcher": "mpirun"}, _BUILT)
        self.assertEqual(
            [job.name for job in made], ["p.openmpi.linked.p1", "p.mpich.linked.p1.mpirun"]
        )

    def test_a_transport_is_in_the_name(self) -> None:
        made = jobs.expand(
            {"program": "p", "substrate": "mpich", "transport": ["auto", "fabric"]}, _BUILT
        )
        self.assertEqual(
            [job.name for job in made], ["p.mpich.linked.p1", "p.mpich.linked.p1.fabric"]
        )

    def test_jobs_for_absent_substrates_are_omitted(self) -> None:
        row = {"program": "p", "library": "none", "substrate": ["openmpi", "mpich"]}
        self.assertEqual(
            [job.name for job in jobs.expand(row, {"substrates": ["mpich"]})], ["p.mpich.none.p1"]
        )

    def test_a_program_without_mpi_has_no_substrate(self) -> None:
        self.assertEqual(
            [job.name for job in jobs.expand({"program": "p", "library": "none"}, _BUILT)],
            ["p.none.p1"],
        )

    def test_a_world_job_is_omitted_on_nodes_where_the_world_model_fails(self) -> None:
        made = jobs.expand({"program": "p", "nodes": [1, 2], "world": True}, _BUILT)
        self.assertEqual(
            [job.name for job in made],
            ["p.openmpi.linked.p1", "p.openmpi.linked.p1.n2", "p.mpich.linked.p1"],
        )

    def test_jobs_may_be_left_out_from_a_version_on(self) -> None:
        row = {"program": "p", "mpi_before": "openmpi 5"}
        for versions, expected in (
            ("openmpi@4.1.4;mpich@4.2.1", ["openmpi", "mpich"]),
            ("openmpi@5.0.7;mpich@4.2.1", ["mpich"]),
            ("openmpi;mpich", ["openmpi", "mpich"]),
        ):
            made = jobs.expand(row, jobs.substrates_from(versions))
            self.assertEqual([job.substrate for job in made], expected)

    def test_short_tests_alternate_substrates(self) -> None:
        row = {"program": "p", "processes": [2, 3], "nodes": [1, 2], "alternate_substrates": True}
        made = jobs.expand(row, _BUILT)
        self.assertEqual(len(made), 8)
        self.assertEqual(
            sorted(job.name for job in made if not job.long),
            [
                "p.mpich.linked.p2",
                "p.mpich.linked.p3.n2",
                "p.openmpi.linked.p2.n2",
                "p.openmpi.linked.p3",
            ],
        )
        over_one = jobs.expand(row, {"substrates": ["mpich"]})
        self.assertEqual([job.long for job in over_one], 4 * [False])

    def test_short_tests_of_several_rows_take_all_substrates(self) -> None:
        short = [
            job.substrate
            for name in "abcdef"
            for job in jobs.expand(
                {"program": "p", "name": name, "alternate_substrates": True}, _BUILT
            )
            if not job.long
        ]
        self.assertEqual(set(short), {"openmpi", "mpich"})
        self.assertEqual(len(short), 6)

    def test_all_jobs_of_a_long_row_are_long(self) -> None:
        made = jobs.expand({"program": "p", "processes": [1, 2], "long": True}, _BUILT)
        self.assertEqual([job.long for job in made], 4 * [True])

    def test_long_jobs_have_the_label_long(self) -> None:
        made = jobs.expand({"program": "p", "alternate_substrates": True}, _BUILT)
        dirs = commands.BuildDirs(pathlib.Path("programs"), pathlib.Path("build"))
        text = ctest.commands_for(made, "mpi.", pathlib.Path("t.toml"), dirs, "run-job")
        for job, line in zip(made, text.splitlines()[1::2]):
            self.assertIn(f"[==[mpi.{job.name}]==]", line)
            label = "mpi;mpi.t" + (";long" if job.long else "")
            self.assertIn(f"LABELS [==[{label}]==]", line)

    def test_words_are_filled_in(self) -> None:
        (job,) = jobs.expand(
            {
                "program": "p",
                "processes": 4,
                "arguments": ["{processes}", "{build}/x", "{other}"],
                "substrate": "mpich",
                "output": ["{processes} of {substrate}"],
                "environment": {"A": "{nodes}"},
            },
            dict(_BUILT, build="/b"),
        )
        self.assertEqual(job.apps[0].arguments, ["4", "/b/x", "{other}"])
        self.assertEqual((job.output, job.environment), (["4 of mpich"], {"A": "1"}))
        (job,) = jobs.expand(
            {"program": "{build}/bin/p", "name": "n", "library": "none"}, dict(_BUILT, build="/b")
        )
        self.assertEqual((job.name, job.apps[0].program), ("n.none.p1", "/b/bin/p"))

    def test_a_job_may_have_several_programs(self) -> None:
        job, _ = jobs.expand(
            {"apps": [{"program": "a", "processes": 2}, {"program": "b", "processes": 3}]}, _BUILT
        )
        self.assertEqual(
            (job.name, job.processes, job.expected_passes), ("a.openmpi.linked.p5", 5, 5)
        )

    def test_errors_in_a_table_are_reported(self) -> None:
        for row, text in (
            ({"program": "p", "library": "liked"}, "not liked"),
            ({"program": "p", "tiemout": 3}, "tiemout"),
            ({}, "no program"),
            ({"program": "p", "launcher": "none", "processes": 2}, "one process"),
            ({"program": "p", "apps": [{"program": "a"}]}, "either"),
            ({"program": "p", "transport": "pigeons"}, "not pigeons"),
            ({"program": "p", "substrate": "lam"}, "not lam"),
            ({"program": "p", "substrate": "none"}, "needs a substrate"),
            ({"program": "p", "launch": ["round"]}, "no word round"),
        ):
            with self.assertRaisesRegex(jobs.BadTable, text):
                jobs.expand(row, _BUILT)


if __name__ == "__main__":
    unittest.main()
