// SPDX-License-Identifier: BSD-3-Clause
// Scenarios for processes that a real launcher starts and that never call MPI.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <set>

#include "tests/base/thread_count.hpp"
#include "tests/bootstrap/launched/scenario.hpp"

namespace {

using namespace shim::bootstrap;
using namespace shim::bootstrap::launched;

bool is_loaded(const char* library) { return ::dlopen(library, RTLD_NOW | RTLD_NOLOAD) != nullptr; }

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The name of the Bootstrap under a launcher, and the environment variables that describe a
/// process.
struct Names {
  const char *backend, *rank, *size, *local_rank, *local_size;
};
const std::map<std::string, Names> kNames = {
    {"mpirun",
     {"pmix", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE"}},
    {"hydra", {"pmi1", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}}};

/// argument: the launcher and the number of nodes, e.g. hydra/3.
void facts(const std::string& launcher_and_nodes) {
  CHECK(!is_loaded("libpmix.so.2"));
  const auto slash = launcher_and_nodes.find('/');
  const Names& names = kNames.at(launcher_and_nodes.substr(0, slash));
  const std::string nodes = launcher_and_nodes.substr(slash + 1);
  auto self = open();
  CHECK(self->name() ==
        (names.backend == std::string_view("pmix") && nodes == "1" && !pmix_everywhere()
             ? "mpirun"
             : names.backend));
  CHECK(self->job().rank == number_from(names.rank));
  CHECK(self->job().size == number_from(names.size));
  const NodeMap& map = self->node_map();
  CHECK(map.node_count() == static_cast<std::uint32_t>(std::stoi(nodes)));
  CHECK(map.size() == self->job().size);
  const auto node = map.node_of(self->job().rank);
  CHECK(nodes == "1" || map.host(node) == host_name());
  CHECK(map.local_rank(self->job().rank) == number_from(names.local_rank));
  CHECK(map.ranks_on(node).size() == number_from(names.local_size));
  CHECK(self->app_numbers().empty());
  CHECK(must(self->named_sets()).empty());
}

/// argument: the application number of this process.
void applications(const std::string& number) {
  auto self = open();
  CHECK(self->job().size == 3 && self->node_map().size() == 3);
  if (self->name() == "pmi1") {  // PMI-1 does not report other processes' applications
    CHECK(self->app_numbers().empty());
    return;
  }
  CHECK(self->app_numbers().size() == self->job().size);
  CHECK(self->app_numbers()[self->job().rank] == static_cast<std::uint32_t>(std::stoi(number)));
  CHECK(std::set<std::uint32_t>(self->app_numbers().begin(), self->app_numbers().end()).size() ==
        2);
}

std::string value_of(std::uint32_t rank, int round) {
  // values of odd ranks exceed the launcher's small messages
  return "value " + std::to_string(rank) + "/" + std::to_string(round) +
         std::string(rank % 2 == 0 ? 0 : 3000, 'x');
}

/// Each process reads the values of all processes without a fence, including its own value and
/// values of its node.
void exchange(const std::string&) {
  auto self = open();
  publish(*self, "k", value_of(self->job().rank, 0));
  for (std::uint32_t rank = 0; rank < self->job().size; ++rank)
    CHECK(look_up(*self, rank, "k") == value_of(rank, 0));
  CHECK(self->counts().publishes == 1 && self->counts().lookups == self->job().size);
  publish(*self, "nothing", "");
  CHECK(look_up(*self, (self->job().rank + 1) % self->job().size, "nothing").empty());
  fence_all(*self);
}

/// Each process reads the entries of all writers, including the entries that an earlier Bootstrap
/// of a process appended.
void kvs_log(const std::string&) {
  auto self = open();
  const std::uint32_t me = self->job().rank, size = self->job().size;
  const auto append = [&](int round) {
    const std::string text = value_of(me, round);
    must(self->append_log(std::as_bytes(std::span(text.data(), text.size()))));
  };
  const auto expect = [&](const std::function<int(std::uint32_t)>& appended_by) {
    std::map<std::uint32_t, int> found;
    for (const LogEntry& entry : must(self->read_log())) {
      const std::string wanted = value_of(entry.writer, found[entry.writer]++);
      CHECK(entry.bytes.size() == wanted.size() &&
            std::memcmp(entry.bytes.data(), wanted.data(), wanted.size()) == 0);
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) CHECK(found[rank] == appended_by(rank));
  };
  expect([](std::uint32_t) { return 0; });
  fence_all(*self);
  if (me == size - 1) append(0), append(1);
  fence_all(*self);
  expect([&](std::uint32_t rank) { return rank == size - 1 ? 2 : 0; });
  fence_all(*self);
  if (me != size - 1) append(0), append(1);
  self.reset();
  self = open();
  append(2);
  fence_all(*self);
  expect([](std::uint32_t) { return 3; });
  fence_all(*self);
}

/// Processes publish a second key after other processes have looked it up without result.
void late(const std::string&) {
  auto self = open();
  const std::uint32_t me = self->job().rank, size = self->job().size;
  publish(*self, "first", value_of(me, 1));
  CHECK(look_up(*self, (me + 1) % size, "first") == value_of((me + 1) % size, 1));
  auto pending = must(self->lookup((me + 1) % size, "second"));
  for (int i = 0; i < 5; ++i) {
    CHECK(!must(pending->poll()).has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  fence_all(*self);  // all processes have looked the key up without result
  publish(*self, "second", value_of(me, 2));
  CHECK(result_of(std::move(pending)).size() == value_of((me + 1) % size, 2).size());
  for (std::uint32_t rank = 0; rank < size; ++rank)
    CHECK(look_up(*self, rank, "second") == value_of(rank, 2));
  fence_all(*self);
}

/// Each process opens and closes Bootstraps in a row and publishes a different key in each. Values
/// of closed Bootstraps remain available.
void again(const std::string& rounds) {
  for (int round = 0; round < std::stoi(rounds); ++round) {
    auto self = open();
    const std::uint32_t me = self->job().rank, neighbour = (me + 1) % self->job().size;
    publish(*self, "k" + std::to_string(round), value_of(me, round));
    CHECK(look_up(*self, neighbour, "k" + std::to_string(round)) == value_of(neighbour, round));
    CHECK(look_up(*self, neighbour, "k0") == value_of(neighbour, 0));
    fence_all(*self);
  }
}

/// Two processes enter fences of their own while the others are idle.
void subset(const std::string&) {
  auto self = open();
  const std::uint32_t me = self->job().rank, size = self->job().size;
  CHECK(size >= 3);
  if (me == 1) return;
  const std::array<std::uint32_t, 2> forth = {0, size - 1}, back = {size - 1, 0};
  if (me != 0 && me != size - 1) return;
  if (auto fence = self->fence(forth);
      !fence) {  // PMI 1.1 has none; the error names the alternative
    CHECK(self->name() == "pmi1");
    CHECK(fence.error().text().find("INTERSESSION_EXCHANGE=modex") != std::string::npos);
    return;
  } else {
    result_of(std::move(*fence));
  }
  for (int round = 0; round < 20; ++round) {
    publish(*self, "r" + std::to_string(round), value_of(me, round));
    result_of(must(self->fence(me == 0 ? forth : back)));
    const std::uint32_t other = me == 0 ? size - 1 : 0;
    CHECK(look_up(*self, other, "r" + std::to_string(round)) == value_of(other, round));
  }
}

/// Under mpirun on one node no process connects to the launcher or loads PMIx.
void unconnected(const std::string&) {
  auto self = open();
  exchange("");
  CHECK(!self->has_lost_launcher());
  CHECK(self->counts().connections == 0);
  CHECK(shim::base::thread_count() == 1);
  CHECK(!is_loaded("libpmix.so.2"));
}

/// As `unconnected`, with another process between mpirun and every second process.
void wrapped(const std::string&) {
  if (number_from("OMPI_COMM_WORLD_RANK") % 2 == 1 && std::getenv("WRAPPED") == nullptr) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("WRAPPED", "1", 1);
      ::execl("/proc/self/exe", "launched", "wrapped", nullptr);
      ::_exit(1);
    }
    int status = 0;
    CHECK(::waitpid(child, &status, 0) == child && status == 0);
    std::exit(0);
  }
  unconnected("");
}

/// Look-ups of missing values can be destroyed before and after the Bootstrap.
void dropped(const std::string&) {
  auto self = open();
  std::vector<std::unique_ptr<Pending<Bytes>>> lookups;
  for (std::uint32_t rank = 0; rank < self->job().size; ++rank)
    for (int i = 0; i < 10; ++i) {
      lookups.push_back(must(self->lookup(rank, "never")));
      CHECK(!must(lookups.back()->poll()).has_value());
      if (i % 2 == 0) lookups.pop_back();
    }
  fence_all(*self);
  self.reset();
}

void threads(const std::string&) {
  auto self = open();
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker)
    workers.emplace_back([&self, worker] {
      const std::uint32_t me = self->job().rank, size = self->job().size;
      for (int round = 0; round < 10; ++round) {
        const std::string key = std::to_string(worker) + "." + std::to_string(round);
        publish(*self, key, value_of(me, round));
        const std::uint32_t other = (me + static_cast<std::uint32_t>(round)) % size;
        CHECK(look_up(*self, other, key) == value_of(other, round));
      }
    });
  for (auto& worker : workers) worker.join();
  fence_all(*self);
}

auto entries_of(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

/// A Bootstrap leaves the environment unchanged, and a second Bootstrap starts no further thread.
/// After the last one has closed, PMIx may keep a thread and descriptors; over PMI-1 none remain.
void nothing_left(const std::string&) {
  const auto descriptors = entries_of("/proc/self/fd");
  CHECK(shim::base::thread_count() == 1);
  auto self = open();
  fence_all(*self);
  CHECK(std::getenv("PMIX_MCA_gds") == nullptr);
  const bool is_pmix = self->name() == "pmix";
  const auto while_open = shim::base::thread_count();
  for (int round = 0; round < 5; ++round) {
    fence_all(*self);
    self.reset();
    CHECK(is_pmix || (shim::base::wait_for_thread_count(1) == 1 &&
                      entries_of("/proc/self/fd") == descriptors));
    self = open();
  }
  CHECK(shim::base::wait_for_thread_count(while_open) == while_open);
}

void aborted(const std::string&) {
  auto self = open();
  fence_all(*self);
  if (self->job().rank == 0) self->abort(7, "the test wants it");
  while (true) ::pause();
}

/// Started without a launcher, with the environment of a job whose daemons have exited.
void gone(const std::string&) {
  const auto begin = shim::base::now_ns();
  auto self = open_bootstrap({.ready_timeout_s = 5});
  CHECK(!self);
  CHECK(self.error().text().find("cannot reach the launcher") != std::string::npos);
  CHECK(self.error().text().find("PMIX_NAMESPACE") != std::string::npos);
  CHECK(shim::base::now_ns() - begin < 5'000'000'000);
}

/// Started without a launcher, with PMI-1 variables that name no server. argument: the variable
/// that the error must name.
void dead(const std::string& variable) {
  const auto begin = shim::base::now_ns();
  auto self = open_bootstrap({.ready_timeout_s = 5});
  CHECK(!self);
  CHECK(self.error().text().find(variable) != std::string::npos);
  CHECK(self.error().text().find("unset PMI_") != std::string::npos);
  CHECK(shim::base::now_ns() - begin < 5'000'000'000);
}

void alone(const std::string&) {
  auto self = open();
  CHECK(self->name() == "singleton");
  CHECK(!is_loaded("libpmix.so.2"));
}

/// The daemon of this node is stopped while the Bootstrap opens, and continues before a second
/// attempt.
void stopped(const std::string&) {
  const pid_t daemon = ::getppid();
  const pid_t resumer = ::fork();
  if (resumer == 0) {  // resumes the launcher even if the test fails
    ::sleep(10);
    ::kill(daemon, SIGCONT);
    ::_exit(0);
  }
  CHECK(::kill(daemon, SIGSTOP) == 0);
  auto refused = open_bootstrap(
      {.ready_timeout_s = 0.5, .lifetime = &lifetime(), .pmix_everywhere = true});
  CHECK(!refused);
  CHECK(refused.error().text().find("has not answered ") != std::string::npos);
  ::kill(daemon, SIGCONT);
  ::kill(resumer, SIGKILL);
  CHECK(::waitpid(resumer, nullptr, 0) == resumer);
  auto self = open();
  publish(*self, "k", "v");
}

}  // namespace

int main(int argc, char** argv) {
  return run({{"facts", facts},
              {"applications", applications},
              {"exchange", exchange},
              {"kvs_log", kvs_log},
              {"late", late},
              {"again", again},
              {"subset", subset},
              {"unconnected", unconnected},
              {"wrapped", wrapped},
              {"dropped", dropped},
              {"threads", threads},
              {"nothing_left", nothing_left},
              {"aborted", aborted},
              {"gone", gone},
              {"dead", dead},
              {"alone", alone},
              {"stopped", stopped}},
             argc, argv);
}
