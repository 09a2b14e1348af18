// SPDX-License-Identifier: BSD-3-Clause
// Provides rigs for the conformance tests: several transports of one backend in one program.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "shim/transport/transport.hpp"

namespace shim::transport::testing {

/// Seconds after which a test of a transport ends its waits as failed.
inline constexpr double kTestSeconds = 40;

/// Several connected transports, each in the role of one process.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual int size() const = 0;
  virtual Transport& at(int number) = 0;
  /// Destroy one transport, as a process does that finalizes.
  virtual void close(int number) = 0;
};

/// A Rig that owns its transports and their shared memory or network.
class OwningRig final : public Rig {
 public:
  OwningRig(std::vector<std::unique_ptr<Transport>> transports,
            std::shared_ptr<void> owner = nullptr)
      : owner_(std::move(owner)), transports_(std::move(transports)) {}
  int size() const override { return static_cast<int>(transports_.size()); }
  Transport& at(int number) override { return *transports_[static_cast<std::size_t>(number)]; }
  void close(int number) override { transports_[static_cast<std::size_t>(number)].reset(); }

 private:
  std::shared_ptr<void> owner_;  // destroyed after the transports
  std::vector<std::unique_ptr<Transport>> transports_;
};

/// A backend under test. `make` returns null and a reason if this machine cannot run it.
struct Backend {
  std::string name;
  int largest = 8;  ///< most transports that can reach each other
  std::function<std::unique_ptr<Rig>(int size, std::string& reason)> make;
  bool may_be_missing = false;  ///< otherwise a backend that cannot run fails the test
};
inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

std::vector<Backend> all_backends();

/// Ignore leaks of `provider` if it is known to leak. Tests that use a libfabric provider call it.
void pass_over_leaks_of(const std::string& provider);

/// A sink that calls a function.
class CallSink final : public Sink {
 public:
  explicit CallSink(std::function<void(ConstSpan)> function) : function_(std::move(function)) {}
  bool on_packet(ConstSpan packet) override {
    function_(packet);
    return true;
  }

 private:
  std::function<void(ConstSpan)> function_;
};

/// Return bytes derived from a seed; each cache line of them differs.
inline std::vector<std::byte> body_of(std::uint64_t seed, std::size_t bytes) {
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  std::uint64_t value = seed * 0x9e3779b97f4a7c15u + 1;
  for (auto& word : words) word = value = value * 6364136223846793005u + 1442695040888963407u;
  std::vector<std::byte> body(bytes);
  if (bytes > 0) std::memcpy(body.data(), words.data(), bytes);
  return body;
}

template <typename T>
ConstSpan bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace shim::transport::testing
