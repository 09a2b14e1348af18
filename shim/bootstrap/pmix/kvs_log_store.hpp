// SPDX-License-Identifier: BSD-3-Clause
// PublishedLogStore stores log entries with PMIx_Publish and PMIx_Lookup. PMIx_Put does not
// suffice: PMIx_Get needs the writer's rank, and a reader of the log does not know which process
// has put a flag (kvs_log.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shim/bootstrap/kvs_log.hpp"
#include "shim/bootstrap/pmix/library.hpp"
#include "shim/bootstrap/pmix/requests.hpp"

namespace shim::bootstrap::pmix {

/// Waits for each response of the server for at most `seconds`. Looks names up one by one: asked
/// for several names at once, Open MPI 4.1's server returns only one of the values it has; of
/// several concurrent requests it loses some (docs/decisions/0022-pmix-requests.md). A request that
/// stays open for long is sent again.
class PublishedLogStore final : public KvsLogStore {
 public:
  PublishedLogStore(const PmixLibrary& library, std::shared_ptr<PmixRequestTable> requests,
                    std::string job, double seconds)
      : library_(library),
        requests_(std::move(requests)),
        job_(std::move(job)),
        seconds_(seconds) {}

  base::Status put(const Name& name, std::span<const std::byte> value) override;
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) override;

 private:
  std::string key_of(const Name& name) const;
  std::shared_ptr<PmixRequest> send_lookup(const Name& name);
  /// Return the response; nothing on timeout.
  std::optional<PmixResponse> look_up(const Name& name);
  base::Error error_of(pmix_status_t status, const std::string& what) const;

  const PmixLibrary library_;
  const std::shared_ptr<PmixRequestTable> requests_;
  /// part of every key, because the server stores values of all jobs of a session
  const std::string job_;
  const double seconds_;
};

}  // namespace shim::bootstrap::pmix
