// SPDX-License-Identifier: BSD-3-Clause
// Provides helpers for the tests of the PMI-1 backend.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "shim/bootstrap/pmi1/backend.hpp"
#include "shim/bootstrap/pmi1/process_lifetime.hpp"
#include "tests/bootstrap/helpers.hpp"
#include "tests/bootstrap/pmi1_server.hpp"

namespace shim::bootstrap::pmi1::testing {

using bootstrap::testing::bytes_of;
using bootstrap::testing::error_of;
using bootstrap::testing::must;
using bootstrap::testing::text_of;

/// One process of the job: its ProcessLifetime, and functions that open Bootstraps.
struct Process {
  Process(FakeServer& server, std::uint32_t rank)
      : env(server.env(rank)), lifetime(std::make_unique<PersistentConnection>(env)) {}
  base::Result<std::unique_ptr<Bootstrap>> try_open(double seconds = 10) {
    return Backend::open(env, {.ready_timeout_s = seconds, .lifetime = &lifetime});
  }
  std::unique_ptr<Bootstrap> open() { return must(try_open()); }

  PmiEnv env;
  std::unique_ptr<ProcessLifetime> lifetime;
};

template <typename T>
base::Result<T> result_of(Pending<T>& pending, double seconds = 10) {
  const auto deadline = base::Deadline::after_seconds(seconds);
  while (!deadline.passed()) {
    auto answer = pending.poll();
    if (!answer) return std::move(answer).error();
    if (*answer) return std::move(**answer);
    std::this_thread::yield();
  }
  return base::Error(base::ErrorClass::other, "the test's clock has run out");
}

inline std::string look_up(Bootstrap& self, std::uint32_t rank, std::string_view key) {
  auto pending = must(self.lookup(rank, key));
  return text_of(must(result_of(*pending)));
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
