// SPDX-License-Identifier: BSD-3-Clause
// ValueStore holds published values in this process's memory, for backends without a launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "shim/bootstrap/pending.hpp"

namespace shim::bootstrap {

/// Thread-safe. Pending look-ups keep the store alive.
class ValueStore : public std::enable_shared_from_this<ValueStore> {
 public:
  /// Store a value, replacing an earlier value of this key.
  void put(std::uint32_t rank, std::string_view key, std::span<const std::byte> value) {
    std::lock_guard lock(mutex_);
    values_[{rank, std::string(key)}] = Bytes(value.begin(), value.end());
  }

  std::optional<Bytes> get(std::uint32_t rank, std::string_view key) const {
    std::lock_guard lock(mutex_);
    auto found = values_.find({rank, std::string(key)});
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Return a request that completes once the value is stored.
  std::unique_ptr<Pending<Bytes>> look_up(std::uint32_t rank, std::string_view key) {
    return std::make_unique<StoreLookup>(shared_from_this(), rank, std::string(key));
  }

 private:
  class StoreLookup final : public Pending<Bytes> {
   public:
    StoreLookup(std::shared_ptr<const ValueStore> store, std::uint32_t rank, std::string key)
        : store_(std::move(store)), rank_(rank), key_(std::move(key)) {}
    base::Result<std::optional<Bytes>> poll() override { return store_->get(rank_, key_); }

   private:
    std::shared_ptr<const ValueStore> store_;
    std::uint32_t rank_;
    std::string key_;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::uint32_t, std::string>, Bytes> values_;
};

}  // namespace shim::bootstrap
