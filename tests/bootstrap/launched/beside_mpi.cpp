// SPDX-License-Identifier: BSD-3-Clause
// Opens Bootstraps before, during and after the time in which the native MPI library of the same
// process is connected to the launcher. Each function with a string argument is a scenario.
#include <mpi.h>

#include "tests/bootstrap/launched/scenario.hpp"

namespace {

using namespace shim::bootstrap;
using namespace shim::bootstrap::launched;

/// MPI_Init and MPI_Finalize as the interposition layer calls them.
void start_world() {
  if (!lifetime()) lifetime() = make_process_lifetime(*launch_env());
  if (lifetime()) lifetime()->before_mpi_init({});
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  if (lifetime()) lifetime()->after_mpi_init();
}
void end_world() {
  if (lifetime()) lifetime()->before_mpi_finalize(30);
  MPI_Finalize();
  if (lifetime()) lifetime()->after_mpi_finalize();
}

/// Publish a value under `key`, read the values of all processes, and enter a fence of all.
void meet(Bootstrap& self, const std::string& key) {
  const std::uint32_t me = self.job().rank, size = self.job().size;
  publish(self, key, key + std::to_string(me));
  for (std::uint32_t rank = 0; rank < size; ++rank)
    CHECK(look_up(self, rank, key) == key + std::to_string(rank));
  fence_all(self);
}

/// True if MPI_COMM_WORLD may exchange messages: on one node, or not under hydra. With MPICH 4.0.2
/// over UCX's TCP, a quarter of the jobs hang in MPI_Finalize once processes of two nodes have
/// exchanged messages, without this library, too (docs/decisions/0021-mpich-between-nodes.md). The
/// tests here only need the MPI library's connection to the launcher.
bool may_send_messages() {
  const char* on_this_node = std::getenv("MPI_LOCALNRANKS");  // set by hydra
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return on_this_node == nullptr || std::atoi(on_this_node) == size;
}

void allreduce() {
  if (!may_send_messages()) return;
  int one = 1, sum = 0, size = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(sum == size);
}

/// One Bootstrap is open before, during and after MPI.
void around(const std::string&) {
  auto self = open();
  meet(*self, "before");
  start_world();
  meet(*self, "beside");
  allreduce();
  end_world();
  meet(*self, "after");
}

/// Bootstraps are opened and closed before, during and after MPI.
void each(const std::string&) {
  auto visit = [](const char* key) {
    auto self = open();
    meet(*self, key);
  };
  visit("first");
  visit("second");
  start_world();
  visit("third");
  allreduce();
  visit("fourth");
  end_world();
  visit("fifth");
  visit("sixth");
}

/// MPI starts first, and commits its own values before the Bootstrap commits any.
void second(const std::string&) {
  start_world();
  auto self = open();
  allreduce();
  meet(*self, "one");
  meet(*self, "two");
  self.reset();
  allreduce();
  end_world();
}

/// One thread initializes, uses and finalizes MPI while another opens and closes Bootstraps.
void at_once(const std::string& rounds) {
  lifetime() = make_process_lifetime(*launch_env());
  std::thread world([] {
    start_world();
    for (int i = 0; i < 20; ++i) allreduce();
    end_world();
  });
  for (int round = 0; round < std::stoi(rounds); ++round) {
    auto self = open();
    const std::uint32_t me = self->job().rank, neighbour = (me + 1) % self->job().size;
    const std::string key = "k" + std::to_string(round);
    publish(*self, key, key + std::to_string(me));
    CHECK(look_up(*self, neighbour, key) == key + std::to_string(neighbour));
  }
  world.join();
  auto self = open();
  meet(*self, "afterwards");
}

/// As at_once, but both threads also publish and look up names at the launcher.
void names(const std::string&) {
  lifetime() = make_process_lifetime(*launch_env());
  std::thread world([] {
    start_world();
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 50; ++i) {
      const std::string name = "world." + std::to_string(rank) + "." + std::to_string(i),
                        port = "port" + name;
      char found[MPI_MAX_PORT_NAME] = {};
      CHECK(MPI_Publish_name(name.c_str(), MPI_INFO_NULL, port.c_str()) == MPI_SUCCESS);
      CHECK(MPI_Lookup_name(name.c_str(), MPI_INFO_NULL, found) == MPI_SUCCESS);
      CHECK(port == found);
      CHECK(MPI_Unpublish_name(name.c_str(), MPI_INFO_NULL, port.c_str()) == MPI_SUCCESS);
    }
    end_world();
  });
  for (int round = 0; round < 50; ++round) {
    auto self = open();
    const std::string key = "n" + std::to_string(round);
    publish(*self, key, std::string(2000, 'x'));
    CHECK(look_up(*self, self->job().rank, key).size() == 2000);
  }
  world.join();
}

/// MPI without a Bootstrap finalizes as the launcher expects.
void world_alone(const std::string&) {
  start_world();
  allreduce();
  end_world();
}

/// Print the time of each call; with `order` mpi_first, MPI_Init precedes the Bootstrap.
void measure(const std::string& order) {
  using shim::base::now_ns;
  const auto begin = now_ns();
  if (order == "mpi_first") start_world();
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
  if (order != "mpi_first") start_world();
  const auto end = now_ns();
  allreduce();
  if (self->job().rank == 0) {
    auto ms = [](auto from, auto to) { return static_cast<double>(to - from) / 1e6; };
    std::printf("open %.2f publish %.3f lookup %.3f again %.3f fence %.3f MPI_Init %.1f ms\n",
                ms(before_open, opened), ms(opened, published), ms(published, looked),
                ms(looked, looked_again), ms(looked_again, fenced),
                order == "mpi_first" ? ms(begin, before_open) : ms(fenced, end));
  }
  end_world();
}

}  // namespace

int main(int argc, char** argv) {
  return run({{"around", around},
              {"each", each},
              {"second", second},
              {"measure", measure},
              {"at_once", at_once},
              {"names", names},
              {"world_alone", world_alone}},
             argc, argv);
}
