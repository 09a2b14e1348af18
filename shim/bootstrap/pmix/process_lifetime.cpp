// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/process_lifetime.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace shim::bootstrap::pmix {
namespace {
constexpr double kLateSeconds = 1;
}

InitCount::InitCount(const PmixLibrary& library) : library_(library), owner_(::getpid()) {}

void InitCount::hold() {
  std::lock_guard lock(mutex_);
  pmix_proc_t self{};
  if (count_ == 0 && library_.init(&self, nullptr, 0) == PMIX_SUCCESS) count_ = 1;
}

void InitCount::count_open() {
  std::lock_guard lock(mutex_);
  ++open_;
}

bool InitCount::count_closed() {
  std::lock_guard lock(mutex_);
  if (open_ == 0) return false;
  --open_;
  return true;
}

void InitCount::expect_late() {
  std::lock_guard lock(mutex_);
  ++late_;
}

void InitCount::complete_late(bool is_initialised) {
  std::lock_guard lock(mutex_);
  --late_;
  if (is_initialised) ++count_;
  changed_.notify_all();
}

void InitCount::release(double seconds) {
  if (owner_ != ::getpid()) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return late_ == 0; });
  for (count_ += std::exchange(open_, 0); count_ > 0; --count_) library_.finalize(nullptr, 0);
}

PersistentInit::~PersistentInit() {
  if (init_count_) init_count_->release(kLateSeconds);
}

std::shared_ptr<InitCount> PersistentInit::init_count_with(const PmixLibrary& library) {
  std::lock_guard lock(mutex_);
  if (!init_count_) init_count_ = std::make_shared<InitCount>(library);
  return init_count_;
}

void PersistentInit::before_mpi_finalize(double) {
  const auto library = load_library();
  if (library && library->initialized() != 0) init_count_with(*library)->hold();
}

}  // namespace shim::bootstrap::pmix
