// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Waitany and MPI_Testany, which complete one request of an array (MPI-4.1 §3.7.5).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/request/request_batch.hpp"

namespace shim::intercept {
namespace {

/// Result of one poll of an array.
struct AnyResult {
  bool found = false;
  int index = MPI_UNDEFINED;  ///< MPI_UNDEFINED if no request is active
  int code = MPI_SUCCESS;     ///< of the operation; its handler has run
  bool is_pending = false;    ///< true if it has not been completed
};

AnyResult complete_any_of_ours(const char* function, const RequestBatch& batch,
                               MPI_Request* requests, MPI_Status* status) {
  for (const auto& [index, object] : batch.ours()) {
    if (is_inactive(*object) || !is_ready(*object)) continue;
    return {true, index, finish(complete_request(*object, &requests[index], status), function)};
  }
  return {};
}

/// Return a request that a failure keeps from completing. Its handle stays.
AnyResult find_any_pending(const char* function, const RequestBatch& batch) {
  const auto position = batch.first_pending();
  const FailurePtr pending = position ? slow::pending_failure(*batch.ours()[*position].object)
                                      : nullptr;
  if (pending == nullptr) return {};
  return {true, batch.ours()[*position].index, finish(pending, function), true};
}

AnyResult complete_any(const char* function, RequestBatch& batch, MPI_Request* requests,
                       MPI_Status* status) {
  AnyResult result = complete_any_of_ours(function, batch, requests, status);
  if (result.found) return result;
  auto native = batch.native().test_any(status);
  if (native && *native != MPI_UNDEFINED) {
    batch.native().put_back(requests);
    return {true, *native, batch.native().code()};
  }
  if (native && !batch.has_active()) {
    abi::write_empty_status(status);
    return {true};
  }
  return find_any_pending(function, batch);
}

}  // namespace

namespace impl {

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  constexpr const char* kName = "MPI_Waitany";
  if (index == nullptr) return fail(Subject(), kName, slow::no_output("index"));
  RequestBatch batch;
  if (auto added = batch.add(count, requests); !added)
    return fail(batch.subject(), kName, added.error());
  AnyResult result;
  auto waited = batch.wait_until(
      [&] { return (result = complete_any(kName, batch, requests, status)).found; });
  if (!waited) return fail(Subject(), kName, waited.error());
  *index = result.index;
  return result.code;
}

int Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  constexpr const char* kName = "MPI_Testany";
  if (index == nullptr) return fail(Subject(), kName, slow::no_output("index"));
  if (flag == nullptr) return fail(Subject(), kName, slow::no_output("flag"));
  RequestBatch batch;
  if (auto added = batch.add(count, requests); !added)
    return fail(batch.subject(), kName, added.error());
  auto moved = batch.progress();
  if (!moved) return fail(Subject(), kName, moved.error());
  AnyResult result = complete_any(kName, batch, requests, status);
  *flag = result.found && !result.is_pending;
  *index = result.index;
  return result.code;
}

}  // namespace impl
}  // namespace shim::intercept
