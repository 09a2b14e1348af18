// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/process_life.hpp"

#include <unistd.h>

namespace shim::bootstrap::pmix {
namespace {

class KeptInitialised final : public ProcessLife {
 public:
  explicit KeptInitialised(const Library& library) : library_(library) {}
  ~KeptInitialised() override {
    if (owner_ == ::getpid()) library_.finalize(nullptr, 0);
  }

 private:
  const Library library_;
  const pid_t owner_ = ::getpid();
};

}  // namespace

std::unique_ptr<ProcessLife> keep_initialised(const Library& library) {
  pmix_proc_t self{};
  if (library.init(&self, nullptr, 0) != PMIX_SUCCESS) return nullptr;
  return std::make_unique<KeptInitialised>(library);
}

}  // namespace shim::bootstrap::pmix
