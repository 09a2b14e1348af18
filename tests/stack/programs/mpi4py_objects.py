# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: pickled objects, buffers, a split, a reduction by a Python function, a topology."""
import communicator
from mpi4py import MPI


def main() -> None:
    comm = communicator.begin()
    rank, size = comm.Get_rank(), comm.Get_size()

    objects = comm.allgather({"rank": rank, "text": "x" * rank})
    expected = [{"rank": i, "text": "x" * i} for i in range(size)]
    communicator.check("error of gathered objects", objects != expected, 0)

    # Not commutative: the order of the ranks matters.
    joined = comm.allreduce(chr(ord("a") + rank), op=lambda left, right: left + right)
    communicator.check("error of a reduction by a Python function", joined != "abcd", 0)

    sent, received = bytearray([rank] * 100_000), bytearray(100_000)
    request = comm.Irecv(received, source=(rank - 1) % size, tag=1)
    comm.Send(sent, dest=(rank + 1) % size, tag=1)
    request.Wait()
    communicator.check(
        "error of a long message", received != bytes([(rank - 1) % size] * 100_000), 0
    )

    half = comm.Split(rank % 2, -rank)
    communicator.check("error of a split", half.Get_rank() != (0 if rank > 1 else 1), 0)
    half.Free()

    grid = comm.Create_cart([2, 2], periods=[True, False])
    source, target = grid.Shift(0, 1)
    from_source = grid.sendrecv(rank, dest=target, source=source)
    communicator.check("error of a shift in a grid", from_source != source, 0)
    grid.Free()

    total = bytearray(8)
    operation = MPI.Op.Create(_add, commute=True)
    comm.Allreduce([bytes([rank + 1] * 8), MPI.BYTE], [total, MPI.BYTE], op=operation)
    communicator.check("error of a reduction of a buffer", total != bytes([10] * 8), 0)
    operation.Free()
    communicator.end()


def _add(left: MPI.memory, right: MPI.memory, _: MPI.Datatype) -> None:
    for i, value in enumerate(left):
        right[i] += value


if __name__ == "__main__":
    main()
