// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitsome and MPI_Testsome, MPI-4.1 §3.7.5: as many requests of an array as are ready.
#include "shim/intercept/bodies/mixed.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Where a call puts the completed ones.
struct Answer {
  int* count;
  int* indices;
  MPI_Status* statuses;
};

/// The completed ones of one look, in the order they were found.
class Harvest {
 public:
  explicit Harvest(Answer answer) : answer_(answer) {}
  int size() const { return size_; }

  void take_ours(Batch::Ours ours, MPI_Request* requests) {
    Ending ending = collect(*ours.object, &requests[ours.index], abi::status_at(answer_.statuses, size_));
    note(ours.index, ending == nullptr ? MPI_SUCCESS : ending->code);
    if (ending == nullptr) return;
    raised_ = raised_ || ending->is_raised;
    if (ending->is_raised || failed_++ != 0) return;
    on_ = ending->on;
    text_ = "request " + std::to_string(ours.index) + ": " + ending->text;
  }
  void take_native(int index, const MPI_Status& status) {
    if (MPI_Status* to = abi::status_at(answer_.statuses, size_)) *to = status;
    note(index, status.MPI_ERROR);
  }

  /// The code to return; statuses have errors exactly if it is MPI_ERR_IN_STATUS.
  int finish(const char* function, bool native_failed) {
    *answer_.count = size_;
    native_failed = native_failed || raised_;
    if (failed_ == 0 && !native_failed) return MPI_SUCCESS;
    for (int i = 0; i < size_; ++i) abi::write_status_error(abi::status_at(answer_.statuses, i), codes_[static_cast<std::size_t>(i)]);
    if (failed_ == 0) return abi::code_of(ErrorClass::in_status);
    return fail(on_, function, Error(ErrorClass::in_status, std::to_string(failed_) + " operations failed, the first: " + text_));
  }

 private:
  void note(int index, int code) {
    answer_.indices[size_++] = index;
    codes_.push_back(code);
  }
  Answer answer_;
  int size_ = 0, failed_ = 0;
  bool raised_ = false;  ///< the substrate has called an error handler
  std::vector<int> codes_;
  CommReference on_;
  std::string text_;
};

/// One look. True if the call has its answer: something was completed, or there is nothing to complete.
bool harvest(const char* function, Batch& batch, MPI_Request* requests, Answer answer, int& code) {
  Harvest found(answer);
  for (const auto& ours : batch.ours())
    if (!is_inactive(*ours.object) && is_ready(*ours.object)) found.take_ours(ours, requests);
  auto native = batch.native().test_some();
  if (native) {
    for (std::size_t i = 0; i < native->size(); ++i) found.take_native((*native)[i], batch.native().status_of(i));
    batch.native().put_back(requests);
  }
  bool nothing_active = found.size() == 0 && !native && !batch.has_active();
  if (nothing_active) {
    *answer.count = MPI_UNDEFINED;
    return true;
  }
  code = found.finish(function, native && batch.native().code() != MPI_SUCCESS);
  return found.size() > 0;
}

/// An empty array of requests needs no indices.
base::Status check(int count, const Answer& answer) {
  SHIM_TRY(check_output(answer.count, "number of completed requests"));
  return count == 0 ? base::Status{} : check_output(answer.indices, "indices");
}

int waitsome(int count, MPI_Request* requests, Answer answer) {
  constexpr const char* kName = "MPI_Waitsome";
  if (auto checked = check(count, answer); !checked) return fail(Subject(), kName, checked.error());
  Batch batch;
  if (auto added = batch.add(count, requests); !added) return fail(Subject(), kName, added.error());
  int code = MPI_SUCCESS;
  auto waited = batch.wait_until([&] { return harvest(kName, batch, requests, answer, code); });
  return waited ? code : fail(Subject(), kName, waited.error());
}

int testsome(int count, MPI_Request* requests, Answer answer) {
  constexpr const char* kName = "MPI_Testsome";
  if (auto checked = check(count, answer); !checked) return fail(Subject(), kName, checked.error());
  Batch batch;
  if (auto added = batch.add(count, requests); !added) return fail(Subject(), kName, added.error());
  if (auto moved = batch.progress(); !moved) return fail(Subject(), kName, moved.error());
  int code = MPI_SUCCESS;
  harvest(kName, batch, requests, answer, code);
  return code;
}

}  // namespace

namespace ours {
int Waitsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status* statuses) {
  return waitsome(incount, requests, {outcount, indices, statuses});
}
int Testsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status* statuses) {
  return testsome(incount, requests, {outcount, indices, statuses});
}
}  // namespace ours
}  // namespace shim::intercept
