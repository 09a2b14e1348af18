// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Waitsome and MPI_Testsome, which complete all ready requests of an array (MPI-4.1
// §3.7.5).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/request/request_batch.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Output arguments of a call.
struct SomeOutput {
  int* count;
  int* indices;
  MPI_Status* statuses;
};

/// Requests completed in one poll, in the order found.
class SomeResult {
 public:
  explicit SomeResult(SomeOutput output) : output_(output) {}
  int size() const { return size_; }

  void take_ours(RequestBatch::Ours ours, MPI_Request* requests) {
    FailurePtr failure = complete_request(*ours.object, &requests[ours.index],
                                          abi::status_at(output_.statuses, size_));
    record(ours.index, failure == nullptr ? MPI_SUCCESS : failure->code);
    if (failure == nullptr) return;
    raised_ = raised_ || failure->is_raised;
    if (failure->is_raised || failed_++ != 0) return;
    on_ = failure->on;
    text_ = "request " + std::to_string(ours.index) + ": " + failure->text;
  }
  /// Add a request that a failure keeps from completing; its handle stays.
  void take_pending(RequestBatch::Ours ours) {
    const FailurePtr pending = slow::pending_failure(*ours.object);
    if (pending == nullptr) return;
    record(ours.index, pending->code);
    if (failed_++ != 0) return;
    on_ = pending->on;
    text_ = "request " + std::to_string(ours.index) + ": " + pending->text;
  }
  void take_native(int index, const MPI_Status& status) {
    if (MPI_Status* to = abi::status_at(output_.statuses, size_)) *to = status;
    record(index, status.MPI_ERROR);
  }

  /// Return the code of the call; statuses have errors exactly if it is MPI_ERR_IN_STATUS.
  int finish(const char* function, bool native_failed) {
    *output_.count = size_;
    native_failed = native_failed || raised_;
    if (failed_ == 0 && !native_failed) return MPI_SUCCESS;
    for (int i = 0; i < size_; ++i)
      abi::write_status_error(abi::status_at(output_.statuses, i),
                              codes_[static_cast<std::size_t>(i)]);
    if (failed_ == 0) return abi::code_of(ErrorClass::in_status);
    return fail(on_, function,
                Error(ErrorClass::in_status,
                      std::to_string(failed_) + " operations failed, the first: " + text_));
  }

 private:
  void record(int index, int code) {
    output_.indices[size_++] = index;
    codes_.push_back(code);
  }
  SomeOutput output_;
  int size_ = 0, failed_ = 0;
  bool raised_ = false;  ///< the substrate has called an error handler
  std::vector<int> codes_;
  CommReference on_;
  std::string text_;
};

/// Poll once. True if the call can return: a request was completed, or none is active.
bool complete_some(const char* function, RequestBatch& batch, MPI_Request* requests,
                   SomeOutput output, int& code) {
  SomeResult found(output);
  for (const auto& ours : batch.ours())
    if (!is_inactive(*ours.object) && is_ready(*ours.object)) found.take_ours(ours, requests);
  auto native = batch.native().test_some();
  if (native) {
    for (std::size_t i = 0; i < native->size(); ++i)
      found.take_native((*native)[i], batch.native().status_of(i));
    batch.native().put_back(requests);
  }
  if (const auto pending = batch.first_pending(); pending && found.size() == 0)
    found.take_pending(batch.ours()[*pending]);
  bool nothing_active = found.size() == 0 && !native && !batch.has_active();
  if (nothing_active) {
    *output.count = MPI_UNDEFINED;
    return true;
  }
  const bool native_failed = native && batch.native().code() != MPI_SUCCESS;
  if (native_failed && found.size() == 0) {  // it has called its error handler
    *output.count = 0;
    code = batch.native().code();
    return true;
  }
  code = found.finish(function, native_failed);
  return found.size() > 0;
}

/// An empty array of requests needs no indices.
base::Status check(int count, const SomeOutput& output) {
  SHIM_TRY(check_output(output.count, "number of completed requests"));
  return count == 0 ? base::Status{} : check_output(output.indices, "indices");
}

int waitsome(int count, MPI_Request* requests, SomeOutput output) {
  constexpr const char* kName = "MPI_Waitsome";
  if (auto checked = check(count, output); !checked) return fail(Subject(), kName, checked.error());
  RequestBatch batch;
  if (auto added = batch.add(count, requests); !added)
    return fail(batch.subject(), kName, added.error());
  int code = MPI_SUCCESS;
  auto waited = batch.wait_until(
      [&] { return complete_some(kName, batch, requests, output, code); });
  return waited ? code : fail(Subject(), kName, waited.error());
}

int testsome(int count, MPI_Request* requests, SomeOutput output) {
  constexpr const char* kName = "MPI_Testsome";
  if (auto checked = check(count, output); !checked) return fail(Subject(), kName, checked.error());
  RequestBatch batch;
  if (auto added = batch.add(count, requests); !added)
    return fail(batch.subject(), kName, added.error());
  if (auto moved = batch.progress(); !moved) return fail(Subject(), kName, moved.error());
  int code = MPI_SUCCESS;
  complete_some(kName, batch, requests, output, code);
  return code;
}

}  // namespace

namespace impl {
int Waitsome(int incount, MPI_Request requests[], int* outcount, int indices[],
             MPI_Status* statuses) {
  return waitsome(incount, requests, {outcount, indices, statuses});
}
int Testsome(int incount, MPI_Request requests[], int* outcount, int indices[],
             MPI_Status* statuses) {
  return testsome(incount, requests, {outcount, indices, statuses});
}
}  // namespace impl
}  // namespace shim::intercept
