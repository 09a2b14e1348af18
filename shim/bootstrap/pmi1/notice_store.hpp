// SPDX-License-Identifier: BSD-3-Clause
// Notices over the launcher's name service.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shim/bootstrap/notice_board.hpp"
#include "shim/bootstrap/pmi1/connection.hpp"

namespace shim::bootstrap::pmi1 {

/// Publishes a value under (rank, key), in as many parts as the launcher's limit asks for. Waits for each answer, `seconds` at most.
/// Errors: other (no answer in time; the launcher refuses, as hydra does for a name that is there).
base::Status publish_value(Use& use, const JobFacts& facts, std::uint32_t rank, std::string_view key, std::span<const std::byte> value,
                           double seconds);

/// Asks one question after the other, like all searches of a process.
class NamedNotices final : public NoticeStore {
 public:
  /// The facts outlive it.
  NamedNotices(const std::shared_ptr<Use>& use, const JobFacts& facts, double seconds) : use_(use), facts_(facts), seconds_(seconds) {}

  base::Status put(const Name& name, std::span<const std::byte> value) override;
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) override;

 private:
  base::Result<std::optional<Bytes>> find(const Name& name, Use& use) const;

  const std::weak_ptr<Use> use_;
  const JobFacts& facts_;
  const double seconds_;
};

}  // namespace shim::bootstrap::pmi1
