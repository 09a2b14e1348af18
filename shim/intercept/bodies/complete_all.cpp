// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall and its siblings, MPI-4.1 §3.7.5 and §3.7.6: all requests of an array together.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "shim/intercept/bodies/mixed.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// How the requests of a call came out; the statuses have the particulars (MPI-4.1 §3.7.5).
struct Verdict {
  int failed = 0;            ///< of those whose error handler has not been called
  bool native_failed = false;
  CommReference on;          ///< of the first that failed
  std::string first_text;

  int finish(const char* function) const {
    if (failed != 0)
      return fail(on, function, Error(ErrorClass::in_status, std::to_string(failed) + " operations failed, the first: " + first_text));
    return native_failed ? abi::code_of(ErrorClass::in_status) : MPI_SUCCESS;
  }
};

/// May it be ended together with others, by end_together()?
bool ends_with_others(const RequestObject& object) {
  return object.own == nullptr && (object.request == nullptr || !object.request->is_persistent());
}

/// Requests whose objects leave their table under one lock, and which then leave their engine under one.
class EndedTogether {
 public:
  static constexpr int kMost = Batch::kUsual;
  ~EndedTogether() {
    eraser_.reset();
    p2p::Engine::release({requests_, number_});
  }
  void add(RequestObject& object, MPI_Request& handle) {
    p2p::Request* const request = object.request;
    if (eraser_->erase(object, std::exchange(handle, abi::predefined.request_null)) && request != nullptr) requests_[number_++] = request;
  }

 private:
  std::optional<RequestTable::Eraser> eraser_{std::in_place, objects.requests};
  p2p::Request* requests_[kMost];
  std::size_t number_ = 0;
};

/// Of one that is ready: has it ended well, so that there is nothing to be said of it but its status?
bool has_gone_well(const RequestObject& object) { return object.request == nullptr || object.request->error() == nullptr; }

/// Those that have been read out; the others have no object here.
void end_together(std::span<const Batch::Ours> ours, MPI_Request* handles) {
  EndedTogether ended;
  for (const auto& [index, object] : ours)
    if (object != nullptr) ended.add(*object, handles[index]);
}

/// Ends those that have gone well, all in one pass; their objects are null from here on. Not where it takes several: a handle that a
/// wrong program has given twice would be read after its end.
void end_well(Batch::AllOurs& ours, MPI_Request* handles, MPI_Status* statuses) {
  if (ours.size() > EndedTogether::kMost) return;
  EndedTogether ended;
  for (auto& [index, object] : ours) {
    if (!ends_with_others(*object) || !has_gone_well(*object)) [[unlikely]] continue;
    abi::write_status(abi::status_at(statuses, index), outcome_of(*object));
    ended.add(*std::exchange(object, nullptr), handles[index]);
  }
}

/// Ends so many requests, all in one pass, up to the first that is under way or has not gone well. Answers whether there is none. The
/// border's own are not asked whether they are ready: they may call the library below for that, and the table's lock may be held.
bool end_up_to_first(int count, MPI_Request* handles) {
  EndedTogether ended;
  for (int i = 0; i < count; ++i) {
    RequestObject* const object = objects.requests.find(handles[i]);
    if (object == nullptr || !ends_with_others(*object) || !is_ready(*object) || !has_gone_well(*object)) return false;
    ended.add(*object, handles[i]);
  }
  return true;
}

/// What most calls find where nobody asks for statuses: all that a longer way would say is that it is over. Where it goes on with that,
/// because something is still under way or a handle is nobody's, those that it ended are null already.
bool end_what_is_over(int count, MPI_Request* handles, const MPI_Status* statuses) {
  if (statuses != MPI_STATUSES_IGNORE || handles == nullptr || count <= 0) return false;
  for (int first = 0; first < count; first += EndedTogether::kMost)
    if (!end_up_to_first(std::min(count - first, EndedTogether::kMost), handles + first)) return false;
  return true;
}

