// SPDX-License-Identifier: BSD-3-Clause
// PmixRequestTable keeps requests to the PMIx server until their responses arrive. Responses arrive
// on PMIx's thread at any time, or never.
#pragma once

#include <pmix_common.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/get_interlock.hpp"

namespace shim::bootstrap::pmix {

/// A response; the request determines which members are used.
struct PmixResponse {
  pmix_status_t status = PMIX_ERROR;
  Bytes bytes;
  std::string text;
  std::vector<pmix_proc_t> processes;
};

class PmixRequestTable;

/// A request. It owns its arguments, which PMIx reads until the response arrives, and lives until
/// the requester has dropped it and the response has arrived.
class PmixRequest {
 public:
  // Set these before sending the request, not afterwards.
  pmix_proc_t process{};
  std::string key;
  std::string qualifier;
  std::vector<pmix_proc_t> processes;
  std::vector<pmix_info_t> directives;
  std::vector<char*> keys;
  pmix_query_t query{};
  /// for a request about one process; released when the response arrives
  std::unique_ptr<GetInterlock::Guard> guard;

  /// Return the response, if it has arrived.
  std::optional<PmixResponse> take();
  /// Wait for the response for at most `seconds` (0: no limit).
  std::optional<PmixResponse> wait(double seconds);

 private:
  friend class PmixRequestTable;
  std::shared_ptr<PmixRequestTable> table_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<PmixResponse> response_;
};

/// Owns the open requests. Thread-safe.
class PmixRequestTable : public std::enable_shared_from_this<PmixRequestTable> {
 public:
  /// Create an open request; pass request.get() to PMIx as the callback's data.
  std::shared_ptr<PmixRequest> create();
  /// Deliver the response. Call it in PMIx's callback, or after a call of PMIx that has failed or
  /// completed at once and therefore has no callback.
  static void complete(void* request, PmixResponse response);
  /// Drop all open requests. Call it only after PMIx is finalized and cannot deliver any more.
  void abandon_all();

 private:
  std::mutex mutex_;
  std::unordered_map<PmixRequest*, std::shared_ptr<PmixRequest>> pending_;
};

/// Return a directive for PMIx with the value true.
pmix_info_t flag(const char* key);
/// Return a directive for PMIx with a text, which must outlive the request.
pmix_info_t text_directive(const char* key, const std::string& text);

}  // namespace shim::bootstrap::pmix
