// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the PMI-1 backend share.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "shim/bootstrap/pmi1/backend.hpp"
#include "shim/bootstrap/pmi1/process_life.hpp"
#include "tests/bootstrap/helpers.hpp"
#include "tests/bootstrap/pmi1_server.hpp"

namespace shim::bootstrap::pmi1::testing {

using bootstrap::testing::bytes_of;
using bootstrap::testing::error_of;
using bootstrap::testing::must;
using bootstrap::testing::text_of;

/// One process of the job: what lives as long as the process, and Bootstraps on it.
struct Process {
  Process(FakeServer& server, std::uint32_t rank)
      : surroundings(server.surroundings(rank)), life(std::make_unique<KeptConnection>(surroundings)) {}
  base::Result<std::unique_ptr<Bootstrap>> try_open(double seconds = 10) {
    return Backend::open(surroundings, {.ready_timeout_s = seconds, .life = &life});
  }
  std::unique_ptr<Bootstrap> open() { return must(try_open()); }

  Surroundings surroundings;
  std::unique_ptr<ProcessLife> life;
};

template <typename T>
base::Result<T> answer_of(Pending<T>& question, double seconds = 10) {
  const auto deadline = base::Deadline::after_seconds(seconds);
  while (!deadline.passed()) {
    auto answer = question.poll();
    if (!answer) return std::move(answer).error();
    if (*answer) return std::move(**answer);
    std::this_thread::yield();
  }
  return base::Error(base::ErrorClass::other, "the test's clock has run out");
}

inline std::string look_up(Bootstrap& self, std::uint32_t rank, std::string_view key) {
  auto question = must(self.lookup(rank, key));
  return text_of(must(answer_of(*question)));
}

inline bool eventually(const std::function<bool()>& condition, double seconds = 10) {
  const auto deadline = base::Deadline::after_seconds(seconds);
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace shim::bootstrap::pmi1::testing
