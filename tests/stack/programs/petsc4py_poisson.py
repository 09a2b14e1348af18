# SPDX-License-Identifier: BSD-3-Clause
"""petsc4py: conjugate gradients solve a one-dimensional Poisson equation."""
import math
import sys

import communicator
import petsc4py
from mpi4py import MPI

_POINTS = 200


def _exact(index: int) -> float:
    return math.sin(math.pi * (index + 1) / (_POINTS + 1))


def _solve(comm: MPI.Comm) -> None:
    from petsc4py import PETSc  # after petsc4py.init

    matrix = PETSc.Mat().createAIJ([_POINTS, _POINTS], nnz=3, comm=comm)
    solution, right = matrix.createVecs()
    eigenvalue = 2 - 2 * math.cos(math.pi / (_POINTS + 1))
    first, end = matrix.getOwnershipRange()
    for row in range(first, end):
        for column in range(max(row - 1, 0), min(row + 2, _POINTS)):
            matrix[row, column] = 2 if row == column else -1
        # The exact solution is an eigenvector.
        right[row] = eigenvalue * _exact(row)
    matrix.assemble()
    right.assemble()

    solver = PETSc.KSP().create(comm)
    solver.setOperators(matrix)
    solver.setType("cg")
    solver.getPC().setType("jacobi")
    solver.setTolerances(rtol=1e-12, max_it=1000)
    solver.solve(right, solution)
    communicator.check("no convergence", solver.getConvergedReason() <= 0, 0)
    values = solution.getArray(readonly=True)
    errors = [abs(values[i] - _exact(first + i)) for i in range(end - first)]
    communicator.check("error of the solution", max(errors), 1e-8)


def main() -> None:
    comm = communicator.begin()
    petsc4py.init(sys.argv, comm=comm)
    _solve(comm)  # its objects are freed before PETSc ends
    from petsc4py import PETSc

    PETSc._finalize()
    communicator.end()


if __name__ == "__main__":
    main()
