// SPDX-License-Identifier: BSD-3-Clause
// Boost.MPI: collectives and messages of serialized objects, and a reduction by a C++ function.
#include <boost/mpi.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <map>
#include <string>
#include <vector>

#include "communicator.h"

namespace mpi = boost::mpi;

// Not commutative, so the order of the ranks matters.
static std::string joined(const std::string& left, const std::string& right) {
  return left + right;
}

static void check(MPI_Comm handle) {
  const mpi::communicator comm(handle, mpi::comm_attach);
  const int rank = comm.rank(), size = comm.size();

  std::string all;
  mpi::all_reduce(comm, std::string(1 + rank, static_cast<char>('a' + rank)), all, joined);
  stack_check("error of a reduction of strings", all == "abbcccdddd" ? 0 : 1, 0);

  std::map<std::string, std::vector<double>> sent, received;
  sent["rank"] = std::vector<double>(1000, rank);
  mpi::request requests[] = {comm.isend((rank + 1) % size, 1, sent),
                             comm.irecv((rank + size - 1) % size, 1, received)};
  mpi::wait_all(requests, requests + 2);
  const std::vector<double> expected(1000, (rank + size - 1) % size);
  stack_check("error of a message with a map", received["rank"] == expected ? 0 : 1, 0);

  std::vector<std::vector<int>> gathered;
  mpi::gather(comm, std::vector<int>(rank, rank), gathered, 0);
  int wrong = 0;
  for (int i = 0; i < static_cast<int>(gathered.size()); i++) {
    wrong += gathered[i] != std::vector<int>(i, i);
  }
  stack_check("wrong vectors of a gather", wrong, 0);

  const mpi::communicator half = comm.split(rank % 2);
  const int sum = mpi::all_reduce(half, rank, std::plus<int>());
  stack_check("error of a sum in half of the processes", std::abs(sum - (rank % 2 ? 4 : 2)), 0);
}

int main() {
  check(stack_begin());
  return stack_end();
}
