// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/process_life.hpp"

#include <unistd.h>

namespace shim::bootstrap::pmix {

Held::Held(const Library& library) : library_(library), owner_(::getpid()) {}

Held::~Held() {
  if (owner_ != ::getpid()) return;
  for (; count_ > 0; --count_) library_.finalize(nullptr, 0);
}

void Held::hold() {
  std::lock_guard lock(mutex_);
  pmix_proc_t self{};
  if (count_ == 0 && library_.init(&self, nullptr, 0) == PMIX_SUCCESS) count_ = 1;
}

void Held::adopt() {
  std::lock_guard lock(mutex_);
  ++count_;
}

std::shared_ptr<Held> KeptInitialised::held_with(const Library& library) {
  std::lock_guard lock(mutex_);
  if (!held_) held_ = std::make_shared<Held>(library);
  return held_;
}

void KeptInitialised::before_world_ends() {
  const auto library = load_library();
  if (library && library->initialized() != 0) held_with(*library)->hold();
}

}  // namespace shim::bootstrap::pmix
