// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/connection.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "shim/base/descriptor.hpp"
#include "shim/bootstrap/pmix/bounded_call.hpp"
#include "shim/bootstrap/pmix/status.hpp"

namespace shim::bootstrap::pmix {
namespace {

using base::Error;
using base::ErrorClass;

struct Start {
  pmix_status_t status = PMIX_ERROR;
  pmix_proc_t self{};
};

}  // namespace

bool has_launcher() {
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) return false;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (std::string_view(*variable).starts_with("PMIX_SERVER_URI")) return true;
  return false;
}

void prepare_environment() {
  constexpr int kKeepWhatIsThere = 0;
  if (const char* mode = std::getenv("PMIX_SECURITY_MODE"))
    ::setenv("PMIX_MCA_psec", mode, kKeepWhatIsThere);
}

base::Result<std::unique_ptr<Connection>> Connection::open(const PmixLibrary& library,
                                                           double seconds,
                                                           std::shared_ptr<InitCount> init_count) {
  auto start = bounded_call<Start>(
      seconds,
      [library] {
        const base::StandardStreamsHeld streams;
        Start made;
        made.status = library.init(&made.self, nullptr, 0);
        return made;
      },
      [init_count](Start late) { init_count->complete_late(late.status == PMIX_SUCCESS); });
  if (!start) {
    init_count->expect_late();
    return Error(ErrorClass::other,
                 "the launcher's daemon on this node has not answered PMIx_Init within " +
                     std::to_string(seconds) +
                     " s: it may be stopped or overloaded; restart the job, or increase "
                     "INTERSESSION_READY_TIMEOUT");
  }
  if (start->status != PMIX_SUCCESS)
    return pmix_error(start->status, "cannot reach the launcher that started this process",
                      library.error_string(start->status));
  return std::unique_ptr<Connection>(new Connection(library, std::move(init_count), start->self));
}

Connection::Connection(const PmixLibrary& library, std::shared_ptr<InitCount> init_count,
                       pmix_proc_t self)
    : library_(library), init_count_(std::move(init_count)), self_(self) {
  init_count_->count_open();
}

bool Connection::close() {
  is_open_ = false;
  // fails only if the server has exited
  if (init_count_->count_closed()) library_.finalize(nullptr, 0);
  return library_.initialized() == 0;
}

Connection::~Connection() {
  if (is_open_) close();
}

}  // namespace shim::bootstrap::pmix
