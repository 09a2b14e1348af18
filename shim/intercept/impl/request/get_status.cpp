// SPDX-License-Identifier: BSD-3-Clause
// Tests several requests of either library without completing them, MPI-4.1 §3.7.6.
#include <algorithm>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/request/request_batch.hpp"

namespace shim::intercept {
namespace {

/// A complete request: its index in the user's array, and the source of its status.
struct StatusQuery {
  int index;
  const RequestObject* ours;  ///< null: the substrate's
  std::size_t number;         ///< index among the substrate's
};

/// State of an array after one round of progress in both libraries.
class StatusSnapshot {
 public:
  static base::Result<StatusSnapshot> at(int count, const MPI_Request* requests) {
    RequestBatch batch;
    SHIM_TRY(batch.add(count, requests));
    SHIM_TRY(batch.progress());
    return StatusSnapshot(std::move(batch));
  }
  /// Return the complete ones in the order of the array, without inactive ones.
  const std::vector<StatusQuery>& found() const { return found_; }
  /// True if a request is active. The substrate's inactive requests count as active, because the
  /// substrate does not distinguish them from complete ones.
  bool has_active() const { return batch_.has_active() || batch_.native().size() != 0; }
  bool all_ready() const { return all_ready_; }
  const RequestBatch& batch() const { return batch_; }

  FailurePtr write(const StatusQuery& found, MPI_Status* status) const {
    if (found.ours != nullptr) return peek(*found.ours, status);
    if (status != MPI_STATUS_IGNORE) {
      int error = status->MPI_ERROR;  // not set by these calls: they complete nothing
      *status = batch_.native().status_of(found.number);
      status->MPI_ERROR = error;
    }
    return nullptr;
  }

 private:
  explicit StatusSnapshot(RequestBatch batch) : batch_(std::move(batch)) {
    for (const auto& [index, object] : batch_.ours()) {
      if (is_inactive(*object)) continue;
      if (is_ready(*object))
        found_.push_back({index, object, 0});
      else
        all_ready_ = false;
    }
    for (std::size_t i = 0; i < batch_.native().size(); ++i) {
      if (batch_.native().is_ready(i))
        found_.push_back({batch_.native().index_of(i), nullptr, i});
      else
        all_ready_ = false;
    }
    std::sort(found_.begin(), found_.end(),
              [](const StatusQuery& a, const StatusQuery& b) { return a.index < b.index; });
  }
  RequestBatch batch_;
  std::vector<StatusQuery> found_;
  bool all_ready_ = true;
};

}  // namespace

namespace impl {

int Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                           MPI_Status* status) {
  FailurePtr failure;
  int code = run_with_handler(Subject(), "MPI_Request_get_status_any", [&]() -> base::Status {
    SHIM_TRY(check_output(index, "index"));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(StatusSnapshot snapshot, StatusSnapshot::at(count, requests));
    *flag = !snapshot.found().empty() || !snapshot.has_active();
    *index = snapshot.found().empty() ? MPI_UNDEFINED : snapshot.found()[0].index;
    if (!snapshot.found().empty())
      failure = snapshot.write(snapshot.found()[0], status);
    else if (*flag)
      abi::write_empty_status(status);
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(failure, "MPI_Request_get_status_any");
}

int Request_get_status_all(int count, const MPI_Request requests[], int* flag,
                           MPI_Status* statuses) {
  FailurePtr failure;
  int code = run_with_handler(Subject(), "MPI_Request_get_status_all", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(StatusSnapshot snapshot, StatusSnapshot::at(count, requests));
    *flag = snapshot.all_ready();
    if (!*flag || statuses == MPI_STATUSES_IGNORE) return {};
    for (int i = 0; i < count; ++i)
      if (requests[i] == abi::predefined.request_null) abi::write_empty_status(&statuses[i]);
    for (const auto& ours : snapshot.batch().ours())
      if (is_inactive(*ours.object)) abi::write_empty_status(&statuses[ours.index]);
    for (const StatusQuery& found : snapshot.found())
      if (FailurePtr one = snapshot.write(found, &statuses[found.index]);
          one != nullptr && failure == nullptr)
        failure = std::move(one);
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(failure, "MPI_Request_get_status_all");
}

int Request_get_status_some(int count, const MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status* statuses) {
  FailurePtr failure;
  int code = run_with_handler(Subject(), "MPI_Request_get_status_some", [&]() -> base::Status {
    SHIM_TRY(check_output(outcount, "number of completed requests"));
    SHIM_TRY_ASSIGN(StatusSnapshot snapshot, StatusSnapshot::at(count, requests));
    if (count > 0) SHIM_TRY(check_output(indices, "indices"));
    *outcount = snapshot.has_active() ? static_cast<int>(snapshot.found().size()) : MPI_UNDEFINED;
    for (std::size_t i = 0; i < snapshot.found().size(); ++i) {
      indices[i] = snapshot.found()[i].index;
      FailurePtr one = snapshot.write(snapshot.found()[i],
                                      abi::status_at(statuses, static_cast<int>(i)));
      if (one != nullptr && failure == nullptr) failure = std::move(one);
    }
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(failure, "MPI_Request_get_status_some");
}

}  // namespace impl

// Also used if all requests are the substrate's.
namespace composed {

int Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                           MPI_Status* status) {
  return impl::Request_get_status_any(count, requests, index, flag, status);
}
int Request_get_status_all(int count, const MPI_Request requests[], int* flag,
                           MPI_Status* statuses) {
  return impl::Request_get_status_all(count, requests, flag, statuses);
}
int Request_get_status_some(int incount, const MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status* statuses) {
  return impl::Request_get_status_some(incount, requests, outcount, indices, statuses);
}

}  // namespace composed
}  // namespace shim::intercept
