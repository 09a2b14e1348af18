// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/request/request_batch.hpp"

#include <algorithm>
#include <string>

#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

bool NativePart::is_ready(std::size_t number) {
  statuses_.resize(requests_.size());
  int flag = 0;
  int code = active_table.Request_get_status(requests_[number], &flag, &statuses_[number]);
  if (code_ == MPI_SUCCESS) code_ = code;
  return flag != 0;
}

bool NativePart::test_all() {
  if (is_empty()) return true;
  statuses_.resize(requests_.size());
  int flag = 0;
  code_ = active_table.Testall(count(), requests_.data(), &flag, statuses_.data());
  is_over_ = flag != 0 || code_ != MPI_SUCCESS;
  return is_over_;
}

std::optional<int> NativePart::test_any(MPI_Status* status) {
  if (is_empty()) return MPI_UNDEFINED;
  int index = MPI_UNDEFINED, flag = 0;
  code_ = active_table.Testany(count(), requests_.data(), &index, &flag, status);
  if (flag == 0 && code_ == MPI_SUCCESS) return std::nullopt;
  return index == MPI_UNDEFINED ? MPI_UNDEFINED : indices_[static_cast<std::size_t>(index)];
}

std::optional<std::vector<int>> NativePart::test_some() {
  if (is_empty()) return std::nullopt;
  statuses_.resize(requests_.size());
  std::vector<int> done(requests_.size());
  int found = 0;
  code_ = active_table.Testsome(count(), requests_.data(), &found, done.data(), statuses_.data());
  if (found == MPI_UNDEFINED) return std::nullopt;
  done.resize(static_cast<std::size_t>(found));
  for (int& index : done) index = indices_[static_cast<std::size_t>(index)];
  return done;
}

void NativePart::put_back(MPI_Request* requests) const {
  for (std::size_t i = 0; i < requests_.size(); ++i) requests[indices_[i]] = requests_[i];
}

void NativePart::put_statuses(MPI_Status* statuses) const {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    int error = statuses[indices_[i]].MPI_ERROR;
    statuses[indices_[i]] = statuses_[i];
    if (code_ == MPI_SUCCESS)
      statuses[indices_[i]].MPI_ERROR = error;  // set only if the call fails (MPI-4.1 §3.2.5)
  }
}

void NativePart::put_statuses_of_completed(MPI_Status* statuses) const {
  if (!is_over_) return;
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    MPI_Status& status = statuses[indices_[i]] = statuses_[i];
    if (code_ == MPI_SUCCESS) status.MPI_ERROR = MPI_SUCCESS;
  }
}

base::Status RequestBatch::add(int count, const MPI_Request* requests) {
  if (count < 0) return slow::bad_count(count, "count");
  if (requests == nullptr && count > 0)
    return Error(ErrorClass::arg, "the array of requests is a null pointer");
  ours_.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const MPI_Request handle = requests[i];
    if (RequestObject* object = objects.requests.find(handle)) [[likely]] {
      ours_.push_back({i, object});
      if (object->comm != nullptr) add_engine(engine_of(*object->comm));
      if (object->polled != nullptr && object->polled->needs_native_progress())
        needs_native_progress_ = true;
      continue;
    }
    if (handle == abi::predefined.request_null && !abi::is_unset(handle)) continue;
    if (abi::is_ours(handle)) subject_ = Subject::request(handle);
    if (abi::is_unset(handle) || abi::is_ours(handle) || !is_active())
      return std::move(request_of(handle)).error().within("request " + std::to_string(i));
    native_.add(i, handle);
    needs_native_progress_ = true;
  }
  return {};
}

bool RequestBatch::has_active() const {
  for (const Ours& ours : ours_)
    if (!is_inactive(*ours.object)) return true;
  return false;
}

std::optional<std::size_t> RequestBatch::first_pending() const {
  const auto has_some = [](const p2p::Engine* engine) {
    return engine->has_unacknowledged_failures();
  };
  if (engine_ == nullptr || (!has_some(engine_) && std::ranges::none_of(other_engines_, has_some)))
      [[likely]]
    return std::nullopt;
  for (std::size_t i = 0; i < ours_.size(); ++i) {
    const RequestObject* object = ours_[i].object;
    if (object != nullptr && !is_ready(*object) && object->polled == nullptr &&
        object->request->has_settled())
      return i;
  }
  return std::nullopt;
}

void RequestBatch::add_engine(p2p::Engine& engine) {
  if (engine_ == &engine) [[likely]]
    return;
  if (engine_ == nullptr)
    engine_ = &engine;
  else if (std::ranges::find(other_engines_, &engine) == other_engines_.end())
    other_engines_.push_back(&engine);
}

base::Status RequestBatch::progress_others() {
  for (p2p::Engine* engine : other_engines_) SHIM_TRY(engine->progress());
  return {};
}

base::Status RequestBatch::progress() {
  // peers may need progress here, whichever library's requests these are (MPI-4.1 §3.5, progress)
  if (engine_ != nullptr) {
    SHIM_TRY(engine_->progress());
  } else if (auto process = living_process()) {
    SHIM_TRY(process->vcis().progress());
  }
  return progress_others();
}

namespace {

/// A call that waits for requests of an array.
class BatchSubject final : public p2p::WaitSubject {
 public:
  explicit BatchSubject(const RequestBatch& batch) : batch_(batch) {}
  void describe(p2p::WaitDescription& description) const override {
    for (const RequestBatch::Ours& ours : batch_.ours()) list_awaited(*ours.object, description);
  }

 private:
  const RequestBatch& batch_;
};

}  // namespace

/// Wait in one engine, and progress the others meanwhile.
base::Status RequestBatch::wait_until(const std::function<bool()>& condition) {
  if (engine_ == nullptr || needs_native_progress_)
    return spin_until(condition, [this] { return progress(); });
  BatchSubject subject(*this);
  if (other_engines_.empty()) [[likely]] {
    SHIM_TRY(engine_->wait_until(condition, subject));
    return {};
  }
  base::Status moved;
  const auto is_over = [&] {
    if (condition()) return true;
    moved = progress_others();
    return !moved || condition();
  };
  SHIM_TRY(engine_->wait_until(is_over, subject));
  return moved;
}

}  // namespace shim::intercept
