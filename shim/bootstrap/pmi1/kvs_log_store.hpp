// SPDX-License-Identifier: BSD-3-Clause
// NameServiceLogStore stores log entries in the launcher's name service.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shim/bootstrap/kvs_log.hpp"
#include "shim/bootstrap/pmi1/connection.hpp"

namespace shim::bootstrap::pmi1 {

/// Publish a value under (rank, key), in as many parts as the launcher's limit requires. Waits for
/// each response for at most `seconds`. Errors: other (no response in time; rejected by the
/// launcher, as hydra does for an existing name).
base::Status publish_value(ProxyLease& use, const JobFacts& facts, std::uint32_t rank,
                           std::string_view key, std::span<const std::byte> value, double seconds);

/// Sends one request after the other, like all searches of a process.
class NameServiceLogStore final : public KvsLogStore {
 public:
  /// The facts outlive this object.
  NameServiceLogStore(const std::shared_ptr<ProxyLease>& use, const JobFacts& facts, double seconds)
      : use_(use), facts_(facts), seconds_(seconds) {}

  base::Status put(const Name& name, std::span<const std::byte> value) override;
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) override;

 private:
  base::Result<std::optional<Bytes>> find(const Name& name, ProxyLease& use) const;

  const std::weak_ptr<ProxyLease> use_;
  const JobFacts& facts_;
  const double seconds_;
};

}  // namespace shim::bootstrap::pmi1
