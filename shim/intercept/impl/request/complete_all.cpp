// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Waitall and related calls on all requests of an array (MPI-4.1 §3.7.5, §3.7.6).
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/request/request_batch.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Result of a call; the statuses have the details (MPI-4.1 §3.7.5).
struct AllResult {
  int failed = 0;  ///< requests whose error handler has not been called
  bool native_failed = false;
  CommReference on;  ///< of the first failed request
  std::string first_text;

  int finish(const char* function) const {
    if (failed != 0)
      return fail(on, function,
                  Error(ErrorClass::in_status,
                        std::to_string(failed) + " operations failed, the first: " + first_text));
    return native_failed ? abi::code_of(ErrorClass::in_status) : MPI_SUCCESS;
  }
};

/// True if release_in_batch() may release it.
bool can_release_in_batch(const RequestObject& object) {
  return object.polled == nullptr &&
         (object.request == nullptr || !object.request->is_persistent());
}

/// Completed requests that leave the handle table under one lock, and then their engine under one.
class ReleaseBatch {
 public:
  static constexpr int kMost = RequestBatch::kUsual;
  ~ReleaseBatch() {
    eraser_.reset();
    p2p::Engine::release({requests_, number_});
  }
  void add(RequestObject& object, MPI_Request& handle) {
    p2p::Request* const request = object.request;
    if (eraser_->erase(object, std::exchange(handle, abi::predefined.request_null)) &&
        request != nullptr)
      requests_[number_++] = request;
  }

 private:
  std::optional<RequestTable::Eraser> eraser_{std::in_place, objects.requests};
  p2p::Request* requests_[kMost];
  std::size_t number_ = 0;
};

/// True if a ready request has succeeded, so that only its status is reported.
bool has_succeeded(const RequestObject& object) {
  return object.request == nullptr || object.request->error() == nullptr;
}

/// Release the requests that were read; all others have a null object here.
void release_in_batch(std::span<const RequestBatch::Ours> ours, MPI_Request* handles) {
  ReleaseBatch ended;
  for (const auto& [index, object] : ours)
    if (object != nullptr) ended.add(*object, handles[index]);
}

/// Release successful requests in one pass and set their objects to null. Skipped for arrays larger
/// than one batch: an erroneous program that passes a handle twice would cause a read of a released
/// request.
void release_successful(RequestBatch::AllOurs& ours, MPI_Request* handles, MPI_Status* statuses) {
  if (ours.size() > ReleaseBatch::kMost) return;
  ReleaseBatch ended;
  for (auto& [index, object] : ours) {
    if (!can_release_in_batch(*object) || !has_succeeded(*object)) [[unlikely]]
      continue;
    abi::write_status(abi::status_at(statuses, index), outcome_of(*object));
    ended.add(*std::exchange(object, nullptr), handles[index]);
  }
}

/// Release `count` requests in one pass, up to the first that is pending or has failed; true if
/// there is none. Polled requests are not queried: they may call the native library, and the
/// table's lock may be held.
bool release_up_to_first(int count, MPI_Request* handles) {
  ReleaseBatch ended;
  for (int i = 0; i < count; ++i) {
    RequestObject* const object = objects.requests.find(handles[i]);
    if (object == nullptr || !can_release_in_batch(*object) || !is_ready(*object) ||
        !has_succeeded(*object))
      return false;
    ended.add(*object, handles[i]);
  }
  return true;
}

/// Handle the common case without statuses. If it returns false, because a request is pending or a
/// handle is invalid, the requests released so far are already null.
bool release_completed(int count, MPI_Request* handles, const MPI_Status* statuses) {
  if (statuses != MPI_STATUSES_IGNORE || handles == nullptr || count <= 0) return false;
  for (int first = 0; first < count; first += ReleaseBatch::kMost)
    if (!release_up_to_first(std::min(count - first, ReleaseBatch::kMost), handles + first))
      return false;
  return true;
}

void complete_ours(RequestBatch::AllOurs& ours, MPI_Request* requests, MPI_Status* statuses,
                   AllResult& result, std::vector<int>& codes) {
  release_successful(ours, requests, statuses);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    auto& [index, object] = ours[i];
    if (object == nullptr) [[likely]]
      continue;
    FailurePtr failure;
    if (can_release_in_batch(*object))
      failure = read_result(*object, abi::status_at(statuses, index));
    else
      failure = complete_request(*std::exchange(object, nullptr), &requests[index],
                                 abi::status_at(statuses, index));
    if (failure == nullptr) [[likely]]
      continue;
    codes.resize(ours.size(), MPI_SUCCESS);
    codes[i] = failure->code;
    if (failure->is_raised)
      result.native_failed = true;
    else if (result.failed++ == 0) {
      result.on = failure->on;
      result.first_text = "request " + std::to_string(index) + ": " + failure->text;
    }
  }
  constexpr std::size_t kMost = ReleaseBatch::kMost;
  for (std::size_t first = 0; first < ours.size(); first += kMost)
    release_in_batch({&ours[first], std::min(kMost, ours.size() - first)}, requests);
}

void write_null_statuses(int count, const MPI_Request* requests, MPI_Status* statuses) {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < count; ++i)
    if (requests[i] == abi::predefined.request_null) abi::write_empty_status(&statuses[i]);
}

