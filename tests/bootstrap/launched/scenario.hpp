// SPDX-License-Identifier: BSD-3-Clause
// What the launched tests of this room share: checks that end the process, and waiting for answers.
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
#include "shim/bootstrap/settle_node_map.hpp"

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

/// Let go of when the program ends.
inline std::unique_ptr<ProcessLife>& life() {
  static std::unique_ptr<ProcessLife> kept;
  return kept;
}

/// As of the first call.
inline std::shared_ptr<const LaunchEnv> launch_env() {
  static const auto read = read_launch_env();
  return read;
}

/// INTERSESSION_BOOTSTRAP, which the border reads for others.
inline bool pmix_everywhere() {
  const char* value = std::getenv("INTERSESSION_BOOTSTRAP");
  return value != nullptr && std::string_view(value) == "pmix";
}

inline std::unique_ptr<Bootstrap> open() {
  auto self = must(open_bootstrap({.ready_timeout_s = 20,
                                   .life = &life(),
                                   .env = launch_env(),
                                   .pmix_everywhere = pmix_everywhere()}));
  must(settle_node_map(*self));
  return self;
}

template <typename T>
T answer_of(std::unique_ptr<Pending<T>> question, double seconds = 20) {
  const auto deadline = base::Deadline::after_seconds(seconds);
  while (true) {
    auto answer = must(question->poll());
    if (answer) return std::move(*answer);
    CHECK(!deadline.passed());
    std::this_thread::yield();
  }
}

inline void publish(Bootstrap& self, std::string_view key, std::string_view value) {
  must(self.publish(key, std::as_bytes(std::span(value.data(), value.size()))));
}

inline std::string look_up(Bootstrap& self, std::uint32_t rank, std::string_view key) {
  const Bytes bytes = answer_of(must(self.lookup(rank, key)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline void fence_all(Bootstrap& self) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < self.job().size; ++rank) all.push_back(rank);
  answer_of(must(self.fence(all)));
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
