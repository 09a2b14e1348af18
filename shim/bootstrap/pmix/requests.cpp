// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/requests.hpp"

#include <chrono>
#include <cstring>
#include <utility>

namespace shim::bootstrap::pmix {
namespace {

pmix_info_t info_with(const char* key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  return info;
}

}  // namespace

std::optional<PmixResponse> PmixRequest::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(response_, std::nullopt);
}

std::optional<PmixResponse> PmixRequest::wait(double seconds) {
  std::unique_lock lock(mutex_);
  auto has_arrived = [this] { return response_.has_value(); };
  if (seconds > 0)
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), has_arrived);
  else
    changed_.wait(lock, has_arrived);
  return std::exchange(response_, std::nullopt);
}

std::shared_ptr<PmixRequest> PmixRequestTable::create() {
  auto request = std::make_shared<PmixRequest>();
  request->table_ = shared_from_this();
  std::lock_guard lock(mutex_);
  pending_.emplace(request.get(), request);
  return request;
}

void PmixRequestTable::complete(void* data, PmixResponse response) {
  auto* id = static_cast<PmixRequest*>(data);
  // the request may hold the last reference to the table
  const std::shared_ptr<PmixRequestTable> table = id->table_;
  std::shared_ptr<PmixRequest> request;
  {
    std::lock_guard lock(table->mutex_);
    auto found = table->pending_.find(id);
    if (found == table->pending_.end()) return;
    request = std::move(found->second);
    table->pending_.erase(found);
  }
  request->guard.reset();
  std::lock_guard lock(request->mutex_);
  request->response_ = std::move(response);
  request->changed_.notify_all();
}

void PmixRequestTable::abandon_all() {
  std::unordered_map<PmixRequest*, std::shared_ptr<PmixRequest>> abandoned;
  std::lock_guard lock(mutex_);
  abandoned.swap(pending_);
}

pmix_info_t flag(const char* key) {
  pmix_info_t info = info_with(key);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

pmix_info_t text_directive(const char* key, const std::string& text) {
  pmix_info_t info = info_with(key);
  info.value.type = PMIX_STRING;
  info.value.data.string = const_cast<char*>(text.c_str());  // PMIx does not write there
  return info;
}

}  // namespace shim::bootstrap::pmix
