// SPDX-License-Identifier: BSD-3-Clause
// What the conformance tests need of a backend: several of its transports in one program.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "shim/transport/transport.hpp"

namespace shim::transport::testing {

/// Several transports that can reach each other, each as if it were a process.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual int size() const = 0;
  virtual Transport& at(int number) = 0;
  /// Destroys one transport, as a process that ends does.
  virtual void close(int number) = 0;
};

/// A Rig that owns its transports and whatever they stand on.
class OwningRig final : public Rig {
 public:
  OwningRig(std::vector<std::unique_ptr<Transport>> transports, std::shared_ptr<void> ground = nullptr)
      : ground_(std::move(ground)), transports_(std::move(transports)) {}
  int size() const override { return static_cast<int>(transports_.size()); }
  Transport& at(int number) override { return *transports_[static_cast<std::size_t>(number)]; }
  void close(int number) override { transports_[static_cast<std::size_t>(number)].reset(); }

 private:
  std::shared_ptr<void> ground_;  // destroyed after the transports
  std::vector<std::unique_ptr<Transport>> transports_;
};

/// A backend under test. `make` answers null and a reason where this machine cannot run it.
struct Backend {
  std::string name;
  int largest = 8;  ///< most transports that can reach each other
  std::function<std::unique_ptr<Rig>(int size, std::string& reason)> make;
  bool may_be_missing = false;  ///< else a backend that cannot run is a failure
};
inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

std::vector<Backend> all_backends();

/// To be called by tests that use a provider of libfabric: leaks of those known to be forgetful are passed over.
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

/// Bytes that follow from a seed, each line of them different.
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
