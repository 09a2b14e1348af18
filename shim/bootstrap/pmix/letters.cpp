// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/letters.hpp"

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

std::optional<Answer> Letter::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(answer_, std::nullopt);
}

std::optional<Answer> Letter::wait(double seconds) {
  std::unique_lock lock(mutex_);
  auto has_come = [this] { return answer_.has_value(); };
  if (seconds > 0)
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), has_come);
  else
    changed_.wait(lock, has_come);
  return std::exchange(answer_, std::nullopt);
}

std::shared_ptr<Letter> PostOffice::write() {
  auto letter = std::make_shared<Letter>();
  letter->office_ = shared_from_this();
  std::lock_guard lock(mutex_);
  on_the_way_.emplace(letter.get(), letter);
  return letter;
}

void PostOffice::deliver(void* data, Answer answer) {
  auto* address = static_cast<Letter*>(data);
  // The office is held here, because the letter may be the last that holds it.
  const std::shared_ptr<PostOffice> office = address->office_;
  std::shared_ptr<Letter> letter;
  {
    std::lock_guard lock(office->mutex_);
    auto found = office->on_the_way_.find(address);
    if (found == office->on_the_way_.end()) return;
    letter = std::move(found->second);
    office->on_the_way_.erase(found);
  }
  letter->passage.reset();
  std::lock_guard lock(letter->mutex_);
  letter->answer_ = std::move(answer);
  letter->changed_.notify_all();
}

void PostOffice::forget_all() {
  std::unordered_map<Letter*, std::shared_ptr<Letter>> forgotten;
  std::lock_guard lock(mutex_);
  forgotten.swap(on_the_way_);
}

pmix_info_t flag(const char* key) {
  pmix_info_t info = info_with(key);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

pmix_info_t text_info(const char* key, const std::string& text) {
  pmix_info_t info = info_with(key);
  info.value.type = PMIX_STRING;
  info.value.data.string = const_cast<char*>(text.c_str());  // PMIx does not write there
  return info;
}

}  // namespace shim::bootstrap::pmix
