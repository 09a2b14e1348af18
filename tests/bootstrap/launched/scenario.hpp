// SPDX-License-Identifier: BSD-3-Clause
// Provides helpers for the launched tests of this module: checks that end the process, and
// functions that wait for responses.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/resolve_node_map.hpp"

namespace shim::bootstrap::launched {

#define CHECK(condition)                                                         \
  if (!(condition)) {                                                            \
    std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                                \
  }

template <typename T>
T must(base::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "unexpected error: %s\n", result.error().text().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Return the lifetime object of this process, destroyed at the end of the program.
inline std::unique_ptr<ProcessLifetime>& lifetime() {
  static std::unique_ptr<ProcessLifetime> kept;
  return kept;
}

/// Return the launch environment at the time of the first call.
inline std::shared_ptr<const LaunchEnv> launch_env() {
  static const auto read = read_launch_env();
  return read;
}

/// True if INTERSESSION_BOOTSTRAP is pmix. In the library, the interposition layer reads it.
inline bool pmix_everywhere() {
  const char* value = std::getenv("INTERSESSION_BOOTSTRAP");
  return value != nullptr && std::string_view(value) == "pmix";
}

inline std::unique_ptr<Bootstrap> open() {
  auto self = must(open_bootstrap({.ready_timeout_s = 20,
                                   .lifetime = &lifetime(),
                                   .env = launch_env(),
                                   .pmix_everywhere = pmix_everywhere()}));
  must(resolve_node_map(*self));
  return self;
}

template <typename T>
T result_of(std::unique_ptr<Pending<T>> pending, double seconds = 20) {
  const auto deadline = base::Deadline::after_seconds(seconds);
  while (true) {
    auto answer = must(pending->poll());
    if (answer) return std::move(*answer);
    CHECK(!deadline.passed());
    std::this_thread::yield();
  }
}

inline void publish(Bootstrap& self, std::string_view key, std::string_view value) {
  must(self.publish(key, std::as_bytes(std::span(value.data(), value.size()))));
}

inline std::string look_up(Bootstrap& self, std::uint32_t rank, std::string_view key) {
  const Bytes bytes = result_of(must(self.lookup(rank, key)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline void fence_all(Bootstrap& self) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < self.job().size; ++rank) all.push_back(rank);
  result_of(must(self.fence(all)));
}

inline std::uint32_t number_from(const char* variable) {
  const char* text = std::getenv(variable);
  CHECK(text != nullptr);
  return static_cast<std::uint32_t>(std::atoi(text));
}

using Scenarios = std::map<std::string, std::function<void(const std::string& argument)>>;

/// program SCENARIO [ARGUMENT]
inline int run(const Scenarios& scenarios, int argc, char** argv) {
  auto found = scenarios.find(argc > 1 ? argv[1] : "");
  if (found == scenarios.end()) {
    std::fprintf(stderr, "no such scenario\n");
    return 2;
  }
  found->second(argc > 2 ? argv[2] : "");
  std::puts("test passed");
  return 0;
}

}  // namespace shim::bootstrap::launched