/// Write the error fields, which are significant only if an operation failed, and then all are.
/// @param codes of our requests; empty if none failed
void write_errors(const RequestBatch& batch, const std::vector<int>& codes, int count,
                  MPI_Status* statuses, bool native_failed) {
  if (statuses == MPI_STATUSES_IGNORE) return;
  if (!native_failed)
    for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
  for (std::size_t i = 0; i < batch.ours().size(); ++i)
    statuses[batch.ours()[i].index].MPI_ERROR = codes.empty() ? MPI_SUCCESS : codes[i];
}

/// Read all results; our requests are ready, and the substrate's have been completed.
int finish_all(const char* function, RequestBatch& batch, int count, MPI_Request* requests,
               MPI_Status* statuses) {
  AllResult result;
  std::vector<int> codes;
  write_null_statuses(count, requests, statuses);
  if (!batch.native().is_empty()) {
    batch.native().put_back(requests);
    batch.native().put_statuses(statuses);
  }
  // last: a callback of the user may throw
  complete_ours(batch.ours(), requests, statuses, result, codes);
  bool native_failed = batch.native().code() != MPI_SUCCESS;
  result.native_failed = result.native_failed || native_failed;
  if (result.failed != 0 || result.native_failed)
    write_errors(batch, codes, count, statuses, native_failed);
  return result.finish(function);
}

/// End a call with a request that cannot complete because of a failure. Our completed requests stay
/// for later calls (MPI-4.1 §3.7.5: MPI_ERR_PENDING); the substrate's, if they have been completed,
/// are stored back. Return nothing and change nothing if the request can complete after all.
std::optional<int> stop_for_pending(const char* function, RequestBatch& batch, std::size_t position,
                                    int count, MPI_Request* requests, MPI_Status* statuses) {
  const RequestBatch::Ours ours = batch.ours()[position];
  const FailurePtr pending = slow::pending_failure(*ours.object);
  if (pending == nullptr) return std::nullopt;
  batch.native().put_back(requests);
  if (statuses != MPI_STATUSES_IGNORE) {
    for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = abi::code_of(ErrorClass::pending);
    batch.native().put_statuses_of_completed(statuses);
    statuses[ours.index].MPI_ERROR = pending->code;
  }
  return fail(
      pending->on, function,
      Error(ErrorClass::in_status, "request " + std::to_string(ours.index) + ": " + pending->text));
}

/// True once all are ready; checks again only those that were not.
class AllReady {
 public:
  explicit AllReady(const RequestBatch& batch) : ours_(batch.ours()) {}
  bool operator()() {
    while (first_not_ready_ < ours_.size() && is_ready(*ours_[first_not_ready_].object))
      ++first_not_ready_;
    return first_not_ready_ == ours_.size();
  }

 private:
  const RequestBatch::AllOurs& ours_;
  std::size_t first_not_ready_ = 0;
};

}  // namespace

namespace impl {

int Waitall(int count, MPI_Request requests[], MPI_Status* statuses) {
  constexpr const char* kName = "MPI_Waitall";
  if (release_completed(count, requests, statuses)) return MPI_SUCCESS;
  RequestBatch batch;
  if (auto added = batch.add(count, requests); !added)
    return fail(batch.subject(), kName, added.error());
  bool native_done = batch.native().is_empty();
  AllReady ours_done(batch);
  std::optional<std::size_t> pending;
  auto all_done = [&] {
    const bool are_ours_done = ours_done();
    // before the substrate's requests are completed, since that could not be reported
    if (!are_ours_done && (pending = batch.first_pending())) return true;
    native_done = native_done || batch.native().test_all();
    return native_done && are_ours_done;
  };
  do {
    pending.reset();
    if (!all_done()) {
      auto waited = batch.wait_until(std::ref(all_done));
      if (!waited) {
        batch.native().put_back(requests);
        return fail(Subject(), kName, waited.error());
      }
    }
    if (!pending) return finish_all(kName, batch, count, requests, statuses);
    // if it can complete after all (acknowledged or matched meanwhile), continue with this batch,
    // which has the statuses of the substrate's requests that have been completed
    if (const auto code = stop_for_pending(kName, batch, *pending, count, requests, statuses))
      return *code;
  } while (true);
}

int Testall(int count, MPI_Request requests[], int* flag, MPI_Status* statuses) {
  constexpr const char* kName = "MPI_Testall";
  if (flag == nullptr) return fail(Subject(), kName, slow::no_output("flag"));
  RequestBatch batch;
  if (auto added = batch.add(count, requests); !added)
    return fail(batch.subject(), kName, added.error());
  auto moved = batch.progress();
  if (!moved) return fail(Subject(), kName, moved.error());
  // complete the substrate's last: a call that returns flag = 0 must change nothing
  *flag = 0;
  if (!AllReady(batch)()) {
    const auto pending = batch.first_pending();
    return pending ? finish(slow::pending_failure(*batch.ours()[*pending].object), kName)
                   : MPI_SUCCESS;
  }
  *flag = batch.native().test_all();
  return *flag ? finish_all(kName, batch, count, requests, statuses) : MPI_SUCCESS;
}

}  // namespace impl
}  // namespace shim::intercept
