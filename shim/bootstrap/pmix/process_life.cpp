// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/process_life.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace shim::bootstrap::pmix {
namespace {
constexpr double kLateSeconds = 1;
}

Held::Held(const Library& library) : library_(library), owner_(::getpid()) {}

void Held::hold() {
  std::lock_guard lock(mutex_);
  pmix_proc_t self{};
  if (count_ == 0 && library_.init(&self, nullptr, 0) == PMIX_SUCCESS) count_ = 1;
}

void Held::count_open() {
  std::lock_guard lock(mutex_);
  ++open_;
}

bool Held::count_closed() {
  std::lock_guard lock(mutex_);
  if (open_ == 0) return false;
  --open_;
  return true;
}

void Held::expect_late() {
  std::lock_guard lock(mutex_);
  ++late_;
}

void Held::come_late(bool is_initialised) {
  std::lock_guard lock(mutex_);
  --late_;
  if (is_initialised) ++count_;
  changed_.notify_all();
}

void Held::release(double seconds) {
  if (owner_ != ::getpid()) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return late_ == 0; });
  for (count_ += std::exchange(open_, 0); count_ > 0; --count_) library_.finalize(nullptr, 0);
}

KeptInitialised::~KeptInitialised() {
  if (held_) held_->release(kLateSeconds);
}

std::shared_ptr<Held> KeptInitialised::held_with(const Library& library) {
  std::lock_guard lock(mutex_);
  if (!held_) held_ = std::make_shared<Held>(library);
  return held_;
}

void KeptInitialised::before_world_ends(double) {
  const auto library = load_library();
  if (library && library->initialized() != 0) held_with(*library)->hold();
}

}  // namespace shim::bootstrap::pmix
