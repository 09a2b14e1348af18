// SPDX-License-Identifier: BSD-3-Clause
// A Bootstrap before, beside and after the MPI library's own use of PMIx in the same process.
#include <mpi.h>

#include "tests/bootstrap/launched/scenario.hpp"

namespace {

using namespace shim::bootstrap;
using namespace shim::bootstrap::launched;

void meet(Bootstrap& self, const std::string& key) {
  const std::uint32_t me = self.job().rank, size = self.job().size;
  publish(self, key, key + std::to_string(me));
  for (std::uint32_t rank = 0; rank < size; ++rank) CHECK(look_up(self, rank, key) == key + std::to_string(rank));
  fence_all(self);
}

void allreduce() {
  int one = 1, sum = 0, size = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(sum == size);
}

/// One Bootstrap that sees MPI come and go.
void around(const std::string&) {
  auto self = open();
  meet(*self, "before");
  MPI_Init(nullptr, nullptr);
  meet(*self, "beside");
  allreduce();
  MPI_Finalize();
  meet(*self, "after");
}

/// Bootstraps that come and go before, beside and after MPI.
void each(const std::string&) {
  auto visit = [](const char* key) {
    auto self = open();
    meet(*self, key);
  };
  visit("first");
  visit("second");
  MPI_Init(nullptr, nullptr);
  visit("third");
  allreduce();
  visit("fourth");
  MPI_Finalize();
  visit("fifth");
  visit("sixth");
}

/// MPI first; it has committed values of its own before ours.
void second(const std::string&) {
  MPI_Init(nullptr, nullptr);
  auto self = open();
  allreduce();
  meet(*self, "one");
  meet(*self, "two");
  self.reset();
  allreduce();
  MPI_Finalize();
}

/// Only some of the processes are in the world of MPI's, if any ever: the others never call it.
void measure(const std::string& order) {
  using shim::base::now_ns;
  const auto begin = now_ns();
  if (order == "mpi_first") MPI_Init(nullptr, nullptr);
  const auto before_open = now_ns();
  auto self = open();
  const auto opened = now_ns();
  publish(*self, "k", "v");
  const auto published = now_ns();
  const std::uint32_t other = (self->job().rank + self->job().size / 2) % self->job().size;
  look_up(*self, other, "k");
  const auto looked = now_ns();
  look_up(*self, other, "k");
  const auto looked_again = now_ns();
  fence_all(*self);
  const auto fenced = now_ns();
  if (order != "mpi_first") MPI_Init(nullptr, nullptr);
  const auto end = now_ns();
  MPI_Barrier(MPI_COMM_WORLD);
  if (self->job().rank == 0) {
    auto ms = [](auto from, auto to) { return static_cast<double>(to - from) / 1e6; };
    std::printf("open %.2f publish %.3f lookup %.3f again %.3f fence %.3f MPI_Init %.1f ms\n", ms(before_open, opened),
                ms(opened, published), ms(published, looked), ms(looked, looked_again), ms(looked_again, fenced),
                order == "mpi_first" ? ms(begin, before_open) : ms(fenced, end));
  }
  MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  return run({{"around", around}, {"each", each}, {"second", second}, {"measure", measure}}, argc, argv);
}
