// SPDX-License-Identifier: BSD-3-Clause
// Questions whose answer is known when they are asked.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

template <typename T>
class Answered final : public Pending<T> {
 public:
  explicit Answered(T value) : value_(std::move(value)) {}
  base::Result<std::optional<T>> poll() override { return std::optional<T>(std::move(value_)); }

 private:
  T value_;
};

/// A question that nobody will ever answer: its asker's clock ends the wait.
template <typename T>
class Unanswered final : public Pending<T> {
 public:
  base::Result<std::optional<T>> poll() override { return std::optional<T>(); }
};

template <typename T>
std::unique_ptr<Pending<T>> answered(T value) {
  return std::make_unique<Answered<T>>(std::move(value));
}

}  // namespace shim::bootstrap