void collect_ours(Batch::AllOurs& ours, MPI_Request* requests, MPI_Status* statuses, Verdict& verdict, std::vector<int>& codes) {
  end_well(ours, requests, statuses);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    auto& [index, object] = ours[i];
    if (object == nullptr) [[likely]] continue;
    Ending ending;
    if (ends_with_others(*object)) ending = read_out(*object, abi::status_at(statuses, index));
    else ending = collect(*std::exchange(object, nullptr), &requests[index], abi::status_at(statuses, index));
    if (ending == nullptr) [[likely]] continue;
    codes.resize(ours.size(), MPI_SUCCESS);
    codes[i] = ending->code;
    if (ending->is_raised) verdict.native_failed = true;
    else if (verdict.failed++ == 0) {
      verdict.on = ending->on;
      verdict.first_text = "request " + std::to_string(index) + ": " + ending->text;
    }
  }
  constexpr std::size_t kMost = EndedTogether::kMost;
  for (std::size_t first = 0; first < ours.size(); first += kMost) end_together({&ours[first], std::min(kMost, ours.size() - first)}, requests);
}

void write_null_statuses(int count, const MPI_Request* requests, MPI_Status* statuses) {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < count; ++i)
    if (requests[i] == abi::predefined.request_null) abi::write_empty_status(&statuses[i]);
}

/// The error fields have a meaning only if something failed, and then all of them have. codes: of ours; empty where none failed.
void write_errors(const Batch& batch, const std::vector<int>& codes, int count, MPI_Status* statuses, bool native_failed) {
  if (statuses == MPI_STATUSES_IGNORE) return;
  if (!native_failed)
    for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
  for (std::size_t i = 0; i < batch.ours().size(); ++i)
    statuses[batch.ours()[i].index].MPI_ERROR = codes.empty() ? MPI_SUCCESS : codes[i];
}

/// Reads out everything; all of ours are ready, and the substrate's have been completed.
int finish_all(const char* function, Batch& batch, int count, MPI_Request* requests, MPI_Status* statuses) {
  Verdict verdict;
  std::vector<int> codes;
  write_null_statuses(count, requests, statuses);
  if (!batch.native().is_empty()) {
    batch.native().put_back(requests);
    batch.native().put_statuses(statuses);
  }
  // last: a function of the user's may throw
  collect_ours(batch.ours(), requests, statuses, verdict, codes);
  bool below_failed = batch.native().code() != MPI_SUCCESS;
  verdict.native_failed = verdict.native_failed || below_failed;
  if (verdict.failed != 0 || verdict.native_failed) write_errors(batch, codes, count, statuses, below_failed);
  return verdict.finish(function);
}

/// Looks again at those only that have not been ready.
class AllReady {
 public:
  explicit AllReady(const Batch& batch) : ours_(batch.ours()) {}
  bool operator()() {
    while (first_not_ready_ < ours_.size() && is_ready(*ours_[first_not_ready_].object)) ++first_not_ready_;
    return first_not_ready_ == ours_.size();
  }

 private:
  const Batch::AllOurs& ours_;
  std::size_t first_not_ready_ = 0;
};

}  // namespace

namespace ours {

int Waitall(int count, MPI_Request requests[], MPI_Status* statuses) {
  constexpr const char* kName = "MPI_Waitall";
  if (end_what_is_over(count, requests, statuses)) return MPI_SUCCESS;
  Batch batch;
  if (auto added = batch.add(count, requests); !added) return fail(Subject(), kName, added.error());
  bool native_done = batch.native().is_empty();
  AllReady ours_done(batch);
  auto all_done = [&] {
    native_done = native_done || batch.native().test_all();
    return native_done && ours_done();
  };
  if (!all_done()) {
    auto waited = batch.wait_until(std::ref(all_done));
    if (!waited) return fail(Subject(), kName, waited.error());
  }
  return finish_all(kName, batch, count, requests, statuses);
}

int Testall(int count, MPI_Request requests[], int* flag, MPI_Status* statuses) {
  constexpr const char* kName = "MPI_Testall";
  if (flag == nullptr) return fail(Subject(), kName, slow::no_output("flag"));
  Batch batch;
  if (auto added = batch.add(count, requests); !added) return fail(Subject(), kName, added.error());
  auto moved = batch.progress();
  if (!moved) return fail(Subject(), kName, moved.error());
  // the substrate's are completed last: a call that answers no must change nothing
  *flag = AllReady(batch)() && batch.native().test_all();
  return *flag ? finish_all(kName, batch, count, requests, statuses) : MPI_SUCCESS;
}

}  // namespace ours
}  // namespace shim::intercept
