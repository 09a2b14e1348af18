// SPDX-License-Identifier: BSD-3-Clause
// Defines requests that are complete from the start, and requests that never complete.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

template <typename T>
class CompletedRequest final : public Pending<T> {
 public:
  explicit CompletedRequest(T value) : value_(std::move(value)) {}
  base::Result<std::optional<T>> poll() override { return std::optional<T>(std::move(value_)); }

 private:
  T value_;
};

/// A request that never completes; the caller's deadline ends the wait.
template <typename T>
class NeverCompleted final : public Pending<T> {
 public:
  base::Result<std::optional<T>> poll() override { return std::optional<T>(); }
};

template <typename T>
std::unique_ptr<Pending<T>> completed(T value) {
  return std::make_unique<CompletedRequest<T>>(std::move(value));
}

}  // namespace shim::bootstrap
