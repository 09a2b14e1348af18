# SPDX-License-Identifier: BSD-3-Clause
# flake8: noqa: F405
"""Spack package of Intersession.

It builds the sources in which this file lies (`spack develop`, or `spack install
intersession@main` with the repository as `git`). See packaging/README.md.
"""
import pathlib

from spack.package import *  # noqa: F403  pylint: disable=wildcard-import

# The repository that contains this file.
_SOURCES = pathlib.Path(__file__).resolve().parents[4]


class Intersession(CMakePackage):
    """MPI-4 Sessions for MPI installations that have none: a library that is linked in front of
    Open MPI, or of a library with the ABI of MPICH, or preloaded into a program."""

    git = _SOURCES.as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("openmpi", default=True, description="Build the library for Open MPI")
    variant("mpich", default=False, description="Build the library for the ABI of MPICH")
    variant("tests", default=False, description="Add the target tests")

    conflicts("~openmpi~mpich", msg="Intersession needs an MPI library: +openmpi or +mpich")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("boost", type="build")
    depends_on("tl-expected", type="build")
    depends_on("openmpi@4.1:5", when="+openmpi")
    depends_on("mpich@3.4.1:5", when="+mpich")
    # Headers; the libraries are loaded when a job needs them.
    depends_on("pmix@4:")
    depends_on("libfabric@1.11:")
    depends_on("hwloc@2.4:")
    depends_on("openssl@1.1:", type="run")
    depends_on("googletest+gmock", type="build", when="+tests")

    generator("ninja")

    def cmake_args(self):
        over = [name for name in ("openmpi", "mpich") if self.spec.satisfies("+" + name)]
        return [
            self.define("Intersession_MPI", ";".join(self.spec[name].prefix for name in over)),
            self.define("INTERSESSION_OVER", ";".join(over)),
            self.define("INTERSESSION_BATCH", 20),
            self.define_from_variant("INTERSESSION_TESTS", "tests"),
        ]

    def setup_run_environment(self, env):
        env.set("INTERSESSION_ROOT", self.prefix)
