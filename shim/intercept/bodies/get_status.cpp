// SPDX-License-Identifier: BSD-3-Clause
// Looking at several requests without completing them, MPI-4.1 §3.7.6: ours, the substrate's, and both in one array.
#include <algorithm>

#include "shim/intercept/bodies/mixed.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

/// A request that is complete: its place in the user's array, and what to write of it.
struct Found {
  int index;
  const RequestObject* ours;  ///< null: the substrate's
  std::size_t number;         ///< of the substrate's
};

/// One look at an array, after a round of progress on both sides.
class Look {
 public:
  static base::Result<Look> at(int count, const MPI_Request* requests) {
    Batch batch;
    SHIM_TRY(batch.add(count, requests));
    SHIM_TRY(batch.progress());
    return Look(std::move(batch));
  }
  /// The complete ones in the order of the array. Inactive ones are none of them.
  const std::vector<Found>& found() const { return found_; }
  /// The substrate does not tell its inactive requests from complete ones: they count as active.
  bool has_active() const { return batch_.has_active() || batch_.native().size() != 0; }
  bool all_ready() const { return all_ready_; }
  const Batch& batch() const { return batch_; }

  Ending write(const Found& found, MPI_Status* status) const {
    if (found.ours != nullptr) return peek(*found.ours, status);
    if (status != MPI_STATUS_IGNORE) {
      int error = status->MPI_ERROR;  // not set by these calls: they complete nothing
      *status = batch_.native().status_of(found.number);
      status->MPI_ERROR = error;
    }
    return nullptr;
  }

 private:
  explicit Look(Batch batch) : batch_(std::move(batch)) {
    for (const auto& [index, object] : batch_.ours()) {
      if (is_inactive(*object)) continue;
      if (is_ready(*object)) found_.push_back({index, object, 0});
      else all_ready_ = false;
    }
    for (std::size_t i = 0; i < batch_.native().size(); ++i) {
      if (batch_.native().is_ready(i)) found_.push_back({batch_.native().index_of(i), nullptr, i});
      else all_ready_ = false;
    }
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.index < b.index; });
  }
  Batch batch_;
  std::vector<Found> found_;
  bool all_ready_ = true;
};

}  // namespace

namespace ours {

int Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Ending ending;
  int code = deliver(Subject(), "MPI_Request_get_status_any", [&]() -> base::Status {
    SHIM_TRY(check_output(index, "index"));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(Look look, Look::at(count, requests));
    *flag = !look.found().empty() || !look.has_active();
    *index = look.found().empty() ? MPI_UNDEFINED : look.found()[0].index;
    if (!look.found().empty()) ending = look.write(look.found()[0], status);
    else if (*flag) abi::write_empty_status(status);
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(ending, "MPI_Request_get_status_any");
}

int Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status* statuses) {
  Ending ending;
  int code = deliver(Subject(), "MPI_Request_get_status_all", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(Look look, Look::at(count, requests));
    *flag = look.all_ready();
    if (!*flag || statuses == MPI_STATUSES_IGNORE) return {};
    for (int i = 0; i < count; ++i)
      if (requests[i] == abi::predefined.request_null) abi::write_empty_status(&statuses[i]);
    for (const auto& ours : look.batch().ours())
      if (is_inactive(*ours.object)) abi::write_empty_status(&statuses[ours.index]);
    for (const Found& found : look.found())
      if (Ending one = look.write(found, &statuses[found.index]); one != nullptr && ending == nullptr) ending = std::move(one);
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(ending, "MPI_Request_get_status_all");
}

int Request_get_status_some(int count, const MPI_Request requests[], int* outcount, int indices[], MPI_Status* statuses) {
  Ending ending;
  int code = deliver(Subject(), "MPI_Request_get_status_some", [&]() -> base::Status {
    SHIM_TRY(check_output(outcount, "number of completed requests"));
    SHIM_TRY_ASSIGN(Look look, Look::at(count, requests));
    if (count > 0) SHIM_TRY(check_output(indices, "indices"));
    *outcount = look.has_active() ? static_cast<int>(look.found().size()) : MPI_UNDEFINED;
    for (std::size_t i = 0; i < look.found().size(); ++i) {
      indices[i] = look.found()[i].index;
      Ending one = look.write(look.found()[i], abi::status_at(statuses, static_cast<int>(i)));
      if (one != nullptr && ending == nullptr) ending = std::move(one);
    }
    return {};
  });
  return code != MPI_SUCCESS ? code : finish(ending, "MPI_Request_get_status_some");
}

}  // namespace ours

// Where all requests are the substrate's, too.
namespace below {

int Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  return ours::Request_get_status_any(count, requests, index, flag, status);
}
int Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status* statuses) {
  return ours::Request_get_status_all(count, requests, flag, statuses);
}
int Request_get_status_some(int incount, const MPI_Request requests[], int* outcount, int indices[], MPI_Status* statuses) {
  return ours::Request_get_status_some(incount, requests, outcount, indices, statuses);
}

}  // namespace below
}  // namespace shim::intercept
